/**
 * Two ways to notice a commit that the driver does not report: poll the transaction's state, or notify relays a few times without knowing. Both start
 * with short intervals, because most transactions commit right after the message was written, and stop after a while: relays also poll.
 */
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'

/** Called with the destinations of messages that have been committed, or may have been. */
export type OnCommit = (destinations: ReadonlySet<string>) => void

/** Waits for the end of one transaction. */
export interface TransactionWatch {
	/** Adds destinations to which the transaction has written messages. */
	add(destinations: ReadonlySet<string>): void
	stop(): void
}

const MAX_POLL_MS = 100
const STOP_POLLING_AFTER_MS = 10_000
/** When relays are notified without knowledge of the commit, in milliseconds after the write. */
const BLIND_NOTIFICATIONS_MS: readonly number[] = [5, 20, 50, 100, 250, 500, 1_000]

/** Runs a step after each of a sequence of delays; a new message restarts the sequence. */
abstract class BackoffTimer implements TransactionWatch {
	protected readonly destinations: Set<string> = new Set()
	readonly #runtime: Runtime
	#cancel: CancelTimer | undefined
	#step = 0
	#mustRestart = false

	constructor(runtime: Runtime) {
		this.#runtime = runtime
	}

	add(destinations: ReadonlySet<string>): void {
		for (const destination of destinations) this.destinations.add(destination)
		// The first delay is short. Letting it run and repeating it saves a timer per message.
		if (this.#cancel !== undefined && this.#step === 0) this.#mustRestart = true
		else {
			this.#cancel?.()
			this.#schedule(0)
		}
	}

	stop(): void {
		this.#cancel?.()
		this.#cancel = undefined
	}

	/** Returns the delay before the given step; undefined after the last step. */
	protected abstract delayMs(step: number): number | undefined
	/** Returns true to end the sequence. */
	protected abstract runStep(): boolean
	protected abstract onLastStep(): void

	#schedule(step: number): void {
		this.#step = step
		const delayMs = this.delayMs(step)
		if (delayMs !== undefined) this.#cancel = this.#runtime.setTimer(delayMs, this.#fire, 'housekeeping')
		else {
			this.#cancel = undefined
			this.onLastStep()
		}
	}

	readonly #fire = (): void => {
		this.#cancel = undefined
		if (this.runStep()) return
		const mustRestart = this.#mustRestart
		this.#mustRestart = false
		this.#schedule(mustRestart ? 0 : this.#step + 1)
	}
}

/** Polls until the transaction has ended. */
export class CommitPoller extends BackoffTimer {
	readonly #hasEnded: () => boolean
	readonly #onCommit: OnCommit
	readonly #onTimeout: () => void

	constructor(runtime: Runtime, hasEnded: () => boolean, onCommit: OnCommit, onTimeout: () => void) {
		super(runtime)
		this.#hasEnded = hasEnded
		this.#onCommit = onCommit
		this.#onTimeout = onTimeout
	}

	protected override delayMs(step: number): number | undefined {
		// 0, 1, 2, 4 ... 64: the first eight steps take 127 ms.
		if (step > 8 + STOP_POLLING_AFTER_MS / MAX_POLL_MS) return undefined
		return step === 0 ? 0 : Math.min(2 ** (step - 1), MAX_POLL_MS)
	}

	protected override runStep(): boolean {
		if (!this.#hasEnded()) return false
		this.#onCommit(this.destinations)
		return true
	}

	protected override onLastStep(): void {
		this.#onTimeout()
	}
}

/** Notifies immediately and again within a second. One instance serves all transactions whose state is unknown. */
export class BlindNotifier extends BackoffTimer {
	readonly #notify: OnCommit

	constructor(runtime: Runtime, notify: OnCommit) {
		super(runtime)
		this.#notify = notify
	}

	override add(destinations: ReadonlySet<string>): void {
		super.add(destinations)
		this.#notify(destinations)
	}

	protected override delayMs(step: number): number | undefined {
		const at = BLIND_NOTIFICATIONS_MS[step]
		return at === undefined ? undefined : at - (BLIND_NOTIFICATIONS_MS[step - 1] ?? 0)
	}

	protected override runStep(): boolean {
		this.#notify(this.destinations)
		return false
	}

	protected override onLastStep(): void {
		this.destinations.clear()
	}
}
