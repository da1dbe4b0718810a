/** What is simulated, as plain data that fits into a JSON file; only policies and `until` may be functions. */
import type { Policy } from '../../core/engine/policy.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { Distribution } from '../kernel/distribution.ts'
import type { PolicyLayer } from './layers.ts'

/**
 * A world to try policies in: services, the clients that call them, and the policies in between.
 *
 * @example
 * const scenario: Scenario = {
 *   duration: 60_000,
 *   services: { api: { workers: 10, serviceTime: 20, faults: [{ kind: 'outage', fromMs: 10_000, toMs: 20_000 }] } },
 *   clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 300 }, policy: 'careful' } },
 *   policies: { careful: [{ retry: { maxRetries: 3 } }, { timeout: 1_000 }] },
 * }
 */
export interface Scenario {
	/** What it is called in comparisons and pictures. */
	readonly name?: string | undefined
	/** The same seed gives the same run, to the last bit. Default 1. */
	readonly seed?: number | string | undefined
	/** Ends the run at this virtual time, in milliseconds; what would come just then does not happen any more. Without it `until` must say when it ends. */
	readonly duration?: number | undefined
	/**
	 * Ends the run earlier: when nothing is left to do (`'idle'`), when all is well again after the last fault (`'recovered'`),
	 * or when a function says so that is asked once a step of the timeline.
	 */
	readonly until?: 'idle' | 'recovered' | ((progress: SimulationProgress) => boolean) | undefined
	/** By name. */
	readonly services: Readonly<Record<string, ServiceModel>>
	/** By name. */
	readonly clients: Readonly<Record<string, ClientModel>>
	/** By name: layers as data, outermost first, or a function that makes the policy that production makes. */
	readonly policies?: Readonly<Record<string, PolicyModel>> | undefined
	/**
	 * Ends a run that has come to so many events and requests, and says so in its result: `endedBy: 'event-limit'`. Default 50
	 * million.
	 */
	readonly maxEvents?: number | undefined
	/** How long a step of the timeline is. Default: so that a run has at most 240, and at least 100 ms. */
	readonly stepMs?: number | undefined
}

/** What is known while a run goes on. */
export interface SimulationProgress {
	readonly nowMs: number
	readonly events: number
	/** Calls that clients have begun, and how they ended so far. */
	readonly calls: number
	readonly good: number
	readonly failed: number
	/** Requests that services have been sent. */
	readonly requests: number
}

/** Layers as data, or a function that makes a policy afresh: for each run, and for each of a client's instances. */
export type PolicyModel = readonly PolicyLayer[] | ((world: PolicyFactoryContext) => Policy)

/** What a function that makes a policy is given. */
export interface PolicyFactoryContext {
	/** Virtual time and chance. A policy that was given no runtime gets it by itself; a budget must be told. */
	readonly runtime: Runtime
	/**
	 * Made once in a run and the same for all instances: a budget or a breaker that many clients share.
	 *
	 * @example
	 * ({ once, runtime }) => retry({ budget: once('budget', () => retryBudget({ runtime })) })
	 */
	once<T>(name: string, make: () => T): T
}

/** A service, or a row that is written with optimistic concurrency. */
export type ServiceModel = ServerModel | OptimisticLockModel

/** Workers with a queue before them. It finishes what it has begun, whether anybody still waits for it or not. */
export interface ServerModel {
	readonly kind?: 'server' | undefined
	/** How many requests it works on at once. Default 1. Left out of a limit by Infinity. */
	readonly workers?: number | undefined
	/** How long a worker takes for a request. */
	readonly serviceTime: Distribution
	readonly queue?: QueueModel | undefined
	/** The way there, and the way back: drawn for each. Default 0. */
	readonly latency?: Distribution | undefined
	/** What goes wrong, and when. */
	readonly faults?: readonly Fault[] | undefined
	/** Answers 429 to whoever asks too often. */
	readonly rateLimit?: RateLimitModel | undefined
	/** Services that it asks, one after the other, before it does its own work. Its worker waits for them. */
	readonly dependsOn?: readonly DependencyModel[] | undefined
}

/** Where requests wait for a worker. */
export interface QueueModel {
	/** Whoever comes when so many are waiting is refused with a 503. Default: no limit. */
	readonly limit?: number | undefined
	/** `'lifo'` serves the newest first, which is likelier to be awaited still. Default `'fifo'`. */
	readonly order?: 'fifo' | 'lifo' | undefined
	/** Throws away, when their turn comes, requests that nobody waits for any more. Default false. */
	readonly dropExpired?: boolean | undefined
	/** Throws away, when their turn comes, requests that have waited longer. Default: none for that. */
	readonly maxAgeMs?: number | undefined
}

/** A service that is asked by another. */
export interface DependencyModel {
	readonly to: string
	/** The name of the policy that these calls go through. Default: none. */
	readonly policy?: string | undefined
	/** The share of requests that need it, 0 to 1. Default 1. */
	readonly share?: number | undefined
	/**
	 * Do the two services tell each other what they know of a call: its deadline, its abort, who retries? As `yaoki/node` and
	 * headers do. Default false, as when nobody has seen to it.
	 */
	readonly passContext?: boolean | undefined
}

/** At most so many requests are let in; the others get a 429 at once, which costs no worker. */
export interface RateLimitModel {
	readonly perSecond: number
	/** How many may come at once after a pause. Default: `perSecond`, and at least 1. */
	readonly burst?: number | undefined
	/** Does the 429 say when there is room again? Default true. */
	readonly retryAfter?: boolean | undefined
}

/** What goes wrong from `fromMs` to `toMs`. */
export type Fault =
	/** Nobody answers. What it was working on is lost. `'refuse'` says so at once, `'hang'` never answers. Default `'refuse'`. */
	| ({ readonly kind: 'outage'; readonly mode?: 'refuse' | 'hang' | undefined } & Span)
	/** Requests that a worker begins take `factor` times as long. */
	| ({ readonly kind: 'slowdown'; readonly factor: number } & Span)
	/** A share of the answers, 0 to 1, are failures with this status. Default 500. */
	| ({ readonly kind: 'errors'; readonly rate: number; readonly status?: number | undefined } & Span)

interface Span {
	readonly fromMs: number
	readonly toMs: number
}

/**
 * A row with a version. A request reads it and then writes it, which succeeds if nobody has written in between: four messages
 * in all. The requests that are counted are the writes.
 */
export interface OptimisticLockModel {
	readonly kind: 'optimistic-lock'
	/** Of each of the four messages. Default 0. */
	readonly latency?: Distribution | undefined
}

/** Who calls a service. */
export interface ClientModel {
	/** The name of the service. */
	readonly to: string
	readonly arrivals: Arrivals
	/** The name of the policy that the calls go through. Default: none. */
	readonly policy?: string | undefined
	/**
	 * How many processes these clients are: each has a policy of its own, with its own breaker and budget. Calls go to them in
	 * turn. Default 1, so that all share one; with `kind: 'closed'` as many as there are users.
	 */
	readonly instances?: number | undefined
	/** An answer that took longer is late and counts as no good. Default: no answer is late. */
	readonly goodWithinMs?: number | undefined
	/** Each call gets a deadline so far away. Default: none. */
	readonly deadlineMs?: number | undefined
}

/** When calls begin. */
export type Arrivals =
	/** By chance, at a mean rate, whatever becomes of the calls before. */
	| ({ readonly kind: 'poisson'; readonly perSecond: number } & Window)
	/** At equal distances. */
	| ({ readonly kind: 'constant'; readonly perSecond: number } & Window)
	/** At these times, in order. */
	| { readonly kind: 'trace'; readonly atMs: readonly number[] }
	/** So many users, each of whom waits for an answer, thinks, and calls again. */
	| {
			readonly kind: 'closed'
			readonly users: number
			/** Between an answer and the next call. Default 0. */
			readonly think?: Distribution | undefined
			/** Users begin evenly over so long. Default 0: all at once. */
			readonly startWithinMs?: number | undefined
			/** How many calls each makes. Default: no limit. */
			readonly callsEach?: number | undefined
	  }

interface Window {
	/** Default 0. */
	readonly fromMs?: number | undefined
	/** Default: the end. */
	readonly toMs?: number | undefined
}
