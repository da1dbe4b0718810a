/** The events of a policy as columns of numbers: a million events take 40 MB, and many times that as objects. */
import type { YaokiEvent } from '../../../core/events/events.ts'
import { codeForError, codeForFailure, codeForRetry, encodeOutcome, OUTCOME } from './attempt-outcome.ts'
import { at, indicesBy, sorted } from './numbers.ts'

/**
 * `time` is the wall time at the end of an attempt. `ms` is the duration of the call, or the delay before the
 * next attempt. `attempt` counts from 1. `call` identifies the call; it is negative if the event has no call
 * id.
 */
export type EachEvent = (time: number, ms: number, attempt: number, code: number, call: number) => void

export class EventColumns {
	readonly time: number[] = []
	readonly ms: number[] = []
	readonly attempt: number[] = []
	readonly code: number[] = []
	readonly call: number[] = []

	get length(): number {
		return this.time.length
	}

	add(time: number, ms: number, attempt: number, code: number, call: number): void {
		this.time.push(time)
		this.ms.push(ms)
		this.attempt.push(attempt)
		this.code.push(code)
		this.call.push(call)
	}

	byCall(): Uint32Array {
		return indicesBy(this.length, [this.call, this.attempt, this.time])
	}
}

const SUCCESS = encodeOutcome(OUTCOME.responded, false)
const REJECTED = encodeOutcome(OUTCOME.rejected, true)

export class PolicyEvents {
	/** Calls that ended inside a retry. */
	readonly endings: EventColumns = new EventColumns()
	readonly retries: EventColumns = new EventColumns()
	/** Calls or attempts that a breaker counted. */
	readonly counted: EventColumns = new EventColumns()
	readonly rejected: EventColumns = new EventColumns()
	/** Calls or attempts that a breaker in shadow mode would have rejected. */
	readonly shadowed: EventColumns = new EventColumns()

	/** `line` identifies an event without a call id: it belongs to no other. */
	add(event: YaokiEvent, line = 0): void {
		const call = event.callId === undefined ? -1 - line : hashCallId(event.callId)
		const add = (columns: EventColumns, ms: number, attempt: number, code: number) =>
			columns.add(event.timestamp, ms, attempt, code, call)
		switch (event.type) {
			case 'retry_success':
				add(this.endings, event.durationMs, event.attempts, SUCCESS)
				break
			case 'retry_failure':
				add(this.endings, event.durationMs, event.attempts, codeForFailure(event))
				break
			case 'retry_attempt':
				add(this.retries, event.delayMs, event.attempt, codeForRetry(event))
				break
			case 'success':
				add(this.counted, event.durationMs, 1, SUCCESS)
				break
			case 'failure':
				add(this.counted, event.durationMs, 1, codeForError(event, true))
				break
			case 'rejected':
				add(event.shadow ? this.shadowed : this.rejected, 0, 1, REJECTED)
				break
		}
	}

	get all(): readonly EventColumns[] {
		return [this.endings, this.retries, this.counted, this.rejected, this.shadowed]
	}
}

export type PipelineEvents = Map<string, PolicyEvents>

/** Hashes a call id to 52 bits (cyrb53): a number needs a tenth of the memory of a string, and collisions are negligible. */
export function hashCallId(callId: string): number {
	let [high, low] = [0xdeadbeef, 0x41c6ce57]
	for (let index = 0; index < callId.length; index++) {
		const character = callId.charCodeAt(index)
		high = Math.imul(high ^ character, 0x9e3779b1)
		low = Math.imul(low ^ character, 0x5f356495)
	}
	high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
	low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
	return 0x100000 * 0x1000 * (high & 0xfffff) + (low >>> 0)
}

/** Gaps of this length split the events. */
const MAX_GAP_MS = 3_600_000

export interface TimeRange {
	readonly from: number
	readonly to: number
	readonly outliers: number
}

/**
 * Finds the events that belong together. A process whose clock is hours off, or a stray line from another
 * day, would extend the incident over all the time in between. So the events are split at long gaps, and the
 * largest part is used.
 */
export function findTimeRange(columns: readonly EventColumns[]): TimeRange {
	const times = sorted(columns.flatMap(({ time }) => time))
	let [first, length, begin] = [0, 0, 0]
	for (let index = 1; index <= times.length; index++) {
		if (index < times.length && at(times, index) - at(times, index - 1) <= MAX_GAP_MS) continue
		if (index - begin > length) [first, length] = [begin, index - begin]
		begin = index
	}
	return { from: at(times, first), to: at(times, first + length - 1), outliers: times.length - length }
}

export function eachWithin(
	columns: readonly EventColumns[],
	{ from, to }: TimeRange,
	callback: EachEvent,
): void {
	for (const { length, time, ms, attempt, code, call } of columns)
		for (let index = 0; index < length; index++) {
			const now = at(time, index)
			if (now >= from && now <= to)
				callback(now, at(ms, index), at(attempt, index), at(code, index), at(call, index))
		}
}
