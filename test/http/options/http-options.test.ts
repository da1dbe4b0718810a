import { describe, expect, it } from 'vitest'
import {
	defaultTotalMs,
	FETCH_SCHEMA,
	HTTP_SCHEMA,
	type HttpOptions,
	readHttpOptions,
} from '../../../src/http/options/http-options.ts'

const read = (options: HttpOptions = {}) => readHttpOptions(options, FETCH_SCHEMA, 'resilientFetch')

/** Options as they come out of a file, where no compiler has seen them. */
const readAny = (options: unknown) => read(options as HttpOptions)

describe('the options of HTTP clients', () => {
	it('have a default each', () => {
		expect(read()).toMatchObject({
			timeout: 10_000,
			totalTimeoutMs: 47_000,
			isTotalGiven: false,
			maxRetryAfterMs: 60_000,
			longRetryAfter: 'fail',
			maxPauseMs: 60_000,
			pauseScope: 'auto',
			honorRateLimit: true,
			idempotency: 'manual',
			idempotencyHeader: 'idempotency-key',
			vetoes: [['x-should-retry', 'false']],
			deadlineHeader: 'x-request-timeout-ms',
			isDeadlineHeaderNamed: false,
			maxOrigins: 1_000,
			maxResponseBytes: Infinity,
			circuitBreaker: {},
			budget: {},
			bulkhead: undefined,
			hedge: undefined,
		})
	})

	it('keep what was given of the backoff apart from its defaults', () => {
		expect(read({ maxRetries: 2, baseDelayMs: 50 }).backoff).toMatchObject({ maxRetries: 2, baseDelayMs: 50 })
		expect(read().backoff.maxRetries).toBeUndefined()
	})

	it('turn a policy off by false, and on by true', () => {
		expect(read({ circuitBreaker: false, budget: false })).toMatchObject({
			circuitBreaker: undefined,
			budget: undefined,
		})
		expect(read({ hedge: true }).hedge).toEqual({})
		const bulkhead = { maxConcurrent: 3 }
		expect(readHttpOptions({}, HTTP_SCHEMA, 'a client', bulkhead).bulkhead).toEqual(bulkhead)
		expect(readHttpOptions({ bulkhead: false }, HTTP_SCHEMA, 'a client', bulkhead).bulkhead).toBeUndefined()
	})

	it('compare header names in lower case', () => {
		const { idempotencyHeader, vetoes } = read({
			idempotencyHeader: 'X-Key',
			retryVetoHeaders: { 'X-Final': 'YES' },
		})
		expect([idempotencyHeader, vetoes]).toEqual(['x-key', [['x-final', 'yes']]])
	})

	it.each([
		[undefined, 'x-request-timeout-ms', false],
		[false, undefined, true],
		['grpc-timeout', 'grpc-timeout', true],
	] as const)('with deadlineHeader %s send the header %s', (given, deadlineHeader, isDeadlineHeaderNamed) => {
		expect(read({ deadlineHeader: given })).toMatchObject({ deadlineHeader, isDeadlineHeaderNamed })
	})

	it.each([
		[{ timeout: 0 }, 'timeout'],
		[{ timeout: Number.NaN }, 'timeout'],
		[{ totalTimeoutMs: '5 s' }, 'totalTimeoutMs'],
		[{ idempotencyHeader: 'two words' }, 'idempotencyHeader'],
		[{ deadlineHeader: 'x-mine' }, 'deadlineHeader'],
		[{ retryVetoHeaders: ['x-final'] }, 'retryVetoHeaders'],
		[{ retryVetoHeaders: { 'two words': 'yes' } }, 'retryVetoHeaders'],
		[{ retryVetoHeaders: { 'x-final': true } }, "retryVetoHeaders['x-final']"],
		[null, 'options'],
	])('that are invalid are rejected with their path: %j', (options, optionPath) => {
		const error = expect.objectContaining({ code: 'YAOKI_INVALID_OPTION', optionPath })
		expect(() => readAny(options)).toThrow(error)
	})
})

describe('the default total timeout', () => {
	it('is enough for all attempts and the longest delays between them', () => {
		const settings = read({ timeout: 1_000, maxRetries: 2, baseDelayMs: 300, maxDelayMs: 500 })
		expect(settings.maxDelaysMs).toBeGreaterThan(0)
		expect(settings.totalTimeoutMs).toBe(Math.ceil(3 * 1_000 + settings.maxDelaysMs))
	})

	it('is at least three times the timeout of an attempt', () => {
		expect(read({ timeout: 1_000, maxRetries: 0 }).totalTimeoutMs).toBe(3_000)
	})

	it('is longer with a hedge, which may start when the first request ends', () => {
		const options = { timeout: 1_000, maxRetries: 3 }
		expect(read({ ...options, hedge: true }).totalTimeoutMs).toBe(read(options).totalTimeoutMs + 4_000)
		const delayed = read({ ...options, hedge: { delayMs: 100 } })
		expect(delayed.totalTimeoutMs).toBe(read(options).totalTimeoutMs + 400)
	})

	it('is Infinity if an attempt has no timeout', () => {
		expect(defaultTotalMs(Infinity, read())).toBe(Infinity)
	})

	it('ends soon after maxElapsedMs, when no attempt starts any more', () => {
		expect(read({ timeout: 1_000, maxRetries: 50, maxElapsedMs: 5_000 }).totalTimeoutMs).toBe(6_000)
	})

	it('is computed immediately for any number of retries', () => {
		const { maxDelaysMs } = read({ maxRetries: 1_000_000, maxDelayMs: 1_000 })
		expect(maxDelaysMs).toBe(1_000_000_000)
	})

	it('does not call a growth function, which may count its calls', () => {
		const growth = () => {
			throw new Error('called')
		}
		expect(read({ growth, maxRetries: 3, maxDelayMs: 10 }).maxDelaysMs).toBe(30)
	})
})
