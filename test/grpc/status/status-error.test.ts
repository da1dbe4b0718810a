import { describe, expect, test } from 'vitest'
import { BulkheadRejectedError, classify, DeadlineExceededError, RateLimitedError, TimeoutError } from 'yaoki'
import { INTERNAL, STATUS_NAMES } from '../../../src/grpc/status/status.ts'
import {
	classifyStatus,
	type FailedStatus,
	GrpcStatusError,
	isOversized,
	lostConnectionOf,
	setLostConnection,
	setOversized,
	statusOf,
} from '../../../src/grpc/status/status-error.ts'

const errorOf = (status: Partial<FailedStatus>, options?: ErrorOptions) =>
	new GrpcStatusError({ code: 14, details: 'down', metadata: undefined, ...status }, options)

describe('a GrpcStatusError', () => {
	test('names code and details in its message, and has them in fields', () => {
		const cause = new Error('reset')
		const error = errorOf({ pushbackMs: 5 }, { cause })
		expect(error.message).toBe('14 UNAVAILABLE: down')
		expect(error).toMatchObject({
			name: 'GrpcStatusError',
			code: 14,
			statusName: 'UNAVAILABLE',
			details: 'down',
			pushbackMs: 5,
			isInherited: false,
			cause,
		})
	})

	test('has no colon without details, and no cause that was not given', () => {
		const error = errorOf({ code: 99, details: '' })
		expect(error.message).toBe('99 UNKNOWN')
		expect('cause' in error).toBe(false)
	})
})

describe('the classification of a status', () => {
	test.each(STATUS_NAMES.map((name, code) => [name, code] as const).slice(1))(
		'is the one of core for an error of %s',
		(_, code) => {
			expect(classifyStatus(errorOf({ code }))).toEqual(classify({ code, details: 'down' }))
		},
	)

	test('is transient for a code that gRPC does not define', () => {
		expect(classifyStatus(errorOf({ code: 99 }))).toEqual({ kind: 'transient', isKnown: true })
	})

	test('has the delay that the server asks for, also 0', () => {
		expect(classifyStatus(errorOf({ pushbackMs: 0 })).retryAfterMs).toBe(0)
		expect(classifyStatus(errorOf({ pushbackMs: 700 })).retryAfterMs).toBe(700)
	})

	test('has no delay if the server asks for none or forbids retries', () => {
		expect(classifyStatus(errorOf({}))).not.toHaveProperty('retryAfterMs')
		expect(classifyStatus(errorOf({ pushbackMs: -1 }))).not.toHaveProperty('retryAfterMs')
	})

	test('is cancelled if the deadline of the calling request has passed', () => {
		expect(classifyStatus(errorOf({ code: 4, isInherited: true })).kind).toBe('cancelled')
	})

	test('is permanent for a message that was too large to send', () => {
		const error = errorOf({ code: 8 })
		const before = classifyStatus(error)
		setOversized(error)
		expect(before.kind).not.toBe('permanent')
		expect(classifyStatus(error)).toEqual({ kind: 'permanent', isKnown: true })
	})
})

describe('the status of a failure that did not come from the server', () => {
	test.each<[string, unknown, string]>([
		['a rejected call', new BulkheadRejectedError('orders', 'bulkhead-full', 'full'), 'RESOURCE_EXHAUSTED'],
		['a rate limit', new RateLimitedError('orders', 100), 'RESOURCE_EXHAUSTED'],
		['a timeout', new TimeoutError('orders', 100), 'DEADLINE_EXCEEDED'],
		['a deadline', new DeadlineExceededError(), 'DEADLINE_EXCEEDED'],
		['an error of user code', new TypeError('x is undefined'), 'INTERNAL'],
		['a thrown string', 'boom', 'INTERNAL'],
	])('%s', (_, error, name) => {
		expect(STATUS_NAMES[statusOf(error).code]).toBe(name)
	})

	test('has the message of the error as details, and survives an error whose message throws', () => {
		expect(statusOf(new Error('boom'))).toEqual({ code: INTERNAL, details: 'boom' })
		const hostile = Object.defineProperty(new Error(), 'message', {
			get() {
				throw new Error('no message')
			},
		})
		expect(statusOf(hostile).code).toBe(INTERNAL)
	})
})

describe('what is known about a failure', () => {
	test('belongs to one error, and not to an equal one', () => {
		const [error, equal] = [errorOf({}), errorOf({})]
		const lost = { peer: '10.0.0.1:443', attempt: 3 }
		setOversized(error)
		setLostConnection(error, lost)
		expect([isOversized(error), lostConnectionOf(error)]).toEqual([true, lost])
		expect([isOversized(equal), lostConnectionOf(equal)]).toEqual([false, undefined])
	})

	test.each([undefined, null, 'text', 5, {}])('is nothing for %j', (value) => {
		expect([isOversized(value), lostConnectionOf(value)]).toEqual([false, undefined])
	})
})
