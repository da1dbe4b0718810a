/** Relay processes: some at work, and one more that is loaded and waits to take the place of one that dies. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RelayOrder } from './relay-process.ts'

const PROGRAM = fileURLToPath(new URL('./relay-process.ts', import.meta.url))

export class Relays {
	readonly #order: RelayOrder
	readonly #atWork: ChildProcess[] = []
	/** Everyone who was killed. */
	readonly killed = new Set<number>()
	/** Messages that a living relay had to let go. */
	readonly lost = new Set<string>()
	#standby: Promise<ChildProcess>

	constructor(order: RelayOrder) {
		this.#order = order
		this.#standby = this.#load()
	}

	async start(): Promise<void> {
		const relay = await this.#standby
		this.#standby = this.#load()
		relay.send('go')
		this.#atWork.push(relay)
	}

	/** Kills one that is at work, and starts another. */
	async kill(index: number): Promise<void> {
		const [relay] = this.#atWork.splice(index % this.#atWork.length, 1)
		if (!relay) return
		this.killed.add(relay.pid ?? 0)
		relay.kill('SIGKILL')
		await Promise.all([once(relay, 'exit'), this.start()])
	}

	get count(): number {
		return this.#atWork.length
	}

	async end(): Promise<void> {
		const all = [...this.#atWork, await this.#standby]
		for (const relay of all) {
			relay.kill('SIGKILL')
			if (relay.exitCode === null && relay.signalCode === null) await once(relay, 'exit')
		}
	}

	async #load(): Promise<ChildProcess> {
		const relay = fork(PROGRAM, [JSON.stringify(this.#order)], {
			stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
		})
		await new Promise<void>((resolve, reject) => {
			relay.once('exit', (code, signal) => reject(new Error(`a relay ended with ${code ?? signal}`)))
			relay.on('message', (message: { readonly type: string; readonly id: string }) => {
				if (message.type === 'ready') resolve()
				else this.lost.add(message.id)
			})
		})
		return relay
	}
}
