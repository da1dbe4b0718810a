/** The times in which at least one fault is active. */
export interface FaultPeriod {
	readonly fromMs: number
	readonly toMs: number
}

/** Returns the periods of all faults in order. Faults that overlap, or follow each other without a gap, are one period. */
export function faultPeriods(faults: readonly FaultPeriod[]): readonly FaultPeriod[] {
	const periods: { fromMs: number; toMs: number }[] = []
	for (const { fromMs, toMs } of faults.toSorted((a, b) => a.fromMs - b.fromMs)) {
		const last = periods.at(-1)
		if (last && fromMs <= last.toMs) last.toMs = Math.max(last.toMs, toMs)
		else periods.push({ fromMs, toMs })
	}
	return periods
}
