/** A relay of the demo as its parent sees it: started, listened to, killed or stopped, and never left behind. */
import { type ChildProcess, fork } from 'node:child_process'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { Brief, Order, RelayCounts, Word } from './relay-protocol.ts'

/** Which of the two files there is: the sources run as they are, and the package is built. */
const WORKER = new URL(
	import.meta.url.endsWith('.ts') ? './relay-worker.ts' : './relay-worker.js',
	import.meta.url,
)

/** What does not end by then is ended. */
const STOP_WITHIN_MS = 10_000
const LONGEST_COMPLAINT = 2000

/** Told when it is gone without having been asked to: by an error of its own, or because somebody killed it. */
export type Gone = (relay: RelayProcess, error: Error | undefined) => void

export class RelayProcess {
	readonly name: string
	counts: RelayCounts = { sent: 0, failed: 0, gate: 'closed' }
	state: 'starting' | 'running' | 'killed' | 'stopping' | 'ended' = 'starting'
	/** Resolves when it works, or when it never will. */
	readonly ready: Promise<void>
	readonly #child: ChildProcess
	readonly #exit: Promise<void>
	#complaint = ''

	constructor(brief: Brief, gone: Gone) {
		this.name = brief.name
		const child = fork(WORKER, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] })
		this.#child = child
		for (const stream of [child.stdout, child.stderr])
			stream?.setEncoding('utf8').on('data', (text: string) => this.#complain(text))
		let isReady = () => {}
		const ready = new Promise<void>((resolve) => {
			isReady = resolve
		})
		this.#exit = new Promise((resolve) => {
			child.once('exit', (code, signal) => {
				resolve()
				this.#gone(gone, signal === null ? `exit code ${code}` : undefined)
			})
			// The channel of a process that was killed breaks, which is no news; that there is no process at all is.
			child.on('error', ({ message }) => {
				if (child.pid !== undefined) return
				resolve()
				this.#gone(gone, message)
			})
		})
		this.ready = Promise.race([ready, this.#exit])
		child.on('message', (word: Word) => this.#heard(word, isReady))
		this.#tell(brief)
	}

	get pid(): number | undefined {
		return this.#child.pid
	}

	/** At once, as a power cut would. */
	async kill(): Promise<void> {
		if (this.#hasEnded) return
		this.state = 'killed'
		this.#child.kill('SIGKILL')
		await this.#exit
	}

	/** Lets it finish what it is at. */
	async stop(runtime: Runtime): Promise<void> {
		if (this.#hasEnded) return
		this.state = 'stopping'
		const cancel = runtime.setTimer(STOP_WITHIN_MS, () => void this.#child.kill('SIGKILL'), 'limit')
		this.#tell({ type: 'stop' })
		await this.#exit
		cancel()
		this.state = 'ended'
	}

	get #hasEnded(): boolean {
		const { pid, exitCode, signalCode } = this.#child
		return pid === undefined || exitCode !== null || signalCode !== null
	}

	/** Without a reason it was a signal, and not one of ours. */
	#gone(gone: Gone, why: string | undefined): void {
		if (this.state === 'killed' || this.state === 'stopping') return
		this.state = why === undefined ? 'killed' : 'ended'
		const error =
			why === undefined ? undefined : new Error(`${this.name} ended: ${this.#complaint.trim() || why}`)
		gone(this, error)
	}

	#tell(order: Order): void {
		this.#child.send(order, () => {})
	}

	#heard(word: Word, isReady: () => void): void {
		if (word.type === 'ready') {
			if (this.state === 'starting') this.state = 'running'
			isReady()
		} else if (word.type === 'counts') {
			const { type: _, ...counts } = word
			this.counts = counts
		} else this.#complaint = word.message
	}

	#complain(text: string): void {
		this.#complaint = (this.#complaint + text).slice(-LONGEST_COMPLAINT)
	}
}
