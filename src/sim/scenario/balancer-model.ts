/** How requests are distributed among the instances of a service, and how many instances there are. */

/** Decides which instance gets a request. */
export interface LoadBalancerModel {
	/**
	 * `'round-robin'`: in turn. `'least-requests'`: the instance with the fewest outstanding requests. `'two-choices'`: of two random
	 * instances the one with fewer. `'random'`: any. Default `'round-robin'`.
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
