import { Histogram } from './histogram.ts'
import type { ServiceResult, ServiceTimeline } from './result.ts'
import { TimeWeightedCount } from './time-weighted-count.ts'
import type { Channel, TimelineBins } from './timeline-bins.ts'

/** Why a service turned a request away. */
export type TurnedAway = 'rejected' | 'rateLimited' | 'unreachable' | 'dropped'

/** What is counted of one service. */
export class ServiceMeter {
	requests = 0
	useful = 0
	wasted = 0
	usefulMs = 0
	wastedMs = 0
	failed = 0
	readonly turnedAway: Record<TurnedAway, number> = {
		rejected: 0,
		rateLimited: 0,
		unreachable: 0,
		dropped: 0,
	}
	readonly queue: TimeWeightedCount = new TimeWeightedCount()
	/** In the queue or at a worker. */
	readonly present: TimeWeightedCount = new TimeWeightedCount()
	readonly busy: TimeWeightedCount = new TimeWeightedCount()
	/** How long they had waited whom a worker took out of the queue. */
	readonly age: Histogram = new Histogram()
	/** The time that those who have left had spent, and the sum of the arrivals of those who have not. */
	#spentMs = 0
	#arrivals = 0
	readonly #requests: Channel
	readonly #useful: Channel
	readonly #wasted: Channel
	readonly #rejected: Channel
	readonly #queue: Channel

	constructor(steps: TimelineBins) {
		this.#requests = steps.channel()
		this.#useful = steps.channel()
		this.#wasted = steps.channel()
		this.#rejected = steps.channel()
		this.#queue = steps.channel('most')
	}

	send(now: number): void {
		this.requests++
		this.#requests.count(now)
	}

	turnAway(now: number, why: TurnedAway): void {
		this.turnedAway[why]++
		this.#rejected.count(now)
	}

	/** It is let in. */
	admit(now: number): void {
		this.present.enter(now)
		this.#arrivals += now
	}

	/** It is done with, or was lost. */
	release(now: number, arrivedAt: number): void {
		this.present.leave(now)
		this.#arrivals -= arrivedAt
		this.#spentMs += now - arrivedAt
	}

	/** It waits. */
	enqueue(now: number): void {
		this.queue.enter(now)
		this.#queue.raise(now, this.queue.number)
	}

	/** A worker takes it or throws it away, or it is lost. */
	dequeue(now: number): void {
		this.queue.leave(now)
	}

	/** A worker is done with it. `isAwaited`: by somebody. */
	finish(now: number, workedMs: number, ok: boolean, isAwaited: boolean): void {
		if (!ok) this.failed++
		if (ok && isAwaited) {
			this.useful++
			this.usefulMs += workedMs
			this.#useful.count(now)
		} else {
			this.wasted++
			this.wastedMs += workedMs
			this.#wasted.count(now)
		}
	}

	result(end: number, calls: number, workers: number, capacityPerSecond: number | null): ServiceResult {
		const { requests, useful, wasted, usefulMs, wastedMs, failed, turnedAway } = this
		const share = (area: number, of: number) => (end > 0 && of > 0 ? area / of / end : 0)
		// Counted from each request's own times and not from the area: that the two agree is Little's law.
		const spentMs = this.#spentMs + this.present.number * end - this.#arrivals
		return {
			requests,
			amplification: calls === 0 ? 0 : requests / calls,
			useful,
			wasted,
			usefulMs,
			wastedMs,
			...turnedAway,
			failed,
			utilization: workers < Infinity ? share(this.busy.area(end), workers) : 0,
			queue: { mean: share(this.queue.area(end), 1), most: this.queue.most, age: this.age.summary },
			present: {
				mean: share(this.present.area(end), 1),
				meanMs: this.present.entered === 0 ? 0 : spentMs / this.present.entered,
				count: this.present.entered,
			},
			capacityPerSecond,
		}
	}

	timeline(steps: number): ServiceTimeline {
		return {
			requests: this.#requests.first(steps),
			useful: this.#useful.first(steps),
			wasted: this.#wasted.first(steps),
			rejected: this.#rejected.first(steps),
			queue: this.#queue.first(steps),
		}
	}
}
