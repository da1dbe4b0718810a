/**
 * What a response says about the quota of its caller, whichever headers it says it by. While it is being read, a part that
 * is absent is undefined and one that is malformed is NaN; a report with a NaN in it is none, so that each reader
 * need not check for itself, and a server that sends one odd header is not half believed.
 */

export interface QuotaReport {
	/** How many more requests the server will take before the reset. A whole number. */
	readonly remaining: number
	/** How long after this response the quota is full again. */
	readonly resetMs: number
	/** The full quota of a window. */
	readonly limit?: number | undefined
	/** How long a window is. */
	readonly windowMs?: number | undefined
}

/** The parts as a report, or undefined when one that is needed is absent or any is malformed. */
export function validReport(
	parts: {
		readonly [part in keyof QuotaReport]: number | undefined
	},
): QuotaReport | undefined {
	const { remaining, resetMs, limit, windowMs } = parts
	if (remaining === undefined || resetMs === undefined) return undefined
	return Number.isNaN(remaining + resetMs + (limit ?? 0) + (windowMs ?? 0))
		? undefined
		: { remaining, resetMs, limit, windowMs }
}
