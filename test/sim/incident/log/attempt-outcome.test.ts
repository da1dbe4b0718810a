/** What one event says about the service, whatever the policy did about it. */

import { describe, expect, test } from 'vitest'
import type { YaokiEvent } from 'yaoki'
import {
	isCallFailed,
	OUTCOME,
	outcomeOf,
	statusOf,
} from '../../../../src/sim/incident/log/attempt-outcome.ts'
import { eachWithin, PolicyEvents } from '../../../../src/sim/incident/log/event-columns.ts'

type Details<Event> = Event extends YaokiEvent ? Omit<Event, 'emitter' | 'timestamp'> : never

/** Returns the only row that the event adds. */
function rowOf(details: Details<YaokiEvent>) {
	const events = new PolicyEvents()
	events.add({ emitter: 'p', timestamp: 1_000, callId: 'c', ...details })
	const rows: { outcome: string; failsCall: boolean; status: number; ms: number }[] = []
	for (const columns of events.all)
		eachWithin([columns], { from: 1_000, to: 1_000, outliers: 0 }, (_time, ms, _attempt, code) =>
			rows.push({
				outcome: Object.keys(OUTCOME)[outcomeOf(code)] ?? '',
				failsCall: isCallFailed(code),
				status: statusOf(code),
				ms,
			}),
		)
	expect(rows).toHaveLength(1)
	return rows[0]
}

const failure = { type: 'retry_failure', attempts: 1, durationMs: 30, stop: 'retries-exhausted' } as const
const retried = {
	type: 'retry_attempt',
	attempt: 1,
	maxRetries: 3,
	delayMs: 100,
	delaySource: 'backoff',
	outcome: 'transient',
} as const

describe('the last attempt of a failed call', () => {
	test.each([
		['failed: any error', {}, 'failed'],
		['failed: a status', { errorType: 'HttpError', statusCode: 502 }, 'failed'],
		['failed: a 504, which is a response', { statusCode: 504, timeoutMs: 30 }, 'failed'],
		['responded: a permanent failure', { stop: 'permanent', statusCode: 404 }, 'responded'],
		['timed out: a timeout policy', { errorType: 'TimeoutError', timeoutMs: 25 }, 'timedOut'],
		['timed out: AbortSignal.timeout', { errorType: 'TimeoutError' }, 'timedOut'],
		['timed out: a socket', { errorCode: 'ETIMEDOUT' }, 'timedOut'],
		['timed out: undici', { errorCode: 'UND_ERR_HEADERS_TIMEOUT' }, 'timedOut'],
		['failed: a message about a timeout', { errorMessage: 'timed out after 5 s' }, 'failed'],
		['rejected: an open circuit', { stop: 'cancelled', errorType: 'CircuitOpenError' }, 'rejected'],
		['rejected: a full bulkhead', { stop: 'cancelled', errorType: 'BulkheadRejectedError' }, 'rejected'],
		['unknown: the caller aborted', { stop: 'abort', errorType: 'AbortError' }, 'unknown'],
		['unknown: a hook threw', { stop: 'hook-threw', errorType: 'TypeError' }, 'unknown'],
		['timed out: an outer timeout in the first attempt', { stop: 'timeout' }, 'timedOut'],
		['unknown: an outer timeout later', { stop: 'timeout', attempts: 2 }, 'unknown'],
		[
			'timed out: a deadline in the first attempt',
			{ stop: 'deadline', errorType: 'DeadlineExceededError' },
			'timedOut',
		],
		['failed: too close to the deadline', { stop: 'deadline', errorType: 'Error' }, 'failed'],
	] as const)('%s', (_, details, outcome) => {
		expect(rowOf({ ...failure, ...details })).toMatchObject({ outcome, failsCall: true, ms: 30 })
	})

	test.each([
		[503, 503],
		[429, 429],
		[200, 0],
		[undefined, 0],
	])('has the status of an error: %s', (statusCode, status) => {
		expect(rowOf({ ...failure, ...(statusCode && { statusCode }) })?.status).toBe(status)
	})
})

test('a retried attempt does not fail its call', () => {
	expect(rowOf(retried)).toMatchObject({ outcome: 'failed', failsCall: false, ms: 100 })
	expect(rowOf({ ...retried, outcome: 'unwanted-result' })).toMatchObject({ outcome: 'failed' })
	expect(rowOf({ ...retried, outcome: 'cancelled', errorType: 'RateLimitedError' })).toMatchObject({
		outcome: 'rejected',
	})
	expect(rowOf({ ...retried, outcome: 'cancelled', errorType: 'AbortError' })).toMatchObject({
		outcome: 'unknown',
	})
})

test('events of a breaker have a duration', () => {
	expect(rowOf({ type: 'success', durationMs: 7 })).toMatchObject({
		outcome: 'responded',
		ms: 7,
		failsCall: false,
	})
	expect(rowOf({ type: 'failure', durationMs: 9, errorType: 'TimeoutError' })).toMatchObject({
		outcome: 'timedOut',
		ms: 9,
		failsCall: true,
	})
	// A result that isFailureResult rejects is a failure without an error.
	expect(rowOf({ type: 'failure', durationMs: 9 })).toMatchObject({ outcome: 'failed' })
})
