/** A relay process of the demo as its parent sees it, and the messages between the two. No process outlives the demo. */
import { type ChildProcess, fork } from 'node:child_process'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { SharedCircuitState } from '../../outbox/store/rows.ts'
import type { DemoSchedule } from './schedule.ts'

/** Sent over the channel instead of as arguments, which every user of the machine can read. */
export interface RelayInput {
	readonly type: 'start'
	readonly name: string
	readonly database:
		| { readonly kind: 'sqlite'; readonly file: string }
		| { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
	/** URL of the receiver. */
	readonly to: string
	readonly schedule: Pick<DemoSchedule, 'leaseMs' | 'timeoutMs' | 'breakerMs'>
}

export type ToRelay = RelayInput | { readonly type: 'stop' }

export interface RelayCounts {
	readonly sent: number
	readonly failed: number
	readonly circuit: SharedCircuitState
}

export type FromRelay =
	| { readonly type: 'ready' }
	| ({ readonly type: 'counts' } & RelayCounts)
	| { readonly type: 'failed'; readonly message: string }

/** The sources run as they are; the package is built. */
const WORKER_FILE = new URL(
	import.meta.url.endsWith('.ts') ? './relay-worker.ts' : './relay-worker.js',
	import.meta.url,
)

/** A process that has not stopped by then is killed. */
const STOP_TIMEOUT_MS = 10_000
const MAX_OUTPUT = 2000

/** Called if a process ends without `kill` or `stop`: with its error, or without one if it was killed from outside. */
export type OnUnexpectedExit = (relay: RelayProcess, error: Error | undefined) => void

export class RelayProcess {
	readonly name: string
	counts: RelayCounts = { sent: 0, failed: 0, circuit: 'closed' }
	state: 'starting' | 'running' | 'killed' | 'stopping' | 'ended' = 'starting'
	/** Resolves when the relay runs or has ended. */
	readonly ready: Promise<void>
	readonly #child: ChildProcess
	readonly #exit: Promise<void>
	/** The latest error and output of the process. */
	#output = ''

	constructor(input: RelayInput, onUnexpectedExit: OnUnexpectedExit) {
		this.name = input.name
		const child = fork(WORKER_FILE, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] })
		this.#child = child
		for (const stream of [child.stdout, child.stderr])
			stream?.setEncoding('utf8').on('data', (text: string) => {
				this.#output = (this.#output + text).slice(-MAX_OUTPUT)
			})
		let resolveReady = () => {}
		const ready = new Promise<void>((resolve) => {
			resolveReady = resolve
		})
		this.#exit = new Promise((resolve) => {
			child.once('exit', (code, signal) => {
				resolve()
				this.#onExit(onUnexpectedExit, signal === null ? `exit code ${code}` : undefined)
			})
			// The channel of a killed process also emits an error. Only a process that did not start has no pid.
			child.on('error', ({ message }) => {
				if (child.pid !== undefined) return
				resolve()
				this.#onExit(onUnexpectedExit, message)
			})
		})
		this.ready = Promise.race([ready, this.#exit])
		child.on('message', (message: FromRelay) => this.#onMessage(message, resolveReady))
		this.#send(input)
	}

	get pid(): number | undefined {
		return this.#child.pid
	}

	/** Kills the process immediately, like a power failure. */
	async kill(): Promise<void> {
		if (this.#hasEnded) return
		this.state = 'killed'
		this.#child.kill('SIGKILL')
		await this.#exit
	}

	/** Lets the relay finish its messages in flight. */
	async stop(runtime: Runtime): Promise<void> {
		if (this.#hasEnded) return
		this.state = 'stopping'
		const cancel = runtime.setTimer(STOP_TIMEOUT_MS, () => void this.#child.kill('SIGKILL'), 'limit')
		this.#send({ type: 'stop' })
		await this.#exit
		cancel()
		this.state = 'ended'
	}

	get #hasEnded(): boolean {
		const { pid, exitCode, signalCode } = this.#child
		return pid === undefined || exitCode !== null || signalCode !== null
	}

	/** Without a reason the process was killed by a signal from outside. */
	#onExit(onUnexpectedExit: OnUnexpectedExit, reason: string | undefined): void {
		if (this.state === 'killed' || this.state === 'stopping') return
		this.state = reason === undefined ? 'killed' : 'ended'
		const error =
			reason === undefined ? undefined : new Error(`${this.name} ended: ${this.#output.trim() || reason}`)
		onUnexpectedExit(this, error)
	}

	#send(message: ToRelay): void {
		this.#child.send(message, () => {})
	}

	#onMessage(message: FromRelay, resolveReady: () => void): void {
		if (message.type === 'ready') {
			if (this.state === 'starting') this.state = 'running'
			resolveReady()
		} else if (message.type === 'counts') {
			const { type: _, ...counts } = message
			this.counts = counts
		} else this.#output = message.message
	}
}
