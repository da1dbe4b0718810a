import { describe, expect, test } from 'vitest'
import { BulkheadRejectedError, Deadline } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { type GrpcMethod, Rpc, readContext, ThrownByHook } from '../../../src/grpc/policy/rpc.ts'
import { GrpcStatusError } from '../../../src/grpc/status/status-error.ts'
import { parseMethod } from '../service-config/configs.ts'

const methodOf = (timeout?: string): GrpcMethod => ({
	path: '/shop.Orders/Get',
	service: 'shop.Orders',
	method: 'Get',
	config: timeout === undefined ? undefined : parseMethod({ timeout }),
	isRepeatable: false,
})

/** Returns the remaining times of a call, with its caller's deadline, its method's timeout and its parent's deadline. */
function times(deadlineMs: number, timeout?: string, parentMs?: number) {
	const runtime = virtualRuntime()
	const parent = parentMs === undefined ? {} : { deadline: Deadline.after(parentMs, { runtime }) }
	const rpc = new Rpc(methodOf(timeout), deadlineMs, parent, runtime)
	return [rpc.givenMs, rpc.deadline?.remainingMs, rpc.isDeadlineInherited]
}

describe('the deadline of a call', () => {
	test('is the earliest of the caller, the method and the parent call', () => {
		expect(times(100, '0.2s', 300)).toEqual([100, 100, false])
		expect(times(200, '0.1s', 300)).toEqual([100, 100, false])
		expect(times(200, '0.3s', 100)).toEqual([100, 100, true])
	})

	test('is not inherited if the parent call has the same one', () => {
		expect(times(100, undefined, 100)).toEqual([100, 100, false])
	})

	test('is undefined if none of them has one', () => {
		expect(times(Infinity)).toEqual([Infinity, undefined, false])
	})

	test('does not grow if the process stood still after the caller gave it', async () => {
		const runtime = virtualRuntime()
		const givenAt = runtime.now()
		await runtime.advance(30)
		const rpc = new Rpc(methodOf(), 100, undefined, runtime, givenAt)
		expect([rpc.givenMs, rpc.deadline?.remainingMs]).toEqual([100, 70])
		await runtime.advance(200)
		expect(new Rpc(methodOf(), 100, undefined, runtime, givenAt).deadline?.isExpired).toBe(true)
	})
})

describe('the status name of a call', () => {
	const rpcWith = (call: object) => {
		const rpc = new Rpc(methodOf(), Infinity, undefined, virtualRuntime())
		rpc.call = call as never
		return rpc
	}

	test('is undefined before its last attempt has ended', () => {
		expect(new Rpc(methodOf(), Infinity, undefined, virtualRuntime()).statusName).toBeUndefined()
		expect(rpcWith({ ok: true, value: undefined, isOver: false }).statusName).toBeUndefined()
		expect(rpcWith({ ok: false, value: undefined }).statusName).toBeUndefined()
	})

	test('is OK only if the call is over', () => {
		expect(rpcWith({ ok: true, isOver: true }).statusName).toBe('OK')
	})

	test('is the status of the server, or the status of a policy that has rejected the call', () => {
		const failure = new GrpcStatusError({ code: 5, details: '', metadata: undefined })
		expect(rpcWith({ ok: false, value: failure }).statusName).toBe('NOT_FOUND')
		const rejection = new BulkheadRejectedError('orders', 'bulkhead-full', 'full')
		expect(rpcWith({ ok: false, value: rejection }).statusName).toBe('RESOURCE_EXHAUSTED')
	})

	test('is in the fields of events, without fields that are unknown', () => {
		const rpc = rpcWith({ ok: true, isOver: false })
		expect(rpc.eventFields).toEqual({ grpcService: 'shop.Orders' })
		rpc.committedBy = 'buffer'
		rpc.call = { ok: true, isOver: true } as never
		expect(rpc.eventFields).toEqual({
			grpcService: 'shop.Orders',
			grpcStatus: 'OK',
			grpcCommittedBy: 'buffer',
		})
	})
})

describe('the context of a call', () => {
	test('is what getContext returns', () => {
		const context = {}
		expect(readContext(() => context)).toBe(context)
		expect(readContext(() => undefined)).toBeUndefined()
	})

	test('shows what getContext has thrown, also if it is undefined', () => {
		const thrown = readContext(() => {
			throw undefined
		})
		expect(thrown).toBeInstanceOf(ThrownByHook)
		expect(thrown).toEqual({ error: undefined })
	})
})
