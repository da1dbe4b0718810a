/** Any thrown value: `classify` always returns a classification, and `isKnown` is false for what it does not recognize. */
import { expect, test } from 'vitest'
import { classify, HttpError, isRetryable, isRetryableNetworkError, permanent, TimeoutError } from 'yaoki'
import { CANCELLED, PERMANENT, THROTTLED, TRANSIENT, UNKNOWN } from './expected.ts'

const error = (message: string, more: object = {}) => Object.assign(new Error(message), more)

test('the numeric codes of a DOMException are not gRPC codes', () => {
	for (const name of ['IndexSizeError', 'NotFoundError', 'InvalidStateError', 'QuotaExceededError'])
		expect(classify(new DOMException('no signal', name))).toEqual(UNKNOWN)
	expect(classify(new DOMException('no signal', 'DataCloneError'))).toEqual(PERMANENT)
	expect(classify(new DOMException('no signal', 'NetworkError'))).toEqual(TRANSIENT)
	expect(classify(new DOMException('no signal', 'TimeoutError'))).toEqual(TRANSIENT)
	expect(classify(new DOMException('no signal', 'AbortError'))).toEqual(TRANSIENT)
})

test('an aborted signal of the caller makes every error cancelled', () => {
	expect(classify(new HttpError(503), { signal: AbortSignal.abort() })).toEqual(CANCELLED)
	expect(classify(undefined, { signal: AbortSignal.abort() })).toEqual(CANCELLED)
	expect(classify(new HttpError(503), { signal: new AbortController().signal })).toEqual(THROTTLED)
	expect(classify(new HttpError(503), { signal: undefined })).toEqual(THROTTLED)
})

test.each([
	'boom',
	'',
	'permanent',
	'read ECONNRESET',
	'self signed certificate',
	'Too Many Requests',
	'x'.repeat(300),
])('an Error with only the message %j is classified like one with a field that says nothing', (message) => {
	expect(classify(error(message))).toEqual(classify(error(message, { other: undefined })))
})

test('an Error whose fields are not enumerable is classified by them', () => {
	const hidden = (name: string, value: unknown) => Object.defineProperty(error('no signal'), name, { value })
	expect(classify(hidden('code', 'ECONNRESET'))).toEqual(TRANSIENT)
	expect(classify(hidden('name', 'TimeoutError'))).toEqual(TRANSIENT)
	expect(classify(new Error('no signal', { cause: error('read ECONNRESET') }))).toEqual(TRANSIENT)
	expect(classify(permanent(error('no signal'))).kind).toBe('permanent')
})

test('retryAfterMs is returned, and makes a 413 throttled', () => {
	expect(classify(new HttpError(429, '', { retryAfterMs: 1500 }))).toEqual({
		...THROTTLED,
		retryAfterMs: 1500,
	})
	expect(classify(new HttpError(500, '', { retryAfterMs: 0 }))).toEqual({ ...TRANSIENT, retryAfterMs: 0 })
	expect(classify(new HttpError(413, '', { retryAfterMs: 10 }))).toEqual({ ...THROTTLED, retryAfterMs: 10 })
	for (const retryAfterMs of [-1, Number.NaN, Number.POSITIVE_INFINITY, '10', null])
		expect(classify({ status: 429, retryAfterMs })).toEqual(THROTTLED)
})

test.each([undefined, null, '', 'nope', 0, 42, 503, true, 7n, Symbol('nope'), () => {}, [], {}])(
	'a thrown %s is unknown',
	(thrown) => {
		expect(classify(thrown)).toEqual(UNKNOWN)
		expect(isRetryable(thrown)).toBe(false)
		expect(isRetryableNetworkError(thrown)).toBe(false)
	},
)

test('a thrown string is classified like a message', () => {
	expect(classify('connect ECONNREFUSED 127.0.0.1:80')).toEqual(TRANSIENT)
	expect(classify('too many requests')).toEqual(THROTTLED)
})

test('a cycle of causes and a long chain terminate', () => {
	const ring = error('first', { cause: undefined })
	ring.cause = error('second', { cause: ring, errors: Array.from({ length: 1000 }, () => ring) })
	expect(classify(ring)).toEqual(UNKNOWN)
	let chain: Error = error('root', { code: 'ECONNRESET' })
	for (let depth = 0; depth < 90; depth++) chain = new Error('wrapped', { cause: chain })
	expect(classify(chain)).toEqual(TRANSIENT)
})

test('an error whose own getters throw is unknown', () => {
	const hostile = (property: string) =>
		Object.defineProperty(new Error('no signal'), property, {
			get: () => {
				throw new Error('hostile')
			},
		})
	for (const property of ['message', 'code', 'name', 'status', 'response', 'cause', 'errors', 'retryAfterMs'])
		expect(classify(hostile(property))).toEqual(UNKNOWN)
	const { proxy, revoke } = Proxy.revocable({}, {})
	revoke()
	expect(classify(proxy)).toEqual(UNKNOWN)
	expect(isRetryableNetworkError(proxy)).toBe(false)
})

test('ordinary words do not make an unknown error a known one', () => {
	for (const message of [
		'no signal',
		'https://example.com is slow',
		'http request was odd',
		'grpc is not for everyone',
		'your account is locked',
		'throttle must be a number',
		'timeout must be positive',
		'Error',
	])
		expect(classify(new Error(message)), message).toEqual(UNKNOWN)
})

test('a status of 600 is no HTTP status, so the message counts', () => {
	expect(classify(error('read ECONNRESET', { status: 600 }))).toEqual(TRANSIENT)
	expect(classify(error('read ECONNRESET', { status: 599 }))).toEqual(classify(error('', { status: 599 })))
})

test('a timeout of the package to which user code has added a field is classified by the field too', () => {
	const timedOut = new TimeoutError('timeout', 10)
	expect(classify(timedOut)).toEqual(TRANSIENT)
	expect(classify(Object.assign(timedOut, { retryable: false }))).toEqual(PERMANENT)
})

test('a field that the class of an error computes counts like a field of the error', () => {
	class Gone extends Error {
		get status() {
			return 410
		}
	}
	expect(classify(new Gone('no signal'))).toEqual(PERMANENT)
})

test('classifies by the first 256 characters of a message only', () => {
	expect(classify(error(`${'x '.repeat(200)} ECONNRESET`))).toEqual(UNKNOWN)
})

test('a part after an aggregate that contains itself still counts', () => {
	const aggregate = new AggregateError([])
	aggregate.errors.push(aggregate, error('', { code: 'ECONNRESET' }))
	expect(classify(aggregate)).toEqual(TRANSIENT)
})

test('an error label of MongoDB counts without a code', () => {
	expect(classify(error('no signal', { errorLabels: ['RetryableWriteError'] }))).toEqual(TRANSIENT)
})

test.each([0, 17])('%d is no gRPC code of an error, so the message counts', (code) => {
	expect(classify(error('read ECONNRESET', { code, details: 'no signal' }))).toEqual(TRANSIENT)
})
