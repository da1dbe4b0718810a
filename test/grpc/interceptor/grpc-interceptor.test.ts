import * as connect from '@connectrpc/connect'
import * as grpc from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import {
	resilientConnectInterceptor,
	resilientConnectServerInterceptor,
	resilientInterceptor,
	resilientNiceMiddleware,
	resilientServerInterceptor,
} from 'yaoki/grpc'
import { extendInterceptor, type GrpcListener } from '../../../src/grpc/interceptor/grpc-interceptor.ts'
import { nice } from '../nice/nice-module.ts'

/** An engine that counts what it is asked for. */
function setup() {
	const listeners = new Set<GrpcListener>()
	const engine = {
		calls: 0,
		get stats() {
			return { calls: this.calls }
		},
		subscribe(listener: GrpcListener) {
			listeners.add(listener)
			return () => void listeners.delete(listener)
		},
		observation: () => ({ kind: 'policy' as const, engine }) as never,
	}
	const original = (name: string) => `hello ${name}`
	return { engine, listeners, original, interceptor: extendInterceptor(original, engine) }
}

describe('an extended interceptor', () => {
	test('is the same function', () => {
		const { original, interceptor } = setup()
		expect(interceptor).toBe(original)
		expect(interceptor('world')).toBe('hello world')
	})

	test('reads the statistics when they are asked for', () => {
		const { engine, interceptor } = setup()
		expect(interceptor.stats).toEqual({ calls: 0 })
		engine.calls = 5
		expect(interceptor.stats).toEqual({ calls: 5 })
	})

	test('subscribes and unsubscribes without its receiver', () => {
		const { listeners, interceptor } = setup()
		const { subscribe } = interceptor
		const listener = () => {}
		const unsubscribe = subscribe(listener)
		expect([...listeners]).toEqual([listener])
		unsubscribe()
		expect(listeners.size).toBe(0)
	})

	test('shows its observation', () => {
		const { engine, interceptor } = setup()
		expect(interceptor['~observable']()).toEqual({ kind: 'policy', engine })
	})
})

describe.each([
	['resilientInterceptor', () => resilientInterceptor(grpc)],
	['resilientConnectInterceptor', () => resilientConnectInterceptor(connect)],
	['resilientNiceMiddleware', () => resilientNiceMiddleware(nice)],
	['resilientServerInterceptor', () => resilientServerInterceptor(grpc)],
	['resilientConnectServerInterceptor', () => resilientConnectServerInterceptor(connect)],
])('%s', (_, create) => {
	test('returns a function with statistics of no call', () => {
		const interceptor = create()
		expect(typeof interceptor).toBe('function')
		expect(interceptor.stats).toMatchObject({ calls: 0, failures: 0 })
		expect(typeof interceptor.subscribe(() => {})).toBe('function')
	})
})
