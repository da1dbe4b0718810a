/** Methods, breaker keys and statistics of the engine that the client interceptors share. */
import { describe, expect, test } from 'vitest'
import { type GrpcClientOptions, parseServiceConfig } from 'yaoki/grpc'
import { virtualRuntime } from 'yaoki/testing'
import { GrpcEngine } from '../../../src/grpc/policy/grpc-engine.ts'
import { readGrpcOptions } from '../../../src/grpc/policy/options.ts'
import { Rpc } from '../../../src/grpc/policy/rpc.ts'
import { GrpcStatusError } from '../../../src/grpc/status/status-error.ts'
import { HEDGING, RETRY, THROTTLING } from '../service-config/configs.ts'

const UNAVAILABLE = new GrpcStatusError({ code: 14, details: 'down', metadata: undefined })

function setup(options: GrpcClientOptions = {}) {
	const runtime = virtualRuntime()
	const engine = new GrpcEngine(readGrpcOptions({ runtime, ...options }, 'resilientInterceptor'))
	/** Runs a call, and returns its outcome. */
	const call = async (path: string, attempt: () => unknown, server = 'dns:users') => {
		const rpc = new Rpc(engine.methodOf(path), Infinity, undefined, runtime)
		const created = engine.createCall(
			rpc,
			async () => {
				engine.countAttempt()
				return attempt()
			},
			() => server,
		)
		const outcome = engine.run(created).then(
			() => 'ok',
			(error) => (error instanceof Error ? error.name : error),
		)
		await runtime.runUntilIdle()
		engine.end(rpc, (await outcome) === 'ok')
		return outcome
	}
	const fail = () => {
		throw UNAVAILABLE
	}
	return { engine, runtime, call, fail }
}

describe('the methods of an engine', () => {
	const serviceConfig = parseServiceConfig({
		methodConfig: [
			{ name: [{ service: 'shop.Orders', method: 'Get' }], retryPolicy: RETRY },
			{ name: [{ service: 'shop.Orders', method: 'List' }], hedgingPolicy: HEDGING },
			{ name: [{ service: 'shop.Orders' }], timeout: '1s' },
		],
	})

	test.each([
		['/shop.Orders/Get', true],
		['/shop.Orders/List', true],
		['/shop.Orders/Create', false],
		['/shop.Users/Get', false],
	])('%s is repeatable: %s', (path, isRepeatable) => {
		const { engine } = setup({ serviceConfig })
		const [, service, method] = path.split('/')
		expect(engine.methodOf(path)).toMatchObject({ path, service, method, isRepeatable })
	})

	test('have the settings of the service config', () => {
		const { engine } = setup({ serviceConfig })
		expect(engine.methodOf('/shop.Orders/Create').config?.timeoutMs).toBe(1_000)
		expect(engine.methodOf('/shop.Users/Get').config).toBeUndefined()
	})

	test('are parsed once, until a thousand other paths were called', () => {
		const { engine } = setup({ serviceConfig })
		const first = engine.methodOf('/shop.Orders/Get')
		expect(engine.methodOf('/shop.Orders/Get')).toBe(first)
		for (let n = 0; n < 1_000; n++) engine.methodOf(`/shop.Orders/Generic${n}`)
		expect(engine.methodOf('/shop.Orders/Get')).not.toBe(first)
		expect(engine.methodOf('/shop.Orders/Get')).toEqual(first)
	})
})

describe('the key of a breaker', () => {
	test('separates the circuits of services, and reads the target when it is used', async () => {
		const { engine, call, fail } = setup({
			circuitBreaker: { failureThreshold: 1 },
			circuitBreakerKey: ({ service, target }) => `${service} of ${target}`,
		})
		expect(await call('/shop.Orders/Get', fail)).toBe('GrpcStatusError')
		expect(await call('/shop.Orders/Get', () => 1)).toBe('CircuitOpenError')
		expect(await call('/shop.Users/Get', () => 1)).toBe('ok')
		expect(engine.stats.circuits).toMatchObject({
			'shop.Orders of dns:users': { state: 'open' },
			'shop.Users of dns:users': { state: 'closed' },
		})
	})

	test('ends the call with the error that circuitBreakerKey throws, before any attempt', async () => {
		const circuitBreakerKey = () => {
			throw new RangeError('no key')
		}
		const { engine, call } = setup({ circuitBreakerKey })
		expect(await call('/shop.Orders/Get', () => 1)).toBe('RangeError')
		expect(engine.stats).toMatchObject({ calls: 1, failures: 1, attempts: 0 })
	})

	test('can be evicted above maxCircuitBreakers when its calls have ended', async () => {
		const { engine, call } = setup({ maxCircuitBreakers: 2, circuitBreakerKey: ({ method }) => method })
		for (const method of ['A', 'B', 'C']) await call(`/shop.Orders/${method}`, () => 1)
		const keys = Object.keys(engine.stats.circuits)
		expect(keys).toContain('C')
		expect(keys).not.toContain('A')
	})
})

describe('the statistics of an engine', () => {
	test('count calls, failures and attempts, and the tokens of retryThrottling', async () => {
		const serviceConfig = parseServiceConfig({
			methodConfig: [{ name: [{}], retryPolicy: RETRY }],
			retryThrottling: THROTTLING,
		})
		const { engine, call, fail } = setup({ serviceConfig, circuitBreaker: false })
		expect(await call('/shop.Orders/Get', () => 1)).toBe('ok')
		expect(await call('/shop.Orders/Get', fail)).toBe('GrpcStatusError')
		expect(engine.stats).toMatchObject({
			calls: 2,
			failures: 1,
			attempts: 1 + RETRY.maxAttempts,
			bufferedBytes: 0,
			circuits: {},
			bulkhead: undefined,
		})
		expect(engine.stats.throttling).toBeDefined()
		expect(engine.stats.retriesAvailable).toBeUndefined()
	})

	test('have one member for each method config, under the key of its breaker', async () => {
		const { engine, call } = setup({ circuitBreakerKey: ({ service }) => service })
		await call('/shop.Orders/Get', () => 1)
		const keys = [...(engine.observation().members?.() ?? [])].map(([key]) => key)
		expect(keys).toEqual(['', 'shop.Orders'])
	})
})
