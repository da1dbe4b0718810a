/** Attempts in bins of equal time, so that a query about a period only reads that period. */
import { invalidOption } from '../../core/options/schema.ts'
import type { Attempts } from './attempts.ts'
import type { SymptomCounts } from './change-points.ts'
import { at, increase } from './numbers.ts'

/** Returns whether an attempt shows a symptom; undefined if it does not count. */
export type Symptom = (index: number) => boolean | undefined

/** More bins would take seconds to process. */
const MAX_BINS = 5_000_000

export class AttemptBins {
	readonly attempts: Attempts
	readonly origin: number
	readonly widthMs: number
	readonly length: number
	/** `#indices` has the attempts of bin n from `#starts[n]` to `#starts[n + 1]`. */
	readonly #starts: Uint32Array
	readonly #indices: Uint32Array

	/** `from` and `to` are wall times. */
	constructor(attempts: Attempts, from: number, to: number, widthMs: number) {
		this.attempts = attempts
		this.origin = Math.floor(from / widthMs) * widthMs
		this.widthMs = widthMs
		this.length = Math.floor((to - this.origin) / widthMs) + 1
		if (this.length > MAX_BINS) throwTooManyBins(widthMs, to - from)
		const starts = new Uint32Array(this.length + 1)
		const bins = new Uint32Array(attempts.length)
		for (let index = 0; index < attempts.length; index++) {
			const bin = this.#binAt(attempts.observedAt(index))
			bins[index] = bin
			increase(starts, bin + 1)
		}
		for (let bin = 0; bin < this.length; bin++) increase(starts, bin + 1, at(starts, bin))
		const next = starts.slice()
		this.#starts = starts
		this.#indices = new Uint32Array(attempts.length)
		for (const [index, bin] of bins.entries()) {
			this.#indices[at(next, bin)] = index
			increase(next, bin)
		}
	}

	#binAt(time: number): number {
		return Math.min(this.length - 1, Math.max(0, Math.floor((time - this.origin) / this.widthMs)))
	}

	/** Returns the attempts in the bins from `from` to before `to`. */
	in(from: number, to: number): Uint32Array {
		return this.#indices.subarray(at(this.#starts, from), at(this.#starts, to))
	}

	/** Counts, per bin, the attempts that count and those of them with the symptom. */
	countSymptoms(hasSymptom: Symptom): SymptomCounts {
		const counts = { attempts: new Float64Array(this.length), symptoms: new Float64Array(this.length) }
		for (let bin = 0; bin < this.length; bin++)
			for (const index of this.in(bin, bin + 1)) {
				const hasIt = hasSymptom(index)
				if (hasIt === undefined) continue
				increase(counts.attempts, bin)
				if (hasIt) increase(counts.symptoms, bin)
			}
		return counts
	}
}

function throwTooManyBins(widthMs: number, spanMs: number): never {
	const hours = Math.round(spanMs / 3_600_000)
	invalidOption(
		'resolutionMs',
		widthMs,
		`at least ${Math.ceil(spanMs / MAX_BINS)}, because the events cover ${hours} hours`,
	)
}
