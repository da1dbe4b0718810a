/** The shape of a caveat, apart from the rules for them, which need the whole summary. */

/** A limit of what the events show. */
export interface Caveat {
	readonly code: CaveatCode
	/** A sentence for people. */
	readonly text: string
	/** What the log does not show, and the measurement that would. Undefined if no alternative comes from it. */
	readonly missing?: MissingMeasurement | undefined
}

/** What a log does not show, as parts of a sentence. */
export interface MissingMeasurement {
	/** What is not shown: `when the slowdown at 10:00:15 ended`. */
	readonly what: string
	/** What would show it: `a log that includes the recovery`. */
	readonly shownBy: string
}

export type CaveatCode =
	/** Overload followed a fault and looks the same, so the end of the fault is not visible. There are alternatives. */
	| 'hidden-end'
	/** There were no attempts when a fault started or ended. */
	| 'unseen-edge'
	/** A fault was not over when the events end. */
	| 'ongoing-fault'
	/** For attempts that timed out, only the timeout is known. */
	| 'timeouts'
	/** The number of workers was estimated. There are alternatives. */
	| 'estimated-workers'
	/** The events show no limit of the service. */
	| 'unknown-workers'
	/** Calls were more frequent during faults, as if callers retried themselves. There is an alternative without the excess. */
	| 'unseparated-demand'
	/** Retries of another policy are read as a part of attempts. */
	| 'nested-retries'
	/** Calls that did not end in the events. */
	| 'unfinished-calls'
	/** Events without a call id. */
	| 'missing-call-ids'
	/** The scenario does not reproduce the recorded attempts: a replay decides nothing. */
	| 'not-reproduced'
	/** Failures outside of faults are left out. */
	| 'background-errors'
	/** The event log dropped events. */
	| 'dropped-events'
	/** Events far apart from most others were left out. */
	| 'outliers'
