/** Every documented code, name and status, in its usual shape. */
import { expect, test } from 'vitest'
import {
	BulkheadRejectedError,
	CircuitOpenError,
	classify,
	DeadlineExceededError,
	HttpError,
	isRetryable,
	isRetryableNetworkError,
	isRetryableStatus,
	RateLimitedError,
	TimeoutError,
} from 'yaoki'
import { CANCELLED, GRPC_CODES, PERMANENT, STATUSES, THROTTLED, TRANSIENT } from './expected.ts'

const named = (name: string, more: object = {}) => Object.assign(new Error('Said'), { name, ...more })
const coded = (code: string | number, more: object = {}) =>
	Object.assign(new Error('Said'), { code, ...more })

test.each(STATUSES)('status %i is %s in every field that libraries use', (status, kind, meaning) => {
	expect(classify(new HttpError(status))).toEqual(meaning)
	expect(classify({ status })).toEqual(meaning)
	expect(classify({ statusCode: status })).toEqual(meaning)
	expect(classify({ response: { status } })).toEqual(meaning)
	expect(classify({ response: { statusCode: status } })).toEqual(meaning)
	expect(classify({ $metadata: { httpStatusCode: status } })).toEqual(meaning)
	expect(classify(coded(status))).toEqual(meaning)
	expect(classify(coded(`${status}`))).toEqual(meaning)
	expect(classify(new Error(`Request failed with status code ${status}`))).toEqual(meaning)
	expect(classify(new Error('wrapped', { cause: { status } }))).toEqual(meaning)
	expect(isRetryableStatus(status)).toBe(kind !== 'permanent')
})

test.each([200, 204, 301, 304, 399, 600, 0, Number.NaN])('status %d is not retryable', (status) => {
	expect(isRetryableStatus(status)).toBe(false)
})

const NETWORK_CODES = [
	'ECONNRESET',
	'ECONNREFUSED',
	'ECONNABORTED',
	'ENOTFOUND',
	'EPIPE',
	'ETIMEDOUT',
	'EAI_AGAIN',
	'EHOSTUNREACH',
	'ENETUNREACH',
	'ENETDOWN',
	'EHOSTDOWN',
	'UND_ERR_SOCKET',
	'ERR_NETWORK',
	'ERR_STREAM_PREMATURE_CLOSE',
]

test.each(NETWORK_CODES)(
	'%s is a transient network failure as a code, in a message and as a cause',
	(code) => {
		for (const error of [
			coded(code),
			{ errno: code },
			new Error(`connect ${code} 127.0.0.1:80`),
			new Error('wrapped', { cause: coded(code) }),
			new AggregateError([new Error('other'), coded(code)], ''),
			`${code}: it broke`,
		]) {
			expect(classify(error)).toEqual(TRANSIENT)
			expect(isRetryable(error)).toBe(true)
			expect(isRetryableNetworkError(error)).toBe(true)
		}
	},
)

test.each([
	'UND_ERR_CONNECT_TIMEOUT',
	'UND_ERR_HEADERS_TIMEOUT',
	'UND_ERR_BODY_TIMEOUT',
	'ABORT_ERR',
	'SQLITE_BUSY',
])('code %s is transient', (code) => expect(classify(coded(code))).toEqual(TRANSIENT))

test.each([
	'TimeoutError',
	'AbortError',
	'CanceledError',
	'RequestTimeout',
	'OperationTimedOut',
	'ServerTimeout',
])('name %s is transient, but not a network failure', (name) => {
	expect(classify(named(name))).toEqual(TRANSIENT)
	expect(isRetryableNetworkError(named(name))).toBe(false)
})

test.each(['08000', '08006', '08P01', '53200', '53300', '57P01', '57P02', '57P03', '40001', '40P01'])(
	'SQLSTATE %s is transient',
	(state) => expect(classify(coded(state))).toEqual(TRANSIENT),
)

test.each([
	'22001',
	'22P02',
	'23502',
	'23503',
	'23505',
	'28000',
	'28P01',
	'3D000',
	'42501',
	'42601',
	'42P01',
])('SQLSTATE %s is permanent, whatever the names in its message', (state) => {
	expect(classify(coded(state))).toEqual(PERMANENT)
	const message = 'duplicate key value violates unique constraint "throttled_pool_time_key"'
	expect(classify(coded(state, { message }))).toEqual(PERMANENT)
})

test('a code that only looks like an SQLSTATE does not override a status', () => {
	expect(classify(coded('42900', { status: 429 }))).toEqual(THROTTLED)
	expect(classify(coded('23000', { status: 500 }))).toEqual(TRANSIENT)
})

test.each(GRPC_CODES)('gRPC %i, %s, has its documented classification', (code, name, meaning) => {
	const message = `${code} ${name}: said`
	expect(classify(coded(code, { message, details: 'said', metadata: {} }))).toEqual(meaning)
	expect(classify(coded(code, { message, details: '', metadata: {} }))).toEqual(meaning)
	expect(classify({ code, metadata: {} })).toEqual(meaning)
})

test('the cause of an open circuit does not change what the rejection means, nor when to retry', () => {
	const cause = new HttpError(503, undefined, { retryAfterMs: 60_000 })
	expect(classify(new CircuitOpenError('circuit', 5, { cause }))).toEqual({ ...CANCELLED, retryAfterMs: 5 })
	expect(
		isRetryableNetworkError(new CircuitOpenError('circuit', 5, { cause: new Error('ECONNRESET') })),
	).toBe(false)
})

test('rejections by policies and an expired deadline are cancelled, a TimeoutError is transient', () => {
	expect(classify(new CircuitOpenError('circuit', 5))).toEqual({ ...CANCELLED, retryAfterMs: 5 })
	expect(classify(new BulkheadRejectedError('bulkhead', 'bulkhead-full', 'the queue is full'))).toEqual(
		CANCELLED,
	)
	expect(classify(new RateLimitedError('limiter', 5))).toEqual({ ...CANCELLED, retryAfterMs: 5 })
	expect(classify(new DeadlineExceededError())).toEqual(CANCELLED)
	expect(classify(new TimeoutError('timeout', 5))).toEqual(TRANSIENT)
})
