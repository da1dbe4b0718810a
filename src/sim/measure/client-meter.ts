import { Histogram } from './histogram.ts'
import type { RecoveryTracker } from './recovery-tracker.ts'
import type { ClassResult, ClientResult, ClientTimeline, Recovery } from './result.ts'
import { type Channel, readChannels, type TimelineBins } from './timeline-bins.ts'

export interface MeterOptions {
	/** Calls and requests that start earlier are not counted, except in the timeline. */
	readonly warmUpMs: number
	/** Undefined if no fault is scheduled, or if the service admits no requests. */
	readonly recovery: RecoveryTracker | undefined
}

export class ClientMeter {
	/** All calls, including the warm-up: started, and in flight. */
	started = 0
	inFlight = 0
	/** Without the warm-up, like all that follows. */
	calls = 0
	good = 0
	late = 0
	failed = 0
	rejected = 0
	requests = 0
	/** Calls that sent at least one request. */
	callsSent = 0
	lastResponseAt = 0
	readonly latency: Histogram = new Histogram()
	readonly #classes = new Map<string, ClassMeter>()
	readonly failureLatency: Histogram = new Histogram()
	readonly recovery: RecoveryTracker | undefined
	readonly #warmUpMs: number
	readonly #goodWithinMs: number
	readonly #timeline: Readonly<Record<keyof ClientTimeline, Channel>>

	constructor(bins: TimelineBins, goodWithinMs: number, { warmUpMs, recovery }: MeterOptions) {
		this.recovery = recovery
		this.#warmUpMs = warmUpMs
		this.#goodWithinMs = goodWithinMs
		this.#timeline = bins.channels('started', 'startedGood', 'startedBad', 'good', 'bad')
	}

	/** Adds a request class. The client counts its calls. */
	addClass(name: string): ClassMeter {
		const meter = new ClassMeter(this.#goodWithinMs, this.#warmUpMs)
		this.#classes.set(name, meter)
		return meter
	}

	start(now: number): void {
		this.started++
		this.inFlight++
		if (now >= this.#warmUpMs) this.calls++
		this.recovery?.start(now)
		this.#timeline.started.count(now)
	}

	/** `isFirst`: the first request of its call. */
	send(isFirst: boolean, startedAt: number): void {
		if (startedAt < this.#warmUpMs) return
		this.requests++
		if (isFirst) this.callsSent++
	}

	end(startedAt: number, now: number, ok: boolean, requests: number): void {
		const durationMs = now - startedAt
		const isGood = ok && durationMs <= this.#goodWithinMs
		this.inFlight--
		this.recovery?.end(startedAt, now, isGood)
		const { good, bad, startedGood, startedBad } = this.#timeline
		;(isGood ? good : bad).count(now)
		;(isGood ? startedGood : startedBad).count(startedAt)
		if (startedAt < this.#warmUpMs) return
		;(ok ? this.latency : this.failureLatency).record(durationMs)
		if (isGood) this.good++
		else if (ok) this.late++
		else {
			this.failed++
			if (requests === 0) this.rejected++
		}
		this.lastResponseAt = now
	}

	get ended(): number {
		return this.good + this.late + this.failed
	}

	/** `recovery`: from the last fault. */
	result(recovery: Recovery | null): ClientResult {
		const { calls, good, late, failed, rejected, requests } = this
		return {
			calls,
			good,
			late,
			failed,
			rejected,
			unfinished: calls - this.ended,
			requests,
			retries: requests - this.callsSent,
			// Of all calls, including unfinished ones: a call that hangs is not a good one.
			goodShare: calls === 0 ? 0 : good / calls,
			latency: this.latency.summary,
			failureLatency: this.failureLatency.summary,
			recovery,
			...(this.#classes.size > 0 && { classes: this.#classResults }),
		}
	}

	get #classResults(): Readonly<Record<string, ClassResult>> {
		return Object.fromEntries([...this.#classes].map(([name, meter]) => [name, meter.result]))
	}

	timeline(length: number): ClientTimeline {
		return readChannels(this.#timeline, length)
	}
}

/** Counts the calls of one request class of a client. */
export class ClassMeter {
	readonly #goodWithinMs: number
	readonly #warmUpMs: number
	readonly #latency = new Histogram()
	#calls = 0
	#good = 0
	#late = 0
	#failed = 0

	constructor(goodWithinMs: number, warmUpMs: number) {
		this.#goodWithinMs = goodWithinMs
		this.#warmUpMs = warmUpMs
	}

	start(now: number): void {
		if (now >= this.#warmUpMs) this.#calls++
	}

	end(startedAt: number, now: number, ok: boolean): void {
		if (startedAt < this.#warmUpMs) return
		const durationMs = now - startedAt
		if (ok) this.#latency.record(durationMs)
		if (!ok) this.#failed++
		else if (durationMs <= this.#goodWithinMs) this.#good++
		else this.#late++
	}

	get result(): ClassResult {
		const [calls, good, late, failed] = [this.#calls, this.#good, this.#late, this.#failed]
		return {
			calls,
			good,
			late,
			failed,
			unfinished: calls - good - late - failed,
			goodShare: calls === 0 ? 0 : good / calls,
			latency: this.#latency.summary,
		}
	}
}
