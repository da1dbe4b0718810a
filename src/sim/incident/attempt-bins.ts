/** Attempts in bins of time of equal length, so that what is asked of a span costs no more than the span. */
import { invalidOption } from '../../core/options/schema.ts'
import type { Attempts } from './attempts.ts'
import type { SymptomCounts } from './change-points.ts'
import { at, increase } from './growable-array.ts'

/** Does an attempt show a symptom? Undefined says that it tells nothing of it. */
export type Symptom = (index: number) => boolean | undefined

/** More than so many would take seconds, and nobody looks at a year by the second. */
const MOST_BINS = 5_000_000

export class AttemptBins {
	readonly attempts: Attempts
	/** The wall time of time 0. */
	readonly origin: number
	readonly widthMs: number
	readonly length: number
	/** The attempts of each bin stand one after the other in `#indices`, from its start to that of the next. */
	readonly #starts: Uint32Array
	readonly #indices: Uint32Array

	/** From and to are wall times. */
	constructor(attempts: Attempts, from: number, to: number, widthMs: number) {
		this.attempts = attempts
		this.origin = Math.floor(from / widthMs) * widthMs
		this.widthMs = widthMs
		this.length = Math.floor((to - this.origin) / widthMs) + 1
		if (this.length > MOST_BINS) refuseMost(widthMs, to - from)
		const starts = new Uint32Array(this.length + 1)
		const bins = new Uint32Array(attempts.length)
		for (let index = 0; index < attempts.length; index++) {
			const bin = this.#of(attempts.seenAt(index))
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

	#of(time: number): number {
		return Math.min(this.length - 1, Math.max(0, Math.floor((time - this.origin) / this.widthMs)))
	}

	/** The attempts of the bins from one to before another. */
	in(from: number, to: number): Uint32Array {
		return this.#indices.subarray(at(this.#starts, from), at(this.#starts, to))
	}

	/** In each bin, the attempts that count and those of them that show the symptom. */
	shares(hasSymptom: Symptom): SymptomCounts {
		const shares = { attempts: new Float64Array(this.length), symptoms: new Float64Array(this.length) }
		for (let bin = 0; bin < this.length; bin++)
			for (const index of this.in(bin, bin + 1)) {
				const isShown = hasSymptom(index)
				if (isShown === undefined) continue
				increase(shares.attempts, bin)
				if (isShown) increase(shares.symptoms, bin)
			}
		return shares
	}
}

function refuseMost(widthMs: number, spanMs: number): never {
	const hours = Math.round(spanMs / 3_600_000)
	invalidOption(
		'resolutionMs',
		widthMs,
		`${Math.ceil(spanMs / MOST_BINS)} or more, for the events are of ${hours} hours`,
	)
}
