import { describe, expect, it } from 'vitest'
import { classify, HttpError, isRetryableNetworkError, permanent } from 'yaoki'

const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

describe('regressions', () => {
	it.each([
		{ status: 422, code: 'order_cancelled' },
		{ status: 400, code: 'invalid_timeout' },
		{ status: 400, code: 'account_busy' },
		{ status: 404, errors: [{ message: 'aborted' }] },
	])('a business code beside a client error status is permanent: %o', (error) => {
		expect(classify(error)).toEqual({ kind: 'permanent', isKnown: true })
	})

	it("S3's RequestTimeout with status 400 and a 408 are transient", () => {
		expect(classify({ name: 'RequestTimeout', $metadata: { httpStatusCode: 400 } }).kind).toBe('transient')
		expect(classify({ status: 408, code: 'request_timeout' }).kind).toBe('transient')
	})

	it.each([
		{ message: 'TypeError: fetch failed', details: 'stack', hint: '', code: '' },
		{ code: -1, details: 'd', message: 'socket hang up' },
		Object.assign(new Error('w', { cause: reset }), { code: null, metadata: {} }),
	])('a code that is not a gRPC code does not hide the message and the cause: %o', (error) => {
		expect(classify(error)).toEqual({ kind: 'transient', isKnown: true })
		expect(isRetryableNetworkError(error)).toBe(true)
	})

	it('keeps the Retry-After of a wrapped error', () => {
		const asked = new HttpError(429, undefined, { retryAfterMs: 5000 })
		expect(classify(new Error('w', { cause: asked }))).toEqual({
			kind: 'throttled',
			isKnown: true,
			retryAfterMs: 5000,
		})
		expect(classify(new AggregateError([new Error('x'), asked]))).toMatchObject({ retryAfterMs: 5000 })
	})

	it('reads at most a hundred parts of an aggregate', () => {
		let read = 0
		const errors = Array.from({ length: 10_000 }, () => ({ toString: () => 'x' }))
		for (const error of errors) Object.defineProperty(error, 'code', { get: () => void read++ })
		classify({ errors: [...errors, ...new Array<string>(10_000).fill('ECONNRESET')] })
		expect(read).toBeLessThan(200)
	})

	it('reads the SQLSTATE of MySQL from sqlState: a violated constraint is permanent', () => {
		expect(classify({ code: 'ER_DUP_ENTRY', errno: 1062, sqlState: '23000' }).kind).toBe('permanent')
		expect(classify({ code: 'ER_LOCK_DEADLOCK', errno: 1213, sqlState: '40001' }).kind).toBe('transient')
	})

	it('permanent rejects a primitive with a readable error', () => {
		expect(() => permanent('x' as never)).toThrow(
			'Invalid argument "error": expected an object, such as an Error, got "x"',
		)
	})

	it('the error of a hook that returns a promise is permanent', () => {
		expect(classify(Object.assign(new Error('h'), { code: 'YAOKI_ASYNC_HOOK' })).kind).toBe('permanent')
	})
})
