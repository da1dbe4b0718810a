import { describe, expect, test } from 'vitest'
import { parseServiceConfig } from 'yaoki/grpc'
import { runWithContext } from 'yaoki/node'
import { readGrpcOptions } from '../../../src/grpc/policy/options.ts'

const read = (options: object) => readGrpcOptions(options, 'resilientInterceptor')

describe('the options of a gRPC client', () => {
	test('have a breaker, but neither bulkhead nor budget by default', () => {
		const { circuitBreaker, bulkhead, budget } = read({})
		expect([circuitBreaker, bulkhead, budget]).toEqual([{}, undefined, undefined])
	})

	test('switch policies on and off with booleans', () => {
		const on = read({ circuitBreaker: true, bulkhead: true, budget: true })
		expect([on.circuitBreaker, on.bulkhead, on.budget]).toEqual([{}, {}, {}])
		const off = read({ circuitBreaker: false, bulkhead: false, budget: false })
		expect([off.circuitBreaker, off.bulkhead, off.budget]).toEqual([undefined, undefined, undefined])
	})

	test('take the parent call from the async context by default', async () => {
		const { getContext } = read({})
		const signal = new AbortController().signal
		expect(getContext()).toBeUndefined()
		await runWithContext({ signal }, async () => {
			expect(getContext()?.signal).toBe(signal)
		})
	})

	test.each<[string, object, string]>([
		['a misspelled name', { serviceconfig: {} }, 'serviceConfig'],
		['a service config as JSON', { serviceConfig: { methodConfig: [] } }, 'parseServiceConfig(json)'],
		['a negative countedDeadlineMs', { countedDeadlineMs: -1 }, 'countedDeadlineMs'],
		['no breaker at all', { maxCircuitBreakers: 0 }, 'maxCircuitBreakers'],
		['a buffer without limit', { maxBufferBytes: Infinity }, 'maxBufferBytes'],
		['a circuitBreakerKey that is no function', { circuitBreakerKey: 'service' }, 'circuitBreakerKey'],
	])('are rejected with the name of the option: %s', (_, options, name) => {
		expect(() => read(options)).toThrow(name)
	})

	test('accept a service config that was parsed', () => {
		const serviceConfig = parseServiceConfig({ methodConfig: [] })
		expect(read({ serviceConfig }).serviceConfig).toBe(serviceConfig)
	})
})
