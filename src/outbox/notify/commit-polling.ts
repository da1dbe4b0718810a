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

interface Steps {
	/** Returns the delay before the given step; undefined after the last step. */
	delayMs(step: number): number | undefined
	/** Returns true to end the sequence. */
	run(destinations: ReadonlySet<string>): boolean
	onLastStep(destinations: Set<string>): void
}

const MAX_POLL_MS = 100
const STOP_POLLING_AFTER_MS = 10_000
/** When relays are notified without knowledge of the commit, in milliseconds after the write. */
const BLIND_NOTIFICATIONS_MS: readonly number[] = [5, 20, 50, 100, 250, 500, 1_000]

/** Polls until the transaction has ended. */
export const commitPoller = (
	runtime: Runtime,
	hasEnded: () => boolean,
	onCommit: OnCommit,
	onTimeout: () => void,
): TransactionWatch =>
	new BackoffTimer(runtime, {
		delayMs(step) {
			// 0, 1, 2, 4 ... 64: the first eight steps take 127 ms.
			if (step > 8 + STOP_POLLING_AFTER_MS / MAX_POLL_MS) return undefined
			return step === 0 ? 0 : Math.min(2 ** (step - 1), MAX_POLL_MS)
		},
		run(destinations) {
			if (!hasEnded()) return false
			onCommit(destinations)
			return true
		},
		onLastStep: onTimeout,
	})

/** Notifies several times within a second. One instance serves all transactions whose state is unknown. */
export const blindNotifier = (runtime: Runtime, notify: OnCommit): TransactionWatch =>
	new BackoffTimer(runtime, {
		delayMs(step) {
			const at = BLIND_NOTIFICATIONS_MS[step]
			return at === undefined ? undefined : at - (BLIND_NOTIFICATIONS_MS[step - 1] ?? 0)
		},
		run(destinations) {
			notify(destinations)
			return false
		},
		onLastStep: (destinations) => destinations.clear(),
	})

/** Runs a step after each of a sequence of delays; a new message restarts the sequence. */
class BackoffTimer implements TransactionWatch {
	readonly #runtime: Runtime
	readonly #steps: Steps
	readonly #destinations: Set<string> = new Set()
	#cancel: CancelTimer | undefined
	#step = 0
	#mustRestart = false

	constructor(runtime: Runtime, steps: Steps) {
		this.#runtime = runtime
		this.#steps = steps
	}

	add(destinations: ReadonlySet<string>): void {
		for (const destination of destinations) this.#destinations.add(destination)
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

	#schedule(step: number): void {
		this.#step = step
		const delayMs = this.#steps.delayMs(step)
		if (delayMs !== undefined) this.#cancel = this.#runtime.setTimer(delayMs, this.#fire, 'housekeeping')
		else {
			this.#cancel = undefined
			this.#steps.onLastStep(this.#destinations)
		}
	}

	readonly #fire = (): void => {
		this.#cancel = undefined
		if (this.#steps.run(this.#destinations)) return
		const mustRestart = this.#mustRestart
		this.#mustRestart = false
		this.#schedule(mustRestart ? 0 : this.#step + 1)
	}
}
