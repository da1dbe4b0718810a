import type { Aftermath } from './aftermath.ts'
import { Histogram } from './histogram.ts'
import type { ClientResult, ClientTimeline } from './result.ts'
import type { Channel, Steps } from './steps.ts'

/** What is counted of one client's calls. */
export class ClientMeter {
	calls = 0
	good = 0
	late = 0
	failed = 0
	refused = 0
	requests = 0
	/** Requests that were the first of their call. */
	firsts = 0
	lastAnswerAt = 0
	readonly latency: Histogram = new Histogram()
	readonly #aftermath: Aftermath | undefined
	readonly #goodWithinMs: number
	readonly #begun: Channel
	readonly #begunGood: Channel
	readonly #begunBad: Channel
	readonly #good: Channel
	readonly #bad: Channel

	/** `aftermath`: where a fault is scheduled. */
	constructor(steps: Steps, goodWithinMs: number, aftermath: Aftermath | undefined) {
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
			if (requests === 0) this.refused++
		}
		;(isGood ? this.#good : this.#bad).count(now)
		;(isGood ? this.#begunGood : this.#begunBad).count(begunAt)
		this.lastAnswerAt = now
	}

	get ended(): number {
		return this.good + this.late + this.failed
	}

	result(): ClientResult {
		const { calls, good, late, failed, refused, requests } = this
		return {
			calls,
			good,
			late,
			failed,
			refused,
			unfinished: calls - this.ended,
			requests,
			retries: requests - this.firsts,
			latency: this.latency.summary,
		}
	}

	timeline(steps: number): ClientTimeline {
		return {
			begun: this.#begun.first(steps),
			begunGood: this.#begunGood.first(steps),
			begunBad: this.#begunBad.first(steps),
			good: this.#good.first(steps),
			bad: this.#bad.first(steps),
		}
	}
}
