/**
 * Candidates for what happened to the service during a group of detected faults: the detected faults as they
 * are, or the detected failures with no slow period, one in which it was slow, or one in which it hung. The
 * slow period may end at any time before the symptoms do.
 */
import type { DetectedFault, SymptomFault } from '../detect/detect-faults.ts'
import { at } from '../log/numbers.ts'
import type { Period } from './queue-model.ts'
import { KIND, type RecordedAttempts } from './recorded.ts'

export interface Candidate {
	/** What the service did, besides the detected failures. */
	readonly kind: 'as detected' | 'failures only' | 'hang' | 'slowdown'
	readonly fromMs: number
	readonly toMs: number
	readonly factor: number
	/** The end of the last period with errors. */
	readonly errorsToMs: number
}

/** Each candidate is this many times as long as the next shorter one. */
const END_RATIO = 2

const MAX_STARTS = 3

/** The maximum number of ends that are taken from bursts of responses. */
const MAX_BURSTS = 5

export class Candidates {
	/** When the slow period may have begun: a queue that was long at random before the fault is detected too. */
	readonly starts: readonly number[]
	/** When the last detected period with errors ended; undefined if there is none. */
	readonly errorsToMs: number | undefined
	readonly #ends: readonly number[]
	readonly #cluster: Cluster
	readonly #failures: readonly DetectedFault[]

	constructor(cluster: Cluster, recorded: RecordedAttempts, resolutionMs: number) {
		const slow = cluster.found.filter(mayBeOverload)
		const failures = cluster.found.filter((found) => !mayBeOverload(found))
		const errors = failures.filter(({ fault }) => fault.kind === 'errors')
		this.#cluster = cluster
		this.starts = slow.slice(0, MAX_STARTS).map(({ fault }) => fault.fromMs)
		this.errorsToMs = errors.at(-1)?.fault.toMs
		// Timeouts hide a part of the errors, so the rate is that among attempts with an outcome.
		this.#failures = failures.map(({ fault, failedShare, symptom }) =>
			fault.kind === 'errors' && symptom === 'failures' ? { ...fault, rate: failedShare } : fault,
		)
		const ends = [...cluster.found.map(({ fault }) => fault.toMs), ...findBursts(cluster, recorded)]
		for (const fromMs of this.starts)
			for (let span = cluster.toMs - fromMs; span > resolutionMs / 4; span /= END_RATIO)
				ends.push(fromMs + span)
		this.#ends = ends.filter((end) => end <= cluster.toMs).sort((a, b) => a - b)
	}

	endsAfter(ms: number): readonly number[] {
		return this.#ends.filter((end) => end > ms)
	}

	create(kind: Candidate['kind'], period: Period, factor = 1): Candidate {
		return { kind, factor, ...period, errorsToMs: this.errorsToMs ?? 0 }
	}

	faultsOf({ kind, fromMs, toMs, factor, errorsToMs }: Candidate): readonly DetectedFault[] {
		if (kind === 'as detected') return this.#cluster.found.map(({ fault }) => fault)
		const failures = this.#failures.map((fault) =>
			fault.kind === 'errors' && fault.toMs === this.errorsToMs ? { ...fault, toMs: errorsToMs } : fault,
		)
		if (kind === 'failures only') return failures
		if (kind === 'hang') return [...failures, { kind: 'outage', mode: 'hang', fromMs, toMs }]
		return [...failures, { kind: 'slowdown', factor, fromMs, toMs }]
	}

	endOf(candidate: Candidate): number {
		return this.faultsOf(candidate).reduce((max, { toMs }) => Math.max(max, toMs), this.#cluster.fromMs)
	}
}

/** Returns the times at which responses came again after a time without any: an outage may have ended there, whatever came after. */
function findBursts({ fromMs, toMs }: Cluster, recorded: RecordedAttempts): readonly number[] {
	const { startMs, kind, binMs } = recorded
	const bursts: { atMs: number; responses: number; lastMs: number }[] = []
	let quietSinceMs = fromMs
	for (
		let position = recorded.positionAt(fromMs);
		at(startMs, position) < toMs && position < recorded.length;
		position++
	) {
		const now = at(startMs, position)
		if (at(kind, position) >= KIND.failed) continue
		const last = bursts.at(-1)
		if (now - quietSinceMs > binMs) bursts.push({ atMs: now, responses: 1, lastMs: now })
		else if (last) last.responses++
		quietSinceMs = now
	}
	bursts.sort((a, b) => b.responses - a.responses || a.atMs - b.atMs)
	return bursts.slice(0, MAX_BURSTS).map(({ atMs }) => atMs)
}

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
				fromMs: last.fromMs,
				toMs: Math.max(last.toMs, toMs),
				found: [...last.found, found],
			}
		else clusters.push({ fromMs, toMs, found: [found] })
	}
	return clusters
}

/** Returns true for a fault whose symptoms an overload has too: slow and missing responses. */
const mayBeOverload = ({ symptom }: SymptomFault): boolean => symptom === 'slow'
