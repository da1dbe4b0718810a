/** What a run gives: plain data, the same bytes for the same seed. */

/** How one run went. */
export interface SimulationResult {
	readonly seed: number | string
	readonly endedAtMs: number
	/** `'event-limit'` is an answer cut short: raise `maxEvents`, or find out what makes so many. */
	readonly endedBy: 'duration' | 'idle' | 'recovered' | 'until' | 'event-limit' | 'interrupted'
	readonly events: number
	/** Of all that happened, in order. The same for the same seed, on every engine. */
	readonly traceHash: string
	readonly totals: Totals
	readonly clients: Readonly<Record<string, ClientResult>>
	readonly services: Readonly<Record<string, ServiceResult>>
	/** Null when nothing was scheduled to go wrong, or its end had not come. */
	readonly recovery: Recovery | null
	readonly timeline: Timeline
}

/** The whole in a few figures. */
export interface Totals {
	/** Calls that clients began, a second. */
	readonly offeredPerSecond: number
	/** Good answers in time, a second. */
	readonly goodputPerSecond: number
	/** The share of calls that ended well and in time, 0 to 1. Those that had not ended when the run did are not among them. */
	readonly goodShare: number
	/** Requests for each call of a client, at the service that got most. */
	readonly amplification: number
	/** Requests of clients beyond the first of each call. */
	readonly retries: number
	/** Of the time that workers worked, the share for nobody: the answer was not awaited any more, or was a failure. */
	readonly wastedShare: number
	/** When the last call ended. */
	readonly lastResponseAtMs: number
	readonly latency: LatencySummary
}

/** Of all calls that ended well, from their begin to their end, retries and waits included. */
export interface LatencySummary {
	readonly meanMs: number
	readonly p50Ms: number
	readonly p90Ms: number
	readonly p99Ms: number
	readonly maxMs: number
}

export interface ClientResult {
	/** Begun. */
	readonly calls: number
	/** Ended well and in time; `late` ended well, but not in time. */
	readonly good: number
	readonly late: number
	readonly failed: number
	/** Of the failed, those that a policy of the client refused without a request ever having been sent. */
	readonly rejected: number
	/** Not ended when the run did. */
	readonly unfinished: number
	/** Requests sent, and those of them beyond the first of their call. */
	readonly requests: number
	readonly retries: number
	readonly latency: LatencySummary
}

export interface ServiceResult {
	/** Requests that it was sent. */
	readonly requests: number
	/** For each call of the clients whose calls come here, directly or by way of other services. */
	readonly amplification: number
	/** Answered by a worker: awaited and well, or not. */
	readonly useful: number
	readonly wasted: number
	/** Worker time that either took, in milliseconds. */
	readonly usefulMs: number
	readonly wastedMs: number
	/** Turned away: the queue was full, the rate limit used up, or the service was down or went down while they waited. */
	readonly rejected: number
	readonly rateLimited: number
	readonly unreachable: number
	/** Thrown away in the queue because nobody waited any more. */
	readonly dropped: number
	/** Of the wasted, those that a worker answered with a failure, or that were lost with it when the service went down. */
	readonly failed: number
	/** Busy workers, as a share of all of them, over the whole run. */
	readonly utilization: number
	/** Requests in the queue: the mean over time and the most. Of those that had to wait, how long, when a worker took them. */
	readonly queue: { readonly mean: number; readonly most: number; readonly age: LatencySummary }
	/** Requests in the queue or at a worker, the mean over time; and the time that each spent there. Little: the first is rate x the second. */
	readonly present: { readonly mean: number; readonly meanMs: number; readonly count: number }
	/** Requests a second that it can answer, as far as that is known. */
	readonly capacityPerSecond: number | null
}

/** How it went on after the last fault had ended. */
export interface Recovery {
	/** When the last fault ended. */
	readonly faultEndedAtMs: number
	/** From then until the calls that begin end well again, and keep doing so; null when they did not in this run. */
	readonly healthyAfterMs: number | null
	/** From then until every call that had begun before was over; null when some never were. */
	readonly drainedAfterMs: number | null
	/** The later of the two; null is never. */
	readonly recoveredAfterMs: number | null
}

/** What happened in each step of time. Every list has the same length. */
export interface Timeline {
	readonly stepMs: number
	/** By client: calls begun; how those that began in the step ended; how those that ended in the step did. */
	readonly clients: Readonly<Record<string, ClientTimeline>>
	/** By service. */
	readonly services: Readonly<Record<string, ServiceTimeline>>
}

export interface ClientTimeline {
	readonly started: readonly number[]
	/** Of those begun in this step, how many have ended well, and how many have failed or were late. */
	readonly startedGood: readonly number[]
	readonly startedBad: readonly number[]
	/** Ended in this step. */
	readonly good: readonly number[]
	readonly bad: readonly number[]
}

export interface ServiceTimeline {
	readonly requests: readonly number[]
	/** Answers of workers that somebody awaited and that were well; and those that were for nothing. */
	readonly useful: readonly number[]
	readonly wasted: readonly number[]
	/** Turned away, for whatever reason. */
	readonly rejected: readonly number[]
	/** Waiting requests at their most. */
	readonly queue: readonly number[]
}
