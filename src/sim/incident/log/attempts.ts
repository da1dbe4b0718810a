/** The attempts that reached the service, as columns, and in bins of equal time, so that a query about a period only reads that period. */
import { invalidOption } from '../../../core/options/schema.ts'
import { OUTCOME, outcomeOf, statusOf } from './attempt-outcome.ts'
import { at, increase, indicesBy } from './numbers.ts'

export class Attempts {
	length = 0
	/** Wall times. */
	readonly startedAt: Float64Array
	readonly endedAt: Float64Array
	/** One of OUTCOME: responded, failed or timed out. */
	readonly outcome: Uint8Array
	readonly status: Uint16Array
	/** 1 if the start is known, and with it the duration. */
	readonly hasDuration: Uint8Array

	constructor(capacity: number) {
		this.startedAt = new Float64Array(capacity)
		this.endedAt = new Float64Array(capacity)
		this.outcome = new Uint8Array(capacity)
		this.status = new Uint16Array(capacity)
		this.hasDuration = new Uint8Array(capacity)
	}

	/** Adds an attempt, unless no request was sent or its outcome is unknown. `startedAt` is NaN if unknown. */
	add(startedAt: number, endedAt: number, code: number): void {
		const outcome = outcomeOf(code)
		if (outcome > OUTCOME.timedOut) return
		const index = this.length++
		const isKnown = startedAt <= endedAt
		this.startedAt[index] = isKnown ? startedAt : endedAt
		this.endedAt[index] = endedAt
		this.outcome[index] = outcome
		this.status[index] = outcome === OUTCOME.failed ? statusOf(code) : 0
		this.hasDuration[index] = isKnown ? 1 : 0
	}

	/** Returns the duration; for a timeout, how long the caller waited. */
	durationMs(index: number): number {
		return at(this.endedAt, index) - at(this.startedAt, index)
	}

	/** Returns the time at which the attempt shows the state of the service: a failure when it ended, others when they started. */
	observedAt(index: number): number {
		return at(this.outcome[index] === OUTCOME.failed ? this.endedAt : this.startedAt, index)
	}

	isTimed(index: number): boolean {
		return this.outcome[index] === OUTCOME.responded && this.hasDuration[index] === 1
	}

	/** Returns all indices by start, with ties in an order that does not depend on the order of lines. */
	byStart(): Uint32Array {
		return indicesBy(this.length, [this.startedAt, this.endedAt, this.outcome, this.status])
	}

	count(outcome: number): number {
		return this.outcome.subarray(0, this.length).reduce((sum, one) => sum + (one === outcome ? 1 : 0), 0)
	}
}

export interface SymptomCounts {
	readonly attempts: Float64Array
	readonly symptoms: Float64Array
}

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

	in(from: number, to: number): Uint32Array {
		return this.#indices.subarray(at(this.#starts, from), at(this.#starts, to))
	}

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
