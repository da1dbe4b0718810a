/**
 * Two ways to notice a commit that the driver does not report: poll the transaction's state, or notify relays
 * a few times anyway. Most transactions commit right after the message was written, so the first intervals are
 * short. Both stop after a while, because relays also poll.
 */
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'

/** Called with the destinations of messages that have been committed, or may have been. */
export type OnCommit = (destinations: ReadonlySet<string>) => void

export interface TransactionWatch {
	add(destinations: ReadonlySet<string>): void
	stop(): void
}

/** 0, 1, 2, 4 ... 64, and then 100 for ten seconds. */
export const POLL_DELAYS_MS: readonly number[] = [
	...[0, 1, 2, 4, 8, 16, 32, 64],
	...Array.from({ length: 101 }, () => 100),
]

/** Notifications 5, 20, 50, 100, 250, 500 and 1,000 ms after the write. */
export const BLIND_DELAYS_MS: readonly number[] = [5, 15, 30, 50, 150, 250, 500]

/** Runs a step after each of a sequence of delays, until it returns true; a new message restarts the sequence. */
export class StepTimer implements TransactionWatch {
	readonly #runtime: Runtime
	readonly #delaysMs: readonly number[]
	readonly #run: (destinations: ReadonlySet<string>) => boolean
	readonly #onLastStep: (destinations: Set<string>) => void
	readonly #destinations: Set<string> = new Set()
	#cancel: CancelTimer | undefined
	#step = 0
	#mustRestart = false

	constructor(
		runtime: Runtime,
		delaysMs: readonly number[],
		run: (destinations: ReadonlySet<string>) => boolean,
		onLastStep: (destinations: Set<string>) => void,
	) {
		this.#runtime = runtime
		this.#delaysMs = delaysMs
		this.#run = run
		this.#onLastStep = onLastStep
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
		const delayMs = this.#delaysMs[step]
		if (delayMs !== undefined) this.#cancel = this.#runtime.setTimer(delayMs, this.#fire, 'housekeeping')
		else {
			this.#cancel = undefined
			this.#onLastStep(this.#destinations)
		}
	}

	readonly #fire = (): void => {
		this.#cancel = undefined
		if (this.#run(this.#destinations)) return
		const mustRestart = this.#mustRestart
		this.#mustRestart = false
		this.#schedule(mustRestart ? 0 : this.#step + 1)
	}
}
