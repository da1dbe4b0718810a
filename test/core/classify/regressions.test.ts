import { describe, expect, it } from 'vitest'
import { classify, HttpError, isRetryableNetworkError, permanent } from 'yaoki'

const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

describe('once broken', () => {
	it.each([
		{ status: 422, code: 'order_cancelled' },
		{ status: 400, code: 'invalid_timeout' },
		{ status: 400, code: 'account_busy' },
		{ status: 404, errors: [{ message: 'aborted' }] },
	])('a business code beside a client error was taken for something that passes: %o', (error) => {
		expect(classify(error)).toEqual({ kind: 'permanent', isKnown: true })
	})

	it('but the RequestTimeout that S3 answers with 400 does pass, and so does 408', () => {
		expect(classify({ name: 'RequestTimeout', $metadata: { httpStatusCode: 400 } }).kind).toBe('transient')
		expect(classify({ status: 408, code: 'request_timeout' }).kind).toBe('transient')
	})

	it.each([
		{ message: 'TypeError: fetch failed', details: 'stack', hint: '', code: '' },
		{ code: -1, details: 'd', message: 'socket hang up' },
		Object.assign(new Error('w', { cause: reset }), { code: null, metadata: {} }),
	])('a code that is no gRPC code hid the message and the cause: %o', (error) => {
		expect(classify(error)).toEqual({ kind: 'transient', isKnown: true })
		expect(isRetryableNetworkError(error)).toBe(true)
	})

	it('Retry-After was lost when the error that asked for it was wrapped', () => {
		const asked = new HttpError(429, undefined, { retryAfterMs: 5000 })
		expect(classify(new Error('w', { cause: asked }))).toEqual({
			kind: 'throttled',
			isKnown: true,
			retryAfterMs: 5000,
		})
		expect(classify(new AggregateError([new Error('x'), asked]))).toMatchObject({ retryAfterMs: 5000 })
	})

	it('every one of thousands of strings in an aggregate was read', () => {
		let read = 0
		const errors = Array.from({ length: 10_000 }, () => ({ toString: () => 'x' }))
		for (const error of errors) Object.defineProperty(error, 'code', { get: () => void read++ })
		classify({ errors: [...errors, ...new Array<string>(10_000).fill('ECONNRESET')] })
		expect(read).toBeLessThan(200)
	})

	it('MySQL keeps its SQLSTATE elsewhere, and a broken constraint there was retried', () => {
		expect(classify({ code: 'ER_DUP_ENTRY', errno: 1062, sqlState: '23000' }).kind).toBe('permanent')
		expect(classify({ code: 'ER_LOCK_DEADLOCK', errno: 1213, sqlState: '40001' }).kind).toBe('transient')
	})

	it('a primitive can not be marked, and the error said something about weak sets', () => {
		expect(() => permanent('x' as never)).toThrow(
			'Invalid option "permanent(error)": expected an object, got "x"',
		)
	})

	it('a hook that returned a promise counted as something that passes', () => {
		expect(classify(Object.assign(new Error('h'), { code: 'YAOKI_ASYNC_HOOK' })).kind).toBe('permanent')
	})
})
