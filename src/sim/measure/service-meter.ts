import type { MeterOptions } from './client-meter.ts'
import { Histogram } from './histogram.ts'
import type { RecoveryTracker } from './recovery-tracker.ts'
import type { Recovery, ServiceResult, ServiceTimeline } from './result.ts'
import { TimeWeightedCount } from './time-weighted-count.ts'
import { type Channel, readChannels, type TimelineBins } from './timeline-bins.ts'

export type RejectReason = 'rejected' | 'rateLimited' | 'unreachable' | 'dropped'

export class ServiceMeter {
	requests = 0
	retries = 0
	useful = 0
	wasted = 0
	usefulMs = 0
	wastedMs = 0
	failed = 0
	readonly rejected: Record<RejectReason, number> = {
		rejected: 0,
		rateLimited: 0,
		unreachable: 0,
		dropped: 0,
	}
	readonly queue: TimeWeightedCount
	/** Queued or being processed. */
	readonly inFlight: TimeWeightedCount
	readonly #busy: TimeWeightedCount
	/** Busy workers from the start of the run on, with the warm-up; undefined if it is not needed. */
	#allBusy: TimeWeightedCount | undefined
	/** Queue time of the requests that a worker took from the queue. */
	readonly #age = new Histogram()
	/** Time that finished requests spent here, the sum of the arrival times of the others, and their number. */
	#spentMs = 0
	#arrivals = 0
	#present = 0
	readonly recovery: RecoveryTracker | undefined
	readonly #warmUpMs: number
	readonly #timeline: Readonly<Record<keyof ServiceTimeline, Channel>>

	constructor(bins: TimelineBins, { warmUpMs = 0, recovery }: Partial<MeterOptions> = {}) {
		this.recovery = recovery
		this.#warmUpMs = warmUpMs
		this.queue = new TimeWeightedCount(warmUpMs)
		this.inFlight = new TimeWeightedCount(warmUpMs)
		this.#busy = new TimeWeightedCount(warmUpMs)
		const sums = bins.channels('requests', 'useful', 'wasted', 'rejected')
		this.#timeline = { ...sums, queue: bins.channel('max') }
	}

	send(now: number): void {
		this.#timeline.requests.count(now)
		if (now >= this.#warmUpMs) this.requests++
	}

	/** It sends another request for a call to a service that it depends on. */
	retry(now: number): void {
		if (now >= this.#warmUpMs) this.retries++
	}

	/** `admittedAt`: when it was admitted to the queue; undefined if it was not. */
	reject(now: number, reason: RejectReason, admittedAt?: number): void {
		if (admittedAt === undefined) this.recovery?.count(now)
		this.recovery?.judge(admittedAt ?? now, now, false)
		this.#timeline.rejected.count(now)
		if ((admittedAt ?? now) >= this.#warmUpMs) this.rejected[reason]++
	}

	admit(now: number): void {
		this.inFlight.enter(now)
		this.recovery?.count(now)
		if (now < this.#warmUpMs) return
		this.#arrivals += now
		this.#present++
	}

	/** A request leaves: processed, dropped or lost. */
	release(now: number, admittedAt: number): void {
		this.inFlight.leave(now)
		if (admittedAt < this.#warmUpMs) return
		this.#arrivals -= admittedAt
		this.#present--
		this.#spentMs += now - admittedAt
	}

	startWork(now: number): void {
		this.#busy.enter(now)
		this.#allBusy?.enter(now)
	}

	endWork(now: number): void {
		this.#busy.leave(now)
		this.#allBusy?.leave(now)
	}

	/** Returns a function that returns the worker time used so far. To be called before the run. */
	trackWork(): (now: number) => number {
		const all = new TimeWeightedCount()
		this.#allBusy = all
		return (now) => all.area(now)
	}

	enqueue(now: number): void {
		this.queue.enter(now)
		this.recovery?.enter(now)
		this.#timeline.queue.raise(now, this.queue.current)
	}

	dequeue(now: number, admittedAt: number): void {
		this.queue.leave(now)
		this.recovery?.leave(admittedAt, now)
	}

	/** A worker takes a request from the queue, and does not drop it. */
	startQueued(now: number, admittedAt: number): void {
		if (admittedAt >= this.#warmUpMs) this.#age.record(now - admittedAt)
	}

	/** A worker is done with a request. `isAwaited`: its caller still waits. */
	finish(now: number, workedMs: number, ok: boolean, isAwaited: boolean, admittedAt: number = now): void {
		const isUseful = ok && isAwaited
		this.recovery?.judge(admittedAt, now, isUseful)
		;(isUseful ? this.#timeline.useful : this.#timeline.wasted).count(now)
		if (admittedAt < this.#warmUpMs) return
		if (!ok) this.failed++
		if (isUseful) {
			this.useful++
			this.usefulMs += workedMs
		} else {
			this.wasted++
			this.wastedMs += workedMs
		}
	}

	/** `recovery`: from the last fault. */
	result(
		end: number,
		calls: number,
		workers: number,
		capacityPerSecond: number | null,
		recovery: Recovery | null,
	): ServiceResult {
		const { requests, retries, useful, wasted, usefulMs, wastedMs, failed, rejected } = this
		const measuredMs = end - this.#warmUpMs
		const share = (area: number, of: number) => (measuredMs > 0 && of > 0 ? area / of / measuredMs : 0)
		// The sum of each request's own times, not the area: Little's law says that both agree, and a test
		// compares them.
		const spentMs = this.#spentMs + this.#present * end - this.#arrivals
		return {
			requests,
			amplification: calls === 0 ? 0 : requests / calls,
			retries,
			useful,
			wasted,
			usefulMs,
			wastedMs,
			...rejected,
			failed,
			utilization: workers < Infinity ? share(this.#busy.area(end), workers) : 0,
			queue: { mean: share(this.queue.area(end), 1), max: this.queue.max, age: this.#age.summary },
			inFlight: {
				mean: share(this.inFlight.area(end), 1),
				meanMs: this.inFlight.entered === 0 ? 0 : spentMs / this.inFlight.entered,
				count: this.inFlight.entered,
			},
			capacityPerSecond,
			recovery,
		}
	}

	timeline(length: number): ServiceTimeline {
		return readChannels(this.#timeline, length)
	}
}
