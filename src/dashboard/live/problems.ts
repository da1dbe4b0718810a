/**
 * What is wrong with one source. A problem begins at a higher threshold than the one at which it ends, so that a page
 * that reads it every second does not flicker. A circuit has thresholds of its own, and needs no others.
 */
import type { Problem, Severity } from '../contract.ts'
import type { ObservedCircuit } from './circuits.ts'
import { BUCKET_MS, BUCKETS, type CountKind, LIMIT_REASONS, type Rates } from './rates.ts'

/** The ten to twenty seconds that rates in problems are about. */
const RECENT = 2

/** Fewer failures or rejections are no problem. */
const MIN_COUNT = 5

/** The failures of a minute decide about a source with few of them: calls that are seconds apart may all fail. The last step is not complete. */
const FEW = { steps: 7, count: 15 }

/** The share of failed calls at which a problem begins, and below which it ends. */
const FAILING = { begin: 0.1, end: 0.05 }

/** The share from which on most callers are affected. */
const SEVERE = { begin: 0.5, end: 0.3 }

const MIN_REJECTED_PER_SECOND = 0.5

/** Probes shorter than this are part of the open time. */
const HALF_OPEN_MS = 3_000

export class Problems {
	readonly #source: string
	readonly #rates: Rates
	/** The problems that have begun. */
	readonly #begun = new Set<string>()
	#circuitProblemAt = Number.NEGATIVE_INFINITY

	constructor(source: string, rates: Rates) {
		this.#source = source
		this.#rates = rates
	}

	/** `circuits` are the most urgent ones. */
	list(circuits: readonly ObservedCircuit[], now: number, lastError: string | null): Problem[] {
		const problems = circuits.flatMap((circuit) => circuitProblem(circuit, now))
		if (problems.length > 0) this.#circuitProblemAt = now
		const steps = this.#rates.sum(now, 'unhealthy', FEW.steps) < FEW.count ? FEW.steps : RECENT
		const failing = this.#failing(now, steps, lastError)
		// After a circuit has closed, the failures that opened it are still among the recent ones.
		const isExplained = now - this.#circuitProblemAt < steps * BUCKET_MS
		return [...problems, ...(isExplained ? [] : failing), ...this.#rejected(now)]
	}

	#failing(now: number, steps: number, lastError: string | null): Problem[] {
		const rates = this.#rates
		const unhealthy = rates.sum(now, 'unhealthy', steps)
		const share = unhealthy / (unhealthy + rates.sum(now, 'success', steps) || 1)
		if (!this.#isProblem('failing', share, FAILING, unhealthy >= MIN_COUNT)) {
			this.#begun.delete('severe')
			return []
		}
		const isSevere = this.#isProblem('severe', share, SEVERE)
		return [
			{
				kind: 'calls-failing',
				severity: isSevere ? 'error' : 'warning',
				source: this.#source,
				sinceMs: this.#sinceMs('unhealthy', now, steps),
				failuresPerSecond: rates.perSecond(now, 'unhealthy', steps),
				lastError,
			},
		]
	}

	#rejected(now: number): Problem[] {
		return LIMIT_REASONS.flatMap((reason): Problem[] => {
			const rejectedPerSecond = this.#rates.perSecond(now, reason, RECENT)
			const isMany = this.#rates.sum(now, reason, RECENT) >= MIN_COUNT
			// It ends when nothing is rejected anymore.
			const limits = { begin: MIN_REJECTED_PER_SECOND, end: Number.MIN_VALUE }
			if (!this.#isProblem(reason, rejectedPerSecond, limits, isMany)) return []
			const sinceMs = this.#sinceMs(reason, now, RECENT)
			return [
				{
					kind: 'calls-rejected',
					severity: 'warning',
					source: this.#source,
					sinceMs,
					reason,
					rejectedPerSecond,
				},
			]
		})
	}

	#isProblem(name: string, value: number, { begin, end }: typeof FAILING, mayBegin = true): boolean {
		const is = this.#begun.has(name) ? value >= end : mayBegin && value >= begin
		if (is) this.#begun.add(name)
		else this.#begun.delete(name)
		return is
	}

	/** The time since the counts began, without a pause in which the problem would have ended. */
	#sinceMs(kind: CountKind, now: number, steps: number): number | null {
		// From the counts: a problem begins before a viewer looks.
		const series = this.#rates.series(now, kind)
		let first = series.findLastIndex((count) => count > 0)
		for (let index = first; index >= 0 && first - index <= steps; index--)
			if ((series[index] ?? 0) > 0) first = index
		if (first < steps) return null
		return now - Math.floor(now / BUCKET_MS) * BUCKET_MS + (BUCKETS - 1 - first) * BUCKET_MS
	}
}

function circuitProblem({ row, enteredAt }: ObservedCircuit, now: number): Problem[] {
	const { state, isShadow, source, name, key, sinceMs, rejectedPerSecond, lastError, probeInMs } = row
	if (state === 'closed' || isShadow) return []
	// Each probe of a service that is down makes its circuit half-open for a moment.
	const isBrief = enteredAt !== undefined && now - enteredAt < HALF_OPEN_MS
	const shown = state === 'half-open' && isBrief ? 'open' : state
	const severity: Severity = shown === 'open' ? 'error' : 'warning'
	const facts = { severity, source, sinceMs, circuit: name, key, rejectedPerSecond, lastError, probeInMs }
	return [{ kind: `circuit-${shown}`, ...facts }]
}

const RANKS: Readonly<Record<Severity, number>> = { error: 0, warning: 1 }

/** Sorts problems by severity, and the ones that have lasted longest first. */
export const byProblemSeverity = (a: Problem, b: Problem): number =>
	RANKS[a.severity] - RANKS[b.severity] || compareSince(a.sinceMs, b.sinceMs)

/** Null: it began before this process looked. Not a difference of infinities, which is NaN. */
const compareSince = (a: number | null, b: number | null): number =>
	a === b ? 0 : a === null ? -1 : b === null ? 1 : b - a
