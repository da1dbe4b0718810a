/** Calls and attempts, reconstructed from events by their call id. */
import { expect, test } from 'vitest'
import type { YaokiEvent } from 'yaoki'
import { collectAttempts, collectCalls, findSource } from '../../../../src/sim/incident/log/calls.ts'
import { type PipelineEvents, PolicyEvents } from '../../../../src/sim/incident/log/event-columns.ts'

type Details<Event> = Event extends YaokiEvent ? Omit<Event, 'emitter' | 'timestamp' | 'callId'> : never

const at = (timestamp: number, callId: string, details: Details<YaokiEvent>, policy = 'retry'): YaokiEvent =>
	({ emitter: policy, timestamp, callId, ...details }) as YaokiEvent
const retried = (attempt: number, delayMs: number) =>
	({
		type: 'retry_attempt',
		attempt,
		maxRetries: 9,
		delayMs,
		delaySource: 'backoff',
		outcome: 'transient',
	}) as const
const success = (attempts: number, durationMs: number) =>
	({ type: 'retry_success', attempts, durationMs }) as const

function collect(...events: readonly YaokiEvent[]) {
	const pipeline: PipelineEvents = new Map()
	for (const event of events) {
		const policy = pipeline.get(event.emitter) ?? new PolicyEvents()
		policy.add(event)
		pipeline.set(event.emitter, policy)
	}
	const range = { from: 0, to: Infinity, outliers: 0 }
	const source = findSource(pipeline, false)
	const attempts = collectAttempts(source, range)
	const { startedAt, ...counts } = collectCalls(source, pipeline, range)
	return {
		counts,
		calls: [...startedAt],
		attempts: [...attempts.byStart()].map((index) => [
			attempts.hasDuration[index] ? attempts.startedAt[index] : undefined,
			attempts.endedAt[index],
		]),
	}
}

test('attempts start with their call, or after the delay of the retry before', () => {
	const { calls, attempts } = collect(
		at(1_100, 'a', retried(1, 200)),
		at(1_400, 'a', retried(2, 400)),
		at(1_850, 'a', success(3, 850)),
	)
	expect(calls).toEqual([1_000])
	expect(attempts).toEqual([
		[1_000, 1_100],
		[1_300, 1_400],
		[1_800, 1_850],
	])
})

test('concurrent calls are identified by their id, in any order of lines', () => {
	const events = [
		at(1_100, 'a', retried(1, 200)),
		at(1_150, 'b', retried(1, 100)),
		at(1_310, 'b', success(2, 260)),
		at(1_400, 'a', success(2, 400)),
	]
	const expected = [
		[1_000, 1_100],
		[1_050, 1_150],
		[1_250, 1_310],
		[1_300, 1_400],
	]
	expect(collect(...events).attempts).toEqual(expected)
	expect(collect(...events.toReversed()).attempts).toEqual(expected)
})

test('the start of an attempt is unknown if the event before it is missing', () => {
	const { attempts, calls } = collect(
		at(1_400, 'a', retried(2, 400)),
		at(1_850, 'a', success(3, 850)),
		at(2_000, 'b', retried(1, 50)),
	)
	expect(attempts).toEqual([
		[undefined, 1_400],
		[1_800, 1_850],
		[undefined, 2_000],
	])
	// The second call did not end: it is demand too.
	expect(calls).toEqual([1_000, 2_000])
})

test('a rejected event is a call of its own only if no other event has its call id', () => {
	const rejected = { type: 'rejected', reason: 'bulkhead-full' } as const
	const { counts, calls } = collect(
		at(1_100, 'a', success(1, 100)),
		at(1_200, 'b', rejected, 'bulkhead'),
		at(1_200, 'b', {
			type: 'retry_failure',
			attempts: 1,
			durationMs: 0,
			stop: 'cancelled',
			errorType: 'BulkheadRejectedError',
		}),
		at(1_300, 'c', rejected, 'bulkhead'),
		at(1_400, 'd', { type: 'rejected', reason: 'circuit-open', shadow: true }, 'breaker'),
	)
	expect(counts).toEqual({ good: 1, failed: 0, rejected: 2, unknown: 1, unfinished: 0 })
	expect(calls).toEqual([1_000, 1_200, 1_300, 1_400])
})
