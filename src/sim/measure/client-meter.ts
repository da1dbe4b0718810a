import { Histogram } from './histogram.ts'
import type { RecoveryTracker } from './recovery-tracker.ts'
import type { ClientResult, ClientTimeline } from './result.ts'
import type { Channel, TimelineBins } from './timeline-bins.ts'

/** What is counted of one client's calls. */
export class ClientMeter {
	calls = 0
	good = 0
	late = 0
	failed = 0
	rejected = 0
	requests = 0
	/** Requests that were the first of their call. */
	firsts = 0
	lastAnswerAt = 0
	readonly latency: Histogram = new Histogram()
	readonly #aftermath: RecoveryTracker | undefined
	readonly #goodWithinMs: number
	readonly #begun: Channel
	readonly #begunGood: Channel
	readonly #begunBad: Channel
	readonly #good: Channel
	readonly #bad: Channel

	/** `aftermath`: where a fault is scheduled. */
	constructor(steps: TimelineBins, goodWithinMs: number, aftermath: RecoveryTracker | undefined) {
		this.#aftermath = aftermath
		this.#goodWithinMs = goodWithinMs
		this.#begun = steps.channel()
		this.#begunGood = steps.channel()
		this.#begunBad = steps.channel()
		this.#good = steps.channel()
		this.#bad = steps.channel()
	}

	begin(now: number): void {
		this.calls++
		this.#aftermath?.begin(now)
		this.#begun.count(now)
	}

	/** A request is sent, `isFirst` for its call. */
	send(isFirst: boolean): void {
		this.requests++
		if (isFirst) this.firsts++
	}

	end(begunAt: number, now: number, ok: boolean, requests: number): void {
		const took = now - begunAt
		const isGood = ok && took <= this.#goodWithinMs
		this.#aftermath?.end(begunAt, now, isGood)
		if (ok) this.latency.record(took)
		if (isGood) this.good++
		else if (ok) this.late++
		else {
			this.failed++
			if (requests === 0) this.rejected++
		}
		;(isGood ? this.#good : this.#bad).count(now)
		;(isGood ? this.#begunGood : this.#begunBad).count(begunAt)
		this.lastAnswerAt = now
	}

	get ended(): number {
		return this.good + this.late + this.failed
	}

	result(): ClientResult {
		const { calls, good, late, failed, rejected, requests } = this
		return {
			calls,
			good,
			late,
			failed,
			rejected,
			unfinished: calls - this.ended,
			requests,
			retries: requests - this.firsts,
			latency: this.latency.summary,
		}
	}

	timeline(steps: number): ClientTimeline {
		return {
			started: this.#begun.first(steps),
			startedGood: this.#begunGood.first(steps),
			startedBad: this.#begunBad.first(steps),
			good: this.#good.first(steps),
			bad: this.#bad.first(steps),
		}
	}
}
