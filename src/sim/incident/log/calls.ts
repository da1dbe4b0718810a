/**
 * Reconstructs calls and attempts from events. A retry reports the end of every attempt: the first attempt
 * starts with the call, each following one after the delay of the retry before it. Without a retry, each
 * event of a circuit breaker is a call. Calls that another policy rejected appear only as `rejected` events.
 */
import { invalidArgument, invalidOption } from '../../../core/options/schema.ts'
import { isCallFailed, OUTCOME, outcomeOf } from './attempt-outcome.ts'
import { Attempts } from './attempts.ts'
import { EventColumns, eachWithin, type PipelineEvents, type TimeRange } from './event-columns.ts'
import { at, sorted } from './numbers.ts'

export interface CallCounts {
	readonly total: number
	readonly good: number
	/** Failed after at least one attempt. */
	readonly failed: number
	/** Rejected by a policy of the client, without an attempt. */
	readonly rejected: number
	/** Calls whose result is not in the events. */
	readonly unknown: number
}

export interface Calls extends Omit<CallCounts, 'total'> {
	/** Wall times, in ascending order. */
	readonly startedAt: Float64Array
	/** Calls with retries that did not end in the events. */
	readonly unfinished: number
}

export interface Source {
	readonly name: string
	/** Each event is the end of a call. */
	readonly endings: readonly EventColumns[]
	/** Each event is an attempt that is repeated. */
	readonly retries: readonly EventColumns[]
}

const join = (policies: readonly (readonly [name: string, events: unknown])[]): string =>
	policies.map(([name]) => name).join(', ')

/** Returns the retries of a pipeline, or its breakers if it has none. `isChosen`: the user named the policies. */
export function findSource(pipeline: PipelineEvents, isChosen: boolean): Source {
	const policies = [...pipeline].sort(([a], [b]) => (a < b ? -1 : 1))
	const retries = policies.filter(([, { endings }]) => endings.length > 0)
	const breakers = policies.filter(([, { counted }]) => counted.length > 0)
	const used = retries.length > 0 ? retries : breakers
	if (used.length === 0)
		invalidArgument(
			'lines',
			`only events of policies that report no successful calls: ${join(policies)}`,
			'events of a retry or a circuit breaker, which report every call',
		)
	if (used.length > 1 && !isChosen)
		invalidOption(
			'policy',
			undefined,
			`one or more of ${join(used)}: the outermost of nested policies, or those of the calls to replay`,
		)
	return {
		name: join(used),
		endings: used.map(([, events]) => (retries.length > 0 ? events.endings : events.counted)),
		retries: used.map(([, events]) => events.retries),
	}
}

export function collectCalls(source: Source, pipeline: PipelineEvents, range: TimeRange): Calls {
	const startedAt: number[] = []
	let [good, failed, rejected] = [0, 0, 0]
	eachWithin(source.endings, range, (time, durationMs, attempts, code) => {
		startedAt.push(time - durationMs)
		if (!isCallFailed(code)) good++
		else if (outcomeOf(code) === OUTCOME.rejected && attempts === 1) rejected++
		else failed++
	})
	const rejectedElsewhere = findUnreported(pipeline, 'rejected', source, range)
	// A breaker in shadow mode does not report the result of a call that it would have rejected.
	const shadowed = findUnreported(pipeline, 'shadowed', source, range)
	for (const call of rejectedElsewhere.keys()) shadowed.delete(call)
	for (const calls of [rejectedElsewhere, shadowed]) for (const time of calls.values()) startedAt.push(time)
	rejected += rejectedElsewhere.size
	const unfinished = findUnfinished(source, range)
	for (const time of unfinished) startedAt.push(time)
	const unknown = shadowed.size + unfinished.length
	return { startedAt: sorted(startedAt), good, failed, rejected, unknown, unfinished: unfinished.length }
}

/**
 * Returns the starts of calls that were still retrying when the events end. Without them, demand would fall
 * in the last seconds of a retry storm. The first attempt is assumed to have taken as long as the next one;
 * without a next one its end is used.
 */
function findUnfinished({ endings, retries }: Source, range: TimeRange): readonly number[] {
	const calls = new Map<number, { endedAt: number; nextAt: number; nextEndedAt: number }>()
	eachWithin(retries, range, (time, ms, attempt, _code, call) => {
		const known = calls.get(call) ?? { endedAt: Infinity, nextAt: 0, nextEndedAt: Infinity }
		if (time < known.endedAt)
			calls.set(call, { endedAt: time, nextAt: time + ms, nextEndedAt: known.endedAt })
		else if (attempt > 1) calls.set(call, { ...known, nextEndedAt: Math.min(time, known.nextEndedAt) })
	})
	for (const events of endings) for (const call of events.call) calls.delete(call)
	// An event without a call id cannot be missing the end of its call.
	return [...calls].flatMap(([call, { endedAt, nextAt, nextEndedAt }]) =>
		call < 0 ? [] : [endedAt - (nextEndedAt < Infinity ? Math.max(0, nextEndedAt - nextAt) : 0)],
	)
}

/** Returns the calls that have an event of this kind, but none of the source, with the time of the event. */
function findUnreported(
	pipeline: PipelineEvents,
	kind: 'rejected' | 'shadowed',
	{ endings, retries }: Source,
	range: TimeRange,
): Map<number, number> {
	const calls = new Map<number, number>()
	const columns = [...pipeline.values()].map((events) => events[kind])
	eachWithin(columns, range, (time, _ms, _attempt, _code, call) => {
		calls.set(call, Math.min(time, calls.get(call) ?? Infinity))
	})
	if (calls.size > 0)
		for (const events of [...endings, ...retries]) for (const call of events.call) calls.delete(call)
	return calls
}

export function collectAttempts({ endings, retries }: Source, range: TimeRange): Attempts {
	const events = new EventColumns()
	eachWithin(endings, range, (...event) => events.add(...event))
	const endingCount = events.length
	eachWithin(retries, range, (...event) => events.add(...event))
	const attempts = new Attempts(events.length)
	const order = events.byCall()
	for (let from = 0, to = 0; from < order.length; from = to) {
		const call = events.call[at(order, from)]
		while (to < order.length && events.call[at(order, to)] === call) to++
		const last = at(order, to - 1)
		// NaN while the start is unknown, because events of the call are missing.
		let startedAt = last < endingCount ? at(events.time, last) - at(events.ms, last) : Number.NaN
		let expected = 1
		for (const index of order.subarray(from, to)) {
			const [time, ms] = [at(events.time, index), at(events.ms, index)]
			const attempt = at(events.attempt, index)
			const isOnly = attempt === 1 && index < endingCount
			const begin = isOnly ? time - ms : attempt === expected ? startedAt : Number.NaN
			attempts.add(begin, time, at(events.code, index))
			startedAt = time + ms
			expected = attempt + 1
		}
	}
	return attempts
}
