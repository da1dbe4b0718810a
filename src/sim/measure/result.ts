/** The result of a run: plain data, byte for byte the same for the same seed. */

/** The result of one run, which `simulate` and `simulation.result()` return. */
export interface SimulationResult {
	readonly seed: number | string
	/** The time that is cut off: calls and requests that started before are only in the timeline. */
	readonly warmUpMs: number
	readonly endedAtMs: number
	/** `'event-limit'` means that the run was cut short: raise `maxEvents`, or find out what causes so many events. */
	readonly endedBy: 'duration' | 'idle' | 'recovered' | 'until' | 'event-limit' | 'interrupted'
	readonly events: number
	/** A fingerprint of everything that happened, in order. The same for the same seed, on every engine. */
	readonly traceHash: string
	readonly totals: SimulationTotals
	readonly clients: Readonly<Record<string, ClientResult>>
	readonly services: Readonly<Record<string, ServiceResult>>
	/** The worst of all clients and services. Null if no fault was scheduled, or the last one had not ended. */
	readonly recovery: RunRecovery | null
	readonly timeline: Timeline
}

/** Figures for the whole run, without its warm-up. */
export interface SimulationTotals {
	/** Calls that clients started, per second. */
	readonly offeredPerSecond: number
	/** Calls that succeeded in time, per second. */
	readonly goodputPerSecond: number
	/** The share of calls that succeeded in time, 0 to 1. Unfinished calls count as not good. */
	readonly goodShare: number
	/** Requests per call, at the service with the highest value. */
	readonly amplification: number
	/** Requests beyond the first of each call: of clients, and of services to those that they depend on. */
	readonly retries: number
	/** The share of worker time that was wasted: the caller had stopped waiting, or got an error. */
	readonly wastedShare: number
	/** When the last call ended. */
	readonly lastResponseAtMs: number
	/** The latencies of successful calls, and of failed calls. */
	readonly latency: LatencySummary
	readonly failureLatency: LatencySummary
}

/** Latency of calls, from start to end, retries and waits included. Percentiles are at most 1.6 % off. Zeros without calls. */
export interface LatencySummary {
	readonly meanMs: number
	readonly p50Ms: number
	readonly p90Ms: number
	readonly p99Ms: number
	readonly p999Ms: number
	readonly maxMs: number
}

/** Counts and latencies of one client: a value of `clients` in a `SimulationResult`. */
export interface ClientResult {
	/** Calls started. */
	readonly calls: number
	/** Calls that succeeded in time. */
	readonly good: number
	/** Calls that succeeded, but later than `goodWithinMs`. */
	readonly late: number
	readonly failed: number
	/** The failed calls that a policy of the client rejected before any request was sent. */
	readonly rejected: number
	/** Calls still in flight when the run ended. */
	readonly unfinished: number
	readonly requests: number
	/** Requests beyond the first of their call. */
	readonly retries: number
	/** The share of calls that succeeded in time, 0 to 1; 0 without calls. Unfinished calls count as not good. */
	readonly goodShare: number
	/** The latencies of successful calls, and of failed calls. */
	readonly latency: LatencySummary
	readonly failureLatency: LatencySummary
	/** The recovery of its own calls from the last fault of any service. Null if no fault was scheduled, or the last one had not ended. */
	readonly recovery: Recovery | null
	/** The counts of each request class, by name, if the client has any. */
	readonly classes?: Readonly<Record<string, ClassResult>>
}

/** Counts of one request class of a client. */
export interface ClassResult
	extends Pick<ClientResult, 'calls' | 'good' | 'late' | 'failed' | 'unfinished' | 'latency'> {
	/** The share of calls that succeeded in time, 0 to 1. Unfinished calls count as not good. */
	readonly goodShare: number
}

/** Counts of one service: a value of `services` in a `SimulationResult`. */
export interface ServiceResult {
	/** Requests sent to it. */
	readonly requests: number
	/** Requests per call of the clients whose calls reach it, directly or through other services. */
	readonly amplification: number
	/** Requests that it sent beyond the first of each call to a service that it depends on. */
	readonly retries: number
	/** Requests processed successfully while the caller waited. */
	readonly useful: number
	/** Requests processed unnecessarily: the caller had stopped waiting, or got an error. */
	readonly wasted: number
	/** Worker time spent on either, in milliseconds. */
	readonly usefulMs: number
	readonly wastedMs: number
	/** Rejected because the queue was full. */
	readonly rejected: number
	/** Rejected by the rate limit. */
	readonly rateLimited: number
	/** Lost because the service was down, or went down while they were queued. */
	readonly unreachable: number
	/** Dropped from the queue because they were too old, or their caller had stopped waiting. */
	readonly dropped: number
	/** The wasted requests that ended in an error, or were lost when the service went down. */
	readonly failed: number
	/** Busy workers as a share of all workers, over the whole run without its warm-up. */
	readonly utilization: number
	/** Queued requests: mean over time and maximum. `age` is the queue time of the requests that were processed. */
	readonly queue: { readonly mean: number; readonly max: number; readonly age: LatencySummary }
	/**
	 * Requests queued or being processed: mean over time, mean time spent, and number. By Little's law, mean =
	 * rate x meanMs, exactly in a run without warm-up.
	 */
	readonly inFlight: { readonly mean: number; readonly meanMs: number; readonly count: number }
	/** Requests per second that it can process; null if unknown. */
	readonly capacityPerSecond: number | null
	/**
	 * The same for the requests that reach it: a request is good if it was processed successfully while the
	 * caller waited, and the service is drained when the requests in its queue at the end of the fault have
	 * left it. Null also for an optimistic lock.
	 */
	readonly recovery: Recovery | null
	/** The instances in the order in which they were started, if the service has a load balancer. */
	readonly instances?: readonly InstanceResult[]
}

/** Counts of one instance behind a load balancer. */
export interface InstanceResult {
	/** Requests sent to it. */
	readonly requests: number
	/** Errors from 500 up, failed connections, and requests whose caller stopped waiting. */
	readonly failures: number
	/** How often the load balancer has taken it out. */
	readonly ejections: number
}

/**
 * `'recovered'`: from some time on to the end of the run, every window was good. `'not-recovered'`: at the
 * end of the run, calls still failed, or calls caught by the fault were still in flight. `'not-shown'`: the
 * run ended too soon to tell, or no call started after the fault.
 */
export type RecoveryStatus = 'recovered' | 'not-recovered' | 'not-shown'

/** Recovery from a fault. It ends with the run, or with the next fault. */
export interface Recovery {
	readonly status: RecoveryStatus
	/** When the fault ended. */
	readonly faultEndedAtMs: number
	/** Time from then until new calls succeed as before, and keep succeeding; null if that was not shown. */
	readonly healthyAfterMs: number | null
	/** Time from then until all calls that started before had ended; null if some had not. */
	readonly drainedAfterMs: number | null
	/** The later of the two; null unless recovered. */
	readonly recoveredAfterMs: number | null
	/** How long it lasted in this run; null unless recovered. A later relapse would not be known. */
	readonly heldForMs: number | null
	/** Calls, or requests to a service, that started after the fault. Of a run: the largest number of all clients and services. */
	readonly callsAfter: number
}

/** Recovery from the last fault, of all clients and services. */
export interface RunRecovery extends Recovery {
	/** The recovery from each fault, or from faults that overlap. The last one is the recovery of the run. */
	readonly faults: readonly Recovery[]
}

/** Counts per step of time. All lists have the same length. */
export interface Timeline {
	readonly stepMs: number
	readonly clients: Readonly<Record<string, ClientTimeline>>
	readonly services: Readonly<Record<string, ServiceTimeline>>
}

/** Calls of one client, per step. */
export interface ClientTimeline {
	readonly started: readonly number[]
	/** Calls that started in this step: how many succeeded in time so far, and how many failed or were late. */
	readonly startedGood: readonly number[]
	readonly startedBad: readonly number[]
	/** Calls that ended in this step. */
	readonly good: readonly number[]
	readonly bad: readonly number[]
}

/** Requests at one service, per step. */
export interface ServiceTimeline {
	readonly requests: readonly number[]
	/** Processed successfully while the caller waited. */
	readonly useful: readonly number[]
	/** Processed unnecessarily. */
	readonly wasted: readonly number[]
	/** Requests that were not processed, for any reason. */
	readonly rejected: readonly number[]
	/** Maximum queue length. */
	readonly queue: readonly number[]
}
