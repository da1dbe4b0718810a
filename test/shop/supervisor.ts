/** The processes of the shop. A process that ends is started again after a moment, as an orchestrator would, whether it was killed or crashed. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { end, guard } from '../guard/guard.ts'
import { type Note, now, type ServiceInput } from './plan.ts'
import type { Command, Message } from './service.ts'

interface Program {
	readonly url: URL
	readonly input: ServiceInput
}

export class Supervisor implements AsyncDisposable {
	readonly notes: Note[] = []
	/** The names of processes that ended by themselves. */
	readonly crashes: string[] = []
	readonly #restartMs: number
	readonly #execArgv: readonly string[]
	readonly #programs = new Map<string, Program>()
	readonly #running = new Map<string, ChildProcess>()
	readonly #restarts = new Set<NodeJS.Timeout>()
	readonly #killed = new WeakSet<ChildProcess>()
	#calls = 0
	#isClosing = false

	constructor(restartMs: number, execArgv: readonly string[] = []) {
		this.#restartMs = restartMs
		this.#execArgv = execArgv
	}

	/** Resolves when the service is ready. */
	async start(name: string, url: URL, input: ServiceInput): Promise<void> {
		this.#programs.set(name, { url, input })
		await this.#run(name)
	}

	/** SIGKILL. The service starts again by itself. */
	kill(name: string): void {
		const child = this.#running.get(name)
		if (!child) throw new Error(`the service ${name} does not run`)
		this.#killed.add(child)
		child.kill('SIGKILL')
	}

	/** Executes a command of a service; rejects if the process ends before it has replied. */
	async call<Result>(name: string, call: string, argument?: unknown): Promise<Result> {
		const child = this.#running.get(name)
		if (!child) throw new Error(`the service ${name} does not run`)
		const id = this.#calls++
		const reply = repliedBy(child, name, (message) => message.kind === 'result' && message.id === id)
		child.send({ id, call, argument } satisfies Command)
		const message = await reply
		if (message.kind !== 'result' || message.error !== undefined)
			throw new Error(`${name}: ${message.kind === 'result' ? message.error : message.kind}`)
		return message.result as Result
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#isClosing = true
		for (const timer of this.#restarts) clearTimeout(timer)
		for (const child of this.#running.values()) await end(child)
	}

	async #run(name: string): Promise<void> {
		const program = this.#programs.get(name)
		if (!program || this.#isClosing) return
		const child = fork(fileURLToPath(program.url), [JSON.stringify(program.input)], {
			execArgv: ['--no-warnings', ...this.#execArgv],
			stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
		})
		guard(child)
		this.#running.set(name, child)
		child.on('message', (message: Message) => {
			if (message.kind === 'note') this.notes.push({ service: name, at: message.at, text: message.text })
		})
		child.once('exit', (code, signal) => this.#exited(name, child, `${signal ?? `exit code ${code}`}`))
		await repliedBy(child, name, ({ kind }) => kind === 'ready')
		this.#note(name, 'ready')
	}

	#exited(name: string, child: ChildProcess, how: string): void {
		if (this.#isClosing) return
		if (!this.#killed.has(child)) this.crashes.push(name)
		this.#note(name, `ended: ${how}`)
		const timer = setTimeout(() => {
			this.#restarts.delete(timer)
			// If it ends again before it is ready, its exit starts the next one.
			this.#run(name).catch(() => {})
		}, this.#restartMs)
		this.#restarts.add(timer)
	}

	#note(service: string, text: string): void {
		this.notes.push({ at: now(), service, text })
	}
}

function repliedBy(
	child: ChildProcess,
	name: string,
	isReply: (message: Message) => boolean,
): Promise<Message> {
	return new Promise((resolve, reject) => {
		const onExit = () => settle(() => reject(new Error(`the process of ${name} ended`)))
		const onMessage = (message: Message) => {
			if (isReply(message)) settle(() => resolve(message))
		}
		const settle = (end: () => void) => {
			child.off('message', onMessage)
			child.off('exit', onExit)
			end()
		}
		child.on('message', onMessage)
		child.once('exit', onExit)
	})
}
