/** Relay processes: some that run, and one that is loaded and replaces the next one that is killed. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { end, guard } from '../../guard/guard.ts'
import type { RelayInput } from './relay-process.ts'

const PROGRAM = fileURLToPath(new URL('./relay-process.ts', import.meta.url))

export class RelayFleet {
	readonly #input: RelayInput
	readonly #running: ChildProcess[] = []
	/** Process ids of all killed relays. */
	readonly killed = new Set<number>()
	#standby: Promise<ChildProcess>

	constructor(input: RelayInput) {
		this.#input = input
		this.#standby = this.#load()
	}

	async start(): Promise<void> {
		const relay = await this.#standby
		this.#standby = this.#load()
		relay.send('start')
		this.#running.push(relay)
	}

	/** Kills a running relay and starts another. */
	async kill(index: number): Promise<void> {
		const [relay] = this.#running.splice(index % this.#running.length, 1)
		if (!relay) return
		this.killed.add(relay.pid ?? 0)
		relay.kill('SIGKILL')
		await Promise.all([once(relay, 'exit'), this.start()])
	}

	get size(): number {
		return this.#running.length
	}

	async stop(): Promise<void> {
		const all = [...this.#running, await this.#standby]
		for (const relay of all) await end(relay)
	}

	async #load(): Promise<ChildProcess> {
		const relay = fork(PROGRAM, [JSON.stringify(this.#input)], {
			stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
		})
		guard(relay)
		await new Promise<void>((resolve, reject) => {
			relay.once('exit', (code, signal) =>
				reject(new Error(`A relay process exited with ${code ?? signal}.`)),
			)
			relay.once('message', () => resolve())
		})
		return relay
	}
}
