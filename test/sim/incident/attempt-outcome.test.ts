/** What one event says of the service, whatever the policy made of it. */

import { describe, expect, test } from 'vitest'
import type { YaokiEvent } from 'yaoki'
import { detailOf, isCallLost, OUTCOME, outcomeOf } from '../../../src/sim/incident/attempt-outcome.ts'
import { PolicyLedger } from '../../../src/sim/incident/ledger.ts'

type Details<Event> = Event extends YaokiEvent ? Omit<Event, 'policy' | 'timestamp'> : never

/** The only row that the event makes. */
function rowOf(details: Details<YaokiEvent>): {
	what: string
	tookMs: number
	lost: boolean
	detail: number
} {
	const ledger = new PolicyLedger()
	ledger.add({ policy: 'p', timestamp: 1_000, ...details })
	const rows: ReturnType<typeof rowOf>[] = []
	for (const one of ledger.rows)
		one.each((_, __, tookMs, code) =>
			rows.push({
				what: Object.keys(OUTCOME)[outcomeOf(code)] ?? '',
				tookMs,
				lost: isCallLost(code),
				detail: detailOf(code),
			}),
		)
	const [row] = rows
	if (!row || rows.length > 1) throw new Error(`${rows.length} rows`)
	return row
}

const gaveUp = { type: 'retry_failure', attempts: 1, durationMs: 30, stop: 'retries-exhausted' } as const
const again = {
	type: 'retry_attempt',
	attempt: 1,
	maxRetries: 3,
	delayMs: 100,
	delaySource: 'backoff',
	outcome: 'transient',
} as const

describe('the end of a call that was given up', () => {
	test.each([
		['a failure', {}, 'failed', 30],
		['a status', { errorType: 'HttpError', errorMessage: 'HTTP 502' }, 'failed', 30],
		['a gateway that gave up waiting has answered', { errorMessage: 'HTTP 504' }, 'failed', 30],
		['an answer that can not be retried', { stop: 'permanent', errorMessage: 'HTTP 404' }, 'answered', 30],
		['a timeout', { errorType: 'TimeoutError', errorMessage: 'timeout: no answer within 25 ms' }, 'hung', 30],
		['a socket that timed out', { errorMessage: 'connect ETIMEDOUT 10.0.0.1:443' }, 'hung', 30],
		['a query that timed out', { errorMessage: 'canceling statement: timed out' }, 'hung', 30],
		['an open circuit', { stop: 'cancelled', errorType: 'CircuitOpenError' }, 'refused', 30],
		['a full bulkhead', { stop: 'cancelled', errorType: 'BulkheadRejectedError' }, 'refused', 30],
		['the caller who left', { stop: 'abort', errorType: 'AbortError' }, 'unknown', 30],
		['a hook that threw', { stop: 'hook-threw', errorType: 'TypeError' }, 'unknown', 30],
		['a limit around the retry, in the first attempt', { stop: 'timeout' }, 'hung', 30],
		['a limit around the retry, later', { stop: 'timeout', attempts: 2 }, 'unknown', Number.NaN],
		['a deadline in the first attempt', { stop: 'deadline', errorType: 'DeadlineExceededError' }, 'hung', 30],
		['a failure too near the deadline', { stop: 'deadline', errorType: 'Error' }, 'failed', 30],
		['a failure after others', { attempts: 3 }, 'failed', Number.NaN],
	] as const)('by %s', (_, details, what, tookMs) => {
		expect(rowOf({ ...gaveUp, ...details })).toMatchObject({ what, tookMs, lost: true })
	})

	test('by a timeout of the toolkit after other attempts tells how long that was', () => {
		const texts = { errorType: 'TimeoutError', errorMessage: 'timeout: no answer within 250 ms' }
		expect(rowOf({ ...gaveUp, attempts: 4, durationMs: 9_000, ...texts })).toMatchObject({
			what: 'hung',
			tookMs: 250,
		})
	})

	test.each([
		['HTTP 503', 503],
		['Request failed with status code 429', 429],
		['status: 500', 500],
		['listening on port 5000', 0],
	])('keeps the status of %s', (errorMessage, status) => {
		expect(rowOf({ ...gaveUp, errorMessage }).detail).toBe(status)
	})
})

test('an attempt that is made again is told like any other, and no call is lost by it', () => {
	expect(rowOf(again)).toMatchObject({ what: 'failed', lost: false })
	expect(rowOf({ ...again, outcome: 'unwanted-result' })).toMatchObject({ what: 'failed' })
	expect(rowOf({ ...again, outcome: 'cancelled', errorType: 'RateLimitedError' })).toMatchObject({
		what: 'refused',
	})
	expect(rowOf({ ...again, outcome: 'cancelled', errorType: 'AbortError' })).toMatchObject({
		what: 'unknown',
	})
})

test('what a breaker counts has a duration', () => {
	expect(rowOf({ type: 'success', durationMs: 7 })).toMatchObject({
		what: 'answered',
		tookMs: 7,
		lost: false,
	})
	expect(rowOf({ type: 'failure', durationMs: 9, errorType: 'TimeoutError' })).toMatchObject({
		what: 'hung',
		tookMs: 9,
		lost: true,
	})
	// A result that isFailureResult would not have is a failure without an error.
	expect(rowOf({ type: 'failure', durationMs: 9 })).toMatchObject({ what: 'failed' })
})
