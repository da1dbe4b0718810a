/**
 * Server processes, of which some are loaded in advance, to replace killed ones immediately. The program is bundled first, and its compiled code is cached:
 * hundreds are started, and each takes a third of the time.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { end, type GuardedFolder, guard, guardedFolder } from '../../guard/guard.ts'
import type { ServerInput } from './server-process.ts'

const PROGRAM = fileURLToPath(new URL('./server-process.ts', import.meta.url))

export interface RunningServer {
	readonly port: number
	/** Resolves when the process has ended. */
	readonly ended: Promise<unknown>
	kill(): void
}

export class ServerFleet implements AsyncDisposable {
	readonly #input: ServerInput
	/** Of the bundled program and its compiled code. */
	readonly #folder: GuardedFolder
	readonly #all = new Set<ChildProcess>()
	readonly #loaded: Promise<ChildProcess>[] = []

	private constructor(input: ServerInput, folder: GuardedFolder) {
		this.#input = input
		this.#folder = folder
	}

	/** Loads the processes that are started first. */
	static async open(input: ServerInput, loaded: number): Promise<ServerFleet> {
		const folder = await guardedFolder('yaoki-servers-')
		await build({
			input: { server: PROGRAM },
			platform: 'node',
			external: ['pg-native'],
			output: { dir: folder.path, entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
		})
		const fleet = new ServerFleet(input, folder)
		// The first one fills the cache, which it writes when it ends by itself.
		const first = await fleet.#load()
		first.disconnect()
		await ended(first)
		for (let n = 0; n < loaded; n++) fleet.preload()
		return fleet
	}

	/** Loads a process for a later start. */
	preload(): void {
		this.#loaded.push(this.#load())
	}

	async start(): Promise<RunningServer> {
		const child = await (this.#loaded.shift() ?? this.#load())
		child.send('listen')
		const { port } = (await messageOf(child)) as { port: number }
		return { port, ended: ended(child), kill: () => child.kill('SIGKILL') }
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.allSettled(this.#loaded)
		for (const child of this.#all) await end(child)
		await this.#folder[Symbol.asyncDispose]()
	}

	async #load(): Promise<ChildProcess> {
		const child = fork(join(this.#folder.path, 'server.mjs'), [JSON.stringify(this.#input)], {
			stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
			env: { ...process.env, NODE_COMPILE_CACHE: this.#folder.path },
		})
		guard(child)
		this.#all.add(child)
		void ended(child).then(() => this.#all.delete(child))
		await messageOf(child)
		return child
	}
}

async function ended(child: ChildProcess): Promise<void> {
	if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** Rejects if the process ends before. */
function messageOf(child: ChildProcess): Promise<unknown> {
	return new Promise((resolve, reject) => {
		const onExit = (code: number | null, signal: string | null) =>
			reject(new Error(`A server process ended with ${code ?? signal}.`))
		child.once('exit', onExit)
		child.once('message', (message) => {
			child.off('exit', onExit)
			resolve(message)
		})
	})
}
