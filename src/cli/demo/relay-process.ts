/** A relay process as the demo sees it, and their messages. No process outlives the demo. */
import { type ChildProcess, fork } from 'node:child_process'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { SharedCircuitState } from '../../outbox/store/rows.ts'
import type { StoreTarget } from '../outbox/open-outbox.ts'
import type { DemoSchedule } from './schedule.ts'

/** Sent over the channel instead of as arguments, which every user of the machine can read. */
export interface RelayInput {
	readonly type: 'start'
	readonly name: string
	readonly database: StoreTarget
	readonly to: string
	readonly schedule: Pick<DemoSchedule, 'leaseMs' | 'timeoutMs' | 'breakerMs'>
}

export type ToRelay = RelayInput | { readonly type: 'stop' }

export interface RelayCounts {
	sent: number
	failed: number
	circuit: SharedCircuitState
}

export type FromRelay =
	| { readonly type: 'ready' }
	| ({ readonly type: 'counts' } & Readonly<RelayCounts>)
	| { readonly type: 'failed'; readonly message: string }

/** The sources run as they are; the package is built. */
const WORKER_FILE = new URL(`./relay-worker${import.meta.url.slice(-3)}`, import.meta.url)

/** A process that has not stopped by then is killed. */
const STOP_TIMEOUT_MS = 10_000
const MAX_OUTPUT = 2000

/** Called if a process ends by itself: with its error, or without one if it was killed from outside. */
export type OnUnexpectedExit = (relay: RelayProcess, error: Error | undefined) => void

export class RelayProcess {
	readonly name: string
	counts: Readonly<RelayCounts> = { sent: 0, failed: 0, circuit: 'closed' }
	state: 'starting' | 'running' | 'killed' | 'stopping' | 'ended' = 'starting'
	/** Resolves when the relay runs or has ended. */
	readonly ready: Promise<void>
	readonly #child: ChildProcess
	readonly #exit = Promise.withResolvers<void>()
	#output = ''

	constructor(input: RelayInput, onUnexpectedExit: OnUnexpectedExit) {
		this.name = input.name
		const child = fork(WORKER_FILE, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] })
		this.#child = child
		for (const stream of [child.stdout, child.stderr])
			stream?.setEncoding('utf8').on('data', (text: string) => {
				this.#output = (this.#output + text).slice(-MAX_OUTPUT)
			})
		const ready = Promise.withResolvers<void>()
		this.ready = Promise.race([ready.promise, this.#exit.promise])
		child.on('message', (message: FromRelay) => {
			if (message.type === 'failed') this.#output = message.message
			else if (message.type === 'counts') this.counts = message
			else {
				if (this.state === 'starting') this.state = 'running'
				ready.resolve()
			}
		})
		/** No `reason`: a signal from outside has killed the process. */
		const onExit = (reason: string | undefined) => {
			this.#exit.resolve()
			if (this.state === 'killed' || this.state === 'stopping') return
			this.state = reason === undefined ? 'killed' : 'ended'
			const message = `${this.name} ended: ${this.#output.trim() || reason}`
			onUnexpectedExit(this, reason === undefined ? undefined : new Error(message))
		}
		child.once('exit', (code, signal) => onExit(signal === null ? `exit code ${code}` : undefined))
		// The channel of a killed process also emits an error. Only a process that did not start has no pid.
		child.on('error', ({ message }) => {
			if (child.pid === undefined) onExit(message)
		})
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
		await this.#exit.promise
	}

	/** Lets the relay finish its messages in flight. */
	async stop(runtime: Runtime): Promise<void> {
		if (this.#hasEnded) return
		this.state = 'stopping'
		const cancel = runtime.setTimer(STOP_TIMEOUT_MS, () => void this.#child.kill('SIGKILL'), 'limit')
		this.#send({ type: 'stop' })
		await this.#exit.promise
		cancel()
		this.state = 'ended'
	}

	get #hasEnded(): boolean {
		const { pid, exitCode, signalCode } = this.#child
		return pid === undefined || exitCode !== null || signalCode !== null
	}

	#send(message: ToRelay): void {
		this.#child.send(message, () => {})
	}
}
