/** What goes wrong with a service, and when: plain data, by `kind`. */

/** A fault from `fromMs` to `toMs`, such as an outage: an element of `faults` of a `ServerModel`. */
export type Fault =
	| Outage
	/**
	 * The service stands still and keeps its requests: a garbage collection, a failover, a stopped virtual machine. What it was processing
	 * ends later by the length of the pause. New requests are queued, up to the limit of the queue.
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
	 * The time that a request takes is multiplied by this at `toMs`, when the caches are cold. The factor falls linearly to 1 over
	 * `warmUpMs`, and is read when the work on a request begins. Default 1.
	 */
	readonly coldFactor?: number | undefined
	/** The time from `toMs` until the caches are warm. It belongs to the recovery, not to the fault. Default 0. */
	readonly warmUpMs?: number | undefined
	/** True: instances restart one after the other, each in an equal part of the time from `fromMs` to `toMs`. Default false. */
	readonly isRolling?: boolean | undefined
	/**
	 * The load balancer sends nothing to an instance from this long before it goes down until it is up again. Default: it does not
	 * know of the restart.
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
