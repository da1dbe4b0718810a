/** The attempts that reached the service, as columns: when each started and ended, and its outcome. */
import { OUTCOME, outcomeOf, statusOf } from './attempt-outcome.ts'
import { at, indicesBy } from './numbers.ts'

export class Attempts {
	length = 0
	/** Wall times. */
	readonly startedAt: Float64Array
	readonly endedAt: Float64Array
	/** One of OUTCOME: responded, failed or timed out. */
	readonly outcome: Uint8Array
	/** The status of a failure, or 0. */
	readonly status: Uint16Array
	/** 1 if the start is known, and with it the duration. */
	readonly hasDuration: Uint8Array
	/** 1 if the load on the service explains why the attempt was slow or timed out. */
	readonly isExplained: Uint8Array

	constructor(capacity: number) {
		this.startedAt = new Float64Array(capacity)
		this.endedAt = new Float64Array(capacity)
		this.outcome = new Uint8Array(capacity)
		this.status = new Uint16Array(capacity)
		this.hasDuration = new Uint8Array(capacity)
		this.isExplained = new Uint8Array(capacity)
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

	/** Returns true for a response with a known duration. */
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
