/** Every documented code, name and status, in its usual shape. */
import { describe, expect, test } from 'vitest'
import {
	BulkheadRejectedError,
	CircuitOpenError,
	classify,
	DeadlineExceededError,
	HttpError,
	isRetryable,
	isRetryableNetworkError,
	isRetryableStatus,
	permanent,
	RateLimitedError,
	TimeoutError,
} from 'yaoki'
import {
	CANCELLED,
	GRPC_CODES,
	PERMANENT,
	STATUSES,
	THROTTLED,
	TRANSIENT,
	TRPC_CODES,
	UNKNOWN,
} from './expected.ts'

const named = (name: string, more: object = {}) => Object.assign(new Error('Other'), { name, ...more })
const coded = (code: string | number, more: object = {}) =>
	Object.assign(new Error('Other'), { code, ...more })

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
	'EADDRNOTAVAIL',
	'EAI_FAIL',
	'ESERVFAIL',
	'EREFUSED',
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
	const message = `${code} ${name}: message`
	expect(classify(coded(code, { message, details: 'message', metadata: {} }))).toEqual(meaning)
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

test.each(GRPC_CODES)(
	'the name of gRPC %i, %s, as a string code has the same classification',
	(_, name, meaning) => {
		expect(classify(coded(name))).toEqual(meaning)
		expect(classify(coded(`functions/${name.toLowerCase().replaceAll('_', '-')}`))).toEqual(meaning)
		expect(classify(new Error('wrapped', { cause: coded(name) }))).toEqual(meaning)
	},
)

test.each(TRPC_CODES)("tRPC's %s has the classification of its HTTP status", (name, meaning) => {
	expect(classify(coded(name))).toEqual(meaning)
})

test('a code name beside an HTTP status does not override the status', () => {
	expect(classify(coded('UNAVAILABLE', { status: 400 }))).toEqual(PERMANENT)
	expect(classify(coded('NOT_FOUND', { status: 503 }))).toEqual(THROTTLED)
})

test('a code name as a message or a name says nothing', () => {
	for (const text of ['unknown', 'Internal', 'NOT_FOUND', 'Forbidden', 'conflict', 'Unavailable']) {
		expect(classify(new Error(text))).toEqual(UNKNOWN)
		expect(classify(named(text))).toEqual(UNKNOWN)
	}
})

describe.each(['retryable', 'retriable', 'isRetryable', '$retryable'])("an error's own %s", (field) => {
	test('is honored, whatever its code, status or message', () => {
		for (const more of [{}, { code: 'ENOENT' }, { status: 404 }, { code: '23505' }, { name: 'TypeError' }]) {
			expect(classify(named('Other', { ...more, [field]: true }))).toEqual(TRANSIENT)
			expect(classify(new Error('w', { cause: named('Other', { ...more, [field]: true }) }))).toEqual(
				TRANSIENT,
			)
		}
		for (const more of [{}, { code: 'ECONNRESET' }, { status: 503 }, { code: '40001' }])
			expect(classify(named('Other', { ...more, [field]: false }))).toEqual(PERMANENT)
	})

	test('keeps a throttled error throttled', () => {
		expect(classify({ status: 429, [field]: true })).toEqual(THROTTLED)
	})

	test('the decision of the outermost error counts', () => {
		const cause = named('Other', { [field]: false })
		expect(classify(Object.assign(new Error('w', { cause }), { [field]: true }))).toEqual(TRANSIENT)
		const inner = named('Other', { [field]: true })
		expect(classify(Object.assign(new Error('w', { cause: inner }), { [field]: false }))).toEqual(PERMANENT)
	})

	test('does not override permanent() or the own rejections of policies', () => {
		expect(classify(permanent(named('Other', { [field]: true })))).toEqual(PERMANENT)
		const open = Object.assign(new CircuitOpenError('circuit', 5), { [field]: true })
		expect(classify(open)).toEqual({ ...CANCELLED, retryAfterMs: 5 })
	})

	test('counts only if it is a boolean', () => {
		for (const value of ['true', 1, null, () => true])
			expect(classify(named('Other', { [field]: value }))).toEqual(UNKNOWN)
	})
})

test.each([
	['P1001', TRANSIENT],
	['P1002', TRANSIENT],
	['P1008', TRANSIENT],
	['P1017', TRANSIENT],
	['P2024', TRANSIENT],
	['P2028', TRANSIENT],
	['P2034', TRANSIENT],
	['P2037', TRANSIENT],
	['P1000', PERMANENT],
	['P1003', PERMANENT],
	['P1010', PERMANENT],
	['P2000', PERMANENT],
	['P2002', PERMANENT],
	['P2003', PERMANENT],
	['P2025', PERMANENT],
])('Prisma %s has its documented classification as code and as errorCode', (code, meaning) => {
	const message = 'Unique constraint failed on the fields: (`timeout`)'
	expect(classify(coded(code, meaning === PERMANENT ? { message } : {}))).toEqual(meaning)
	expect(classify({ errorCode: code })).toEqual(meaning)
})

test('unique-constraint violations of the common drivers are permanent', () => {
	expect(classify(coded(11000, { message: 'E11000 duplicate key error: timeout_1' }))).toEqual(PERMANENT)
	expect(classify(coded('ER_DUP_ENTRY', { errno: 1062 }))).toEqual(PERMANENT)
	expect(classify({ errno: 1062 })).toEqual(PERMANENT)
	expect(classify(new Error('Duplicate entry (errno 1062) (sqlstate 23000)'))).toEqual(PERMANENT)
	expect(classify(new Error('duplicate key value violates unique constraint "timeout"'))).toEqual(PERMANENT)
	expect(classify(new Error('D1_ERROR: UNIQUE constraint failed: users.id: SQLITE_CONSTRAINT'))).toEqual(
		PERMANENT,
	)
})

test('a user of MySQL who has too many connections is throttled, although its SQLSTATE is permanent', () => {
	const error = coded('ER_TOO_MANY_USER_CONNECTIONS', { errno: 1203, sqlState: '42000' })
	expect(classify(error)).toEqual(THROTTLED)
	expect(classify(coded('ER_PARSE_ERROR', { errno: 1064, sqlState: '42000' }))).toEqual(PERMANENT)
})

test('code 26 is permanent for MongoDB only, with and without its name', () => {
	expect(classify(named('MongoServerError', { code: 26 }))).toEqual(PERMANENT)
	expect(classify(named('MongoServerError', { code: 26, codeName: 'NamespaceNotFound' }))).toEqual(PERMANENT)
	expect(classify(named('MongoServerError', { code: 260 }))).toEqual(UNKNOWN)
	expect(classify(coded(26))).toEqual(UNKNOWN)
})

test.each([
	[400, PERMANENT],
	[404, PERMANENT],
	[426, PERMANENT],
	[408, TRANSIENT],
	[500, TRANSIENT],
	[429, THROTTLED],
	[503, THROTTLED],
	[200, UNKNOWN],
	[302, UNKNOWN],
])('a WebSocket of ws whose upgrade got %i is classified by the status', (status, meaning) => {
	expect(classify(new Error(`Unexpected server response: ${status}`))).toEqual(meaning)
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
