import { describe, expect, test } from 'vitest'
import { Deadline, DeadlineExceededError } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import {
	DiscardedError,
	expired,
	invalidMetadata,
	isAtDeadline,
	parentFailure,
	rejectionOf,
	stoppedReading,
} from '../../../src/grpc/policy/call-failures.ts'
import { statusOf } from '../../../src/grpc/status/status-error.ts'

describe('the failure of a call whose parent call has ended', () => {
	test('is DEADLINE_EXCEEDED if its deadline has passed, and inherited', () => {
		const cause = new DeadlineExceededError()
		const failure = parentFailure(cause)
		expect(failure).toMatchObject({ statusName: 'DEADLINE_EXCEEDED', isInherited: true, cause })
	})

	test('is CANCELLED for any other reason, and has a cause only if there is a reason', () => {
		const cause = new Error('the user has left')
		expect(parentFailure(cause)).toMatchObject({ statusName: 'CANCELLED', isInherited: true, cause })
		expect('cause' in parentFailure(undefined)).toBe(false)
	})
})

describe('a DEADLINE_EXCEEDED of the server', () => {
	const deadline = (ms: number) => Deadline.after(ms, { runtime: virtualRuntime() })

	test('reports the deadline of the call if less than 5 ms of it are left', () => {
		expect([isAtDeadline(4, deadline(4.9)), isAtDeadline(4, deadline(5))]).toEqual([true, false])
	})

	test('does not report a deadline that the call does not have', () => {
		expect(isAtDeadline(4, undefined)).toBe(false)
	})

	test('is the only status that reports it', () => {
		expect(isAtDeadline(1, deadline(0))).toBe(false)
	})
})

describe('a failure that does not come from the server', () => {
	test.each([
		['invalid metadata', invalidMetadata('metadata "a:b" cannot be sent'), 'INTERNAL', 'abort'],
		['a passed deadline', expired(new DeadlineExceededError(), false), 'DEADLINE_EXCEEDED', 'deadline'],
		['a caller that stops reading', stoppedReading(), 'CANCELLED', 'abort'],
	])('of %s has its status, and says why no attempt follows', (_, error, statusName, stop) => {
		expect(error).toMatchObject({ statusName, isInherited: false, metadata: undefined })
		expect(rejectionOf(error)).toEqual({ error, stop })
	})

	test('of a passed deadline is inherited if the deadline is', () => {
		expect(expired(new DeadlineExceededError(), true).isInherited).toBe(true)
	})

	test('of an attempt that was discarded is CANCELLED', () => {
		expect(statusOf(new DiscardedError()).code).toBe(1)
	})
})
