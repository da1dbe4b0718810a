/**
 * Groups detected faults that touch each other. Overload begins with a fault and outlasts it, so what was detected as several faults
 * may be one fault and its consequences. Each group is explained as a whole.
 */
import type { SymptomFault } from '../detect/detect-faults.ts'
import type { Period } from './queue-model.ts'

export interface Cluster extends Period {
	readonly found: readonly SymptomFault[]
}

/** Faults this close, in bins of the search for faults, belong together. */
const MAX_GAP = 2

export function groupFaults(faults: readonly SymptomFault[], resolutionMs: number): readonly Cluster[] {
	const clusters: Cluster[] = []
	for (const found of [...faults].sort((a, b) => a.fault.fromMs - b.fault.fromMs)) {
		const { fromMs, toMs } = found.fault
		const last = clusters.at(-1)
		if (last && fromMs <= last.toMs + MAX_GAP * resolutionMs)
			clusters[clusters.length - 1] = {
				...{ fromMs: last.fromMs, toMs: Math.max(last.toMs, toMs) },
				found: [...last.found, found],
			}
		else clusters.push({ fromMs, toMs, found: [found] })
	}
	return clusters
}

/** Returns true for a fault whose symptoms an overload has too: slow and missing responses. */
export const mayBeOverload = ({ symptom }: SymptomFault): boolean => symptom === 'slow'
