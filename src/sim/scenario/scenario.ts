/** The input of a simulation: plain data that fits into a JSON file. Only policies and `until` may be functions. */
import type { Distribution } from '../kernel/distribution.ts'
import type { Arrivals } from './arrivals-model.ts'
import type { PolicyModel } from './layers.ts'

/** Services, the clients that call them, and the policies in between. Pass it to `simulate`, `replicate`, `compare` or `tune`. */
export interface Scenario {
	/** Shown in comparisons and charts. */
	readonly name?: string | undefined
	/** The same seed gives the same result, to the last bit. Default 1. */
	readonly seed?: number | string | undefined
	/** Length of the run in virtual milliseconds. Events at exactly that time are not processed. Required unless `until` ends the run. */
	readonly durationMs?: number | undefined
	/**
	 * Ends the run early: when nothing is left to do (`'idle'`), at the first step of the timeline at which all
	 * clients and services have recovered from the last fault (`'recovered'`), or when a function returns true,
	 * which is called once per step. A recovery has then lasted for a window, 5 s or longer; a run of the whole
	 * `durationMs` could show a relapse. Several runs cover the same time: `replicate`, `compare`, `tune` and
	 * studies ignore `'recovered'` and last for `durationMs`.
	 */
	readonly until?: 'idle' | 'recovered' | ((progress: SimulationProgress) => boolean) | undefined
	/**
	 * Cuts off the beginning, in which queues are still empty and caches of policies cold: calls and requests
	 * that start earlier are in no figure of the result, only in the timeline. Less than `durationMs`. Default
	 * 0.
	 */
	readonly warmUpMs?: number | undefined
	readonly services: Readonly<Record<string, ServiceModel>>
	readonly clients: Readonly<Record<string, ClientModel>>
	/** Layers as data, outermost first, or a function that creates the policy. */
	readonly policies?: Readonly<Record<string, PolicyModel>> | undefined
	/** Faults of several services at the same time. The faults of a single service are in its own `faults`. */
	readonly faults?: readonly SharedFault[] | undefined
	/** Maximum number of events and requests. A run that reaches it ends with `endedBy: 'event-limit'`. Default 50 million. */
	readonly maxEvents?: number | undefined
	/** Length of a timeline step. Default: at least 100 ms, and long enough for at most 240 steps. */
	readonly stepMs?: number | undefined
}

/** Counts of a run in progress, without its warm-up. */
export interface SimulationProgress {
	readonly nowMs: number
	readonly events: number
	/** Calls that clients started, and those that ended so far. */
	readonly calls: number
	readonly good: number
	readonly failed: number
	/** Requests sent to services. */
	readonly requests: number
}

/** A simulated dependency: a server, or a database row with optimistic locking. Use it as a value in `services` of a `Scenario`. */
export type ServiceModel = ServerModel | OptimisticLockModel

/**
 * Workers behind a queue: a value in `services` of a `Scenario`. A server finishes every request it has
 * started, even if the caller has stopped waiting.
 */
export interface ServerModel {
	readonly kind?: 'server' | undefined
	/** Requests processed concurrently. Default 1. Infinity for no limit. */
	readonly workers?: number | undefined
	/** Time that a worker needs for a request. */
	readonly serviceTimeMs: Distribution
	/** How much longer requests take that are processed concurrently. Default: not at all. */
	readonly scalability?: ScalabilityModel | undefined
	readonly queue?: QueueModel | undefined
	/** Network latency, drawn for each direction. Default 0. */
	readonly latencyMs?: Distribution | undefined
	/** Scheduled faults. */
	readonly faults?: readonly Fault[] | undefined
	/** Rejects excess requests with 429. */
	readonly rateLimit?: RateLimitModel | undefined
	/** Services that it calls, one after the other or in parallel, before its own work. The worker stays busy. */
	readonly dependsOn?: readonly DependencyModel[] | undefined
	/**
	 * True: its calls to other services ignore their signal. A call that timed out then holds its bulkhead slot
	 * until the other service responds. Default false: they end when their signal aborts.
	 */
	readonly ignoresSignal?: boolean | undefined
	/** Processes behind a load balancer, each with its own `workers`, `queue` and `rateLimit`. Default 1. */
	readonly instances?: number | undefined
	/** Default: round-robin. */
	readonly loadBalancer?: LoadBalancerModel | undefined
	/** Default: the number of instances does not change. */
	readonly autoscaling?: AutoscalingModel | undefined
}

/**
 * The Universal Scalability Law: a request that starts when n are in progress, itself included, takes
 * 1 + contention (n - 1) + coherency n (n - 1) times its service time.
 */
export interface ScalabilityModel {
	/** The share of the work that cannot be done concurrently, such as holding a lock. Default 0. */
	readonly contention?: number | undefined
	/** The cost of keeping data consistent between each two requests. With it, throughput has a maximum and then falls. Default 0. */
	readonly coherency?: number | undefined
}

/** The queue of a server. */
export interface QueueModel {
	/** Maximum length. Further requests are rejected with 503. Default: no limit. */
	readonly limit?: number | undefined
	/**
	 * `'lifo'` serves the newest request first, whose caller is more likely to be still waiting. Requests of a
	 * class with a higher priority come before all others. Default `'fifo'`.
	 */
	readonly order?: 'fifo' | 'lifo' | undefined
	/** Drops requests whose caller has stopped waiting, when a worker takes them. Default false. */
	readonly dropExpired?: boolean | undefined
	/** Drops requests that were queued for longer, when a worker takes them. Default: no limit. */
	readonly maxAgeMs?: number | undefined
}

/** A call from one service to another: an element of `dependsOn` of a `ServerModel`. */
export interface DependencyModel {
	readonly to: string
	/** The name of the policy around these calls. Default: none. */
	readonly policy?: string | undefined
	/** The share of requests that need it, 0 to 1. Default 1. */
	readonly share?: number | undefined
	/**
	 * Starts together with the dependency before it in the list. The request continues when all of them have
	 * ended, and fails with the first that fails. Default false.
	 */
	readonly parallel?: boolean | undefined
	/**
	 * Passes the deadline, the abort signal, the state of nested retries and the request class to the other
	 * service, as `yaoki/node` and headers do. Default false.
	 */
	readonly passContext?: boolean | undefined
}

/** A token bucket. Excess requests get a 429 immediately, without using a worker. */
export interface RateLimitModel {
	readonly perSecond: number
	/** Maximum burst after a pause. Default: `perSecond`, at least 1. */
	readonly burst?: number | undefined
	/** Sends Retry-After with the 429. Default true. */
	readonly retryAfter?: boolean | undefined
}

/**
 * A row with a version. A request reads the row and then writes it, which succeeds if the version is
 * unchanged: four messages in all. Only writes are counted as requests.
 */
export interface OptimisticLockModel {
	readonly kind: 'optimistic-lock'
	/** Latency of each of the four messages. Default 0. */
	readonly latencyMs?: Distribution | undefined
}

/** A kind of requests. Services pass it on to their dependencies with `passContext`. */
export interface RequestClassModel {
	/** The share of the calls, 0 to 1. The shares of all classes of a client add up to 1. */
	readonly share: number
	/** The service time of these requests, as a multiple of the service's own. Default 1. */
	readonly serviceTimeFactor?: number | undefined
	/** Workers take requests with a higher priority from the queue first, and do not interrupt what they process. Default 0. */
	readonly priority?: number | undefined
}

/** A group of callers of one service: a value in `clients` of a `Scenario`. */
export interface ClientModel {
	/** The name of the service. */
	readonly to: string
	readonly arrivals: Arrivals
	/** Kinds of requests by name; each call is of one of them, at random. Default: all requests are alike. */
	readonly classes?: Readonly<Record<string, RequestClassModel>> | undefined
	/** The name of the policy around the calls. Default: none. */
	readonly policy?: string | undefined
	/**
	 * Number of processes, each with its own policy, breaker and budget. Calls are assigned round-robin.
	 * Default 1; with `kind: 'closed'` the number of users.
	 */
	readonly instances?: number | undefined
	/** A call that succeeds after a longer time counts as late, not as good. Default: no limit. */
	readonly goodWithinMs?: number | undefined
	/** Deadline of each call. Default: none. */
	readonly deadlineMs?: number | undefined
	/**
	 * True: operations ignore their signal, like code that does not pass `signal` on. After a timeout they hold
	 * their bulkhead slot until the service responds. Default false: they end when their signal aborts.
	 */
	readonly ignoresSignal?: boolean | undefined
}

/** A fault from `fromMs` to `toMs`, such as an outage: an element of `faults` of a `ServerModel`. */
export type Fault =
	| Outage
	/**
	 * The service stands still and keeps its requests: a garbage collection, a failover, a stopped virtual
	 * machine. What it was processing ends later by the length of the pause. New requests are queued, up to the
	 * limit of the queue.
	 */
	| ({ readonly kind: 'pause' } & FaultPeriod)
	/** The service is down like in an outage with mode `'refuse'`, and slow after `toMs` until its caches are warm. */
	| Restart
	/** Requests take `factor` times as long. */
	| ({ readonly kind: 'slowdown'; readonly factor: number } & FaultPeriod)
	| Errors

/** A fault of several services at the same time. */
export type SharedFault = Fault & {
	/** The names of the services. */
	readonly services: readonly string[]
}

/** The service is down and loses its requests. */
interface Outage extends FaultPeriod {
	readonly kind: 'outage'
	/** `'refuse'` fails connections immediately, `'hang'` never responds. Default `'refuse'`. */
	readonly mode?: 'refuse' | 'hang' | undefined
	/** The share of new requests that are lost, at random, 0 to 1. Below 1 the service keeps the requests that it has. Default 1. */
	readonly share?: number | undefined
}

interface Restart extends FaultPeriod {
	readonly kind: 'restart'
	/**
	 * The time that a request takes is multiplied by this at `toMs`, when the caches are cold. The factor falls
	 * linearly to 1 over `warmUpMs`, and is read when the work on a request begins. Default 1.
	 */
	readonly coldFactor?: number | undefined
	/** The time from `toMs` until the caches are warm. It belongs to the recovery, not to the fault. Default 0. */
	readonly warmUpMs?: number | undefined
	/** True: instances restart one after the other, each in an equal part of the time from `fromMs` to `toMs`. Default false. */
	readonly isRolling?: boolean | undefined
	/**
	 * The load balancer sends nothing to an instance from this long before it goes down until it is up again.
	 * Default: it does not know of the restart.
	 */
	readonly drainMs?: number | undefined
}

/** Some responses are errors. */
interface Errors extends FaultPeriod {
	readonly kind: 'errors'
	/** The share of the responses, 0 to 1. */
	readonly rate: number
	/** Default 500. */
	readonly status?: number | undefined
	/** Only responses to requests of this class, see `classes` of a client. Default: all. */
	readonly class?: string | undefined
}

interface FaultPeriod {
	readonly fromMs: number
	readonly toMs: number
	/** The number of instances that are hit, if the service has `instances`. Default: all. */
	readonly instances?: number | undefined
}

/** Decides which instance gets a request. */
export interface LoadBalancerModel {
	/**
	 * `'round-robin'`: in turn. `'least-requests'`: the instance with the fewest outstanding requests.
	 * `'two-choices'`: of two random instances the one with fewer. `'random'`: any. Default `'round-robin'`.
	 */
	readonly strategy?: 'round-robin' | 'least-requests' | 'two-choices' | 'random' | undefined
	/** Stops sending to instances that fail. Default: requests are sent to failing instances too. */
	readonly ejection?: EjectionModel | undefined
}

/** Takes an instance out after failures in a row: errors from 500 up, failed connections, and requests whose caller gave up. */
export interface EjectionModel {
	/** Default 5. */
	readonly consecutiveFailures?: number | undefined
	/** How long it gets no requests; the second time twice as long, and so on. Default 30,000. */
	readonly ejectMs?: number | undefined
	/** The largest share of the instances that is out at the same time, 0 to 1. Default 0.5. */
	readonly maxEjectedShare?: number | undefined
}

/** Changes the number of instances with the share of workers that are busy. The service starts with its `instances`. */
export interface AutoscalingModel {
	/** The share of busy workers to aim for, 0 to 1. Default 0.7. */
	readonly targetUtilization?: number | undefined
	/** Default 1. */
	readonly minInstances?: number | undefined
	readonly maxInstances: number
	/** Time between two decisions, each about the utilization since the last. Default 15,000. */
	readonly everyMs?: number | undefined
	/** Time until a new instance accepts requests. Default 30,000. */
	readonly startMs?: number | undefined
	/** An instance is removed only after fewer were needed for this long. Default 300,000. */
	readonly scaleDownAfterMs?: number | undefined
}
