import { Histogram } from './histogram.ts'
import type { RecoveryTracker } from './recovery-tracker.ts'
import type {
	ClassResult,
	ClientResult,
	ClientTimeline,
	Recovery,
	ServiceResult,
	SimulationTotals,
} from './result.ts'
import { type Channel, readChannels, type TimelineBins } from './timeline-bins.ts'

export interface MeterOptions {
	/** Calls and requests that start earlier are not counted, except in the timeline. */
	readonly warmUpMs: number
	/** Undefined if no fault is scheduled, or if the service admits no requests. */
	readonly recovery: RecoveryTracker | undefined
}

/** Counts the calls of a client, or of one of its request classes, from the end of the warm-up on. */
export class CallMeter {
	calls = 0
	good = 0
	late = 0
	failed = 0
	readonly latency: Histogram = new Histogram()
	protected readonly goodWithinMs: number
	protected readonly warmUpMs: number

	constructor(goodWithinMs: number, warmUpMs: number) {
		this.goodWithinMs = goodWithinMs
		this.warmUpMs = warmUpMs
	}

	start(now: number): void {
		if (now >= this.warmUpMs) this.calls++
	}

	end(startedAt: number, now: number, ok: boolean): void {
		if (startedAt < this.warmUpMs) return
		const durationMs = now - startedAt
		if (ok) this.latency.record(durationMs)
		if (!ok) this.failed++
		else if (durationMs <= this.goodWithinMs) this.good++
		else this.late++
	}

	get counts(): ClassResult {
		const { calls, good, late, failed } = this
		return {
			calls,
			good,
			late,
			failed,
			unfinished: calls - good - late - failed,
			// The share of all calls, including unfinished ones: a call that hangs is not a good one.
			goodShare: calls === 0 ? 0 : good / calls,
			latency: this.latency.summary,
		}
	}
}

export class ClientMeter extends CallMeter {
	/** All calls, including the warm-up: started, and in flight. */
	started = 0
	inFlight = 0
	rejected = 0
	requests = 0
	/** Calls that sent at least one request. */
	callsSent = 0
	lastResponseAt = 0
	readonly failureLatency: Histogram = new Histogram()
	readonly recovery: RecoveryTracker | undefined
	readonly #classes = new Map<string, CallMeter>()
	readonly #timeline: Readonly<Record<keyof ClientTimeline, Channel>>

	constructor(bins: TimelineBins, goodWithinMs: number, { warmUpMs, recovery }: MeterOptions) {
		super(goodWithinMs, warmUpMs)
		this.recovery = recovery
		this.#timeline = bins.channels('started', 'startedGood', 'startedBad', 'good', 'bad')
	}

	/** Adds a request class. The client counts its calls. */
	addClass(name: string): CallMeter {
		const meter = new CallMeter(this.goodWithinMs, this.warmUpMs)
		this.#classes.set(name, meter)
		return meter
	}

	override start(now: number): void {
		super.start(now)
		this.started++
		this.inFlight++
		this.recovery?.start(now)
		this.#timeline.started.count(now)
	}

	/** `isFirst`: the first request of its call. */
	send(isFirst: boolean, startedAt: number): void {
		if (startedAt < this.warmUpMs) return
		this.requests++
		if (isFirst) this.callsSent++
	}

	override end(startedAt: number, now: number, ok: boolean, requests = 1): void {
		super.end(startedAt, now, ok)
		const isGood = ok && now - startedAt <= this.goodWithinMs
		this.inFlight--
		this.recovery?.end(startedAt, now, isGood)
		const { good, bad, startedGood, startedBad } = this.#timeline
		;(isGood ? good : bad).count(now)
		;(isGood ? startedGood : startedBad).count(startedAt)
		if (startedAt < this.warmUpMs) return
		this.lastResponseAt = now
		if (ok) return
		this.failureLatency.record(now - startedAt)
		if (requests === 0) this.rejected++
	}

	/** `recovery`: from the last fault. */
	result(recovery: Recovery | null): ClientResult {
		const { rejected, requests } = this
		const classes = Object.fromEntries([...this.#classes].map(([name, meter]) => [name, meter.counts]))
		return {
			...this.counts,
			rejected,
			requests,
			retries: requests - this.callsSent,
			failureLatency: this.failureLatency.summary,
			recovery,
			...(this.#classes.size > 0 && { classes }),
		}
	}

	timeline(length: number): ClientTimeline {
		return readChannels(this.#timeline, length)
	}
}

/** `measuredMs`: the length of the run without its warm-up. */
export function computeTotals(
	measuredMs: number,
	meters: readonly ClientMeter[],
	services: readonly ServiceResult[],
): SimulationTotals {
	const sum = (of: (meter: ClientMeter) => number) => meters.reduce((total, meter) => total + of(meter), 0)
	const [calls, good] = [sum((meter) => meter.calls), sum((meter) => meter.good)]
	const perSecond = (count: number) => (measuredMs > 0 ? (count / measuredMs) * 1_000 : 0)
	const sumServices = (key: 'usefulMs' | 'wastedMs' | 'retries') =>
		services.reduce((total, service) => total + service[key], 0)
	const [usefulMs, wastedMs] = [sumServices('usefulMs'), sumServices('wastedMs')]
	const [latency, failureLatency] = [new Histogram(), new Histogram()]
	for (const meter of meters) {
		latency.merge(meter.latency)
		failureLatency.merge(meter.failureLatency)
	}
	return {
		offeredPerSecond: perSecond(calls),
		goodputPerSecond: perSecond(good),
		goodShare: calls === 0 ? 0 : good / calls,
		amplification: Math.max(0, ...services.map((service) => service.amplification)),
		retries: sum((meter) => meter.requests - meter.callsSent) + sumServices('retries'),
		wastedShare: usefulMs + wastedMs === 0 ? 0 : wastedMs / (usefulMs + wastedMs),
		lastResponseAtMs: Math.max(0, ...meters.map((meter) => meter.lastResponseAt)),
		latency: latency.summary,
		failureLatency: failureLatency.summary,
	}
}
