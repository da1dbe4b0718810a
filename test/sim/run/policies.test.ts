import { describe, expect, it, vi } from 'vitest'
import {
	bulkhead,
	circuitBreaker,
	InvalidArgumentError,
	InvalidOptionError,
	keyed,
	pipeline,
	retry,
	timeout,
} from 'yaoki'
import { type PolicyLayer, type PolicyModel, simulate } from 'yaoki/sim'
import { EventLoop } from '../../../src/sim/kernel/event-loop.ts'
import type { PolicyFactoryContext } from '../../../src/sim/scenario/layers.ts'
import { policyFactory } from '../../../src/sim/scenario/layers.ts'
import { every, setup, web } from '../setup.ts'

const outage = { kind: 'outage', fromMs: 100, toMs: 600 } as const
const met = (policy: PolicyModel, seed = 1) =>
	simulate(
		setup({
			api: { workers: 3, serviceTimeMs: { kind: 'exponential', meanMs: 20 }, faults: [outage] },
			web: { arrivals: { kind: 'poisson', perSecond: 100 } },
			policy,
			rest: { durationMs: 3_000, seed },
		}),
	)

describe('a policy as a function', () => {
	const layers: readonly PolicyLayer[] = [
		{ bulkhead: { maxConcurrent: 5, maxQueue: 10 } },
		{ circuitBreaker: { failureThreshold: 4, resetTimeoutMs: 200 } },
		{ retry: { maxRetries: 2, baseDelayMs: 30 } },
		{ timeoutMs: 80 },
	]
	const production = () =>
		pipeline(
			bulkhead({ maxConcurrent: 5, maxQueue: 10 }),
			circuitBreaker({ failureThreshold: 4, resetTimeoutMs: 200 }),
			retry({ maxRetries: 2, baseDelayMs: 30 }),
			timeout(80),
		)

	it('behaves like the same layers as data, to the last event', () => {
		expect(met(production)).toEqual(met(layers))
	})

	it('inherits the virtual time and the random stream of the run', () => {
		expect(met(production).traceHash).toBe(met(production).traceHash)
		expect(met(production, 2).traceHash).not.toBe(met(production).traceHash)
	})

	it('is called for each run and for each instance', () => {
		const make = vi.fn(({ runtime }: PolicyFactoryContext) => {
			expect(runtime.now()).toBe(0)
			return retry()
		})
		simulate(setup({ web: { arrivals: every(1, 9), instances: 3 }, policy: make }))
		expect(make).toHaveBeenCalledTimes(3)
		simulate(setup({ policy: make }))
		expect(make).toHaveBeenCalledTimes(4)
	})

	it('is not called if it is unused', () => {
		const make = vi.fn(() => retry())
		simulate(setup({ rest: { policies: { spare: make } } }))
		expect(make).not.toHaveBeenCalled()
	})

	it.each([undefined, null, {}, 'retry', [], Promise.resolve(retry())])(
		'is rejected if it returns %s',
		(made) => {
			const act = () => met((() => made) as never)
			expect(act).toThrow(InvalidOptionError)
			expect(act).toThrow('a function that returns a policy')
		},
	)

	it('whose key function returns no string ends the simulation with that error', () => {
		const byNumber = () =>
			keyed(
				() => 7 as never,
				() => retry(),
			)
		expect(() => met(byNumber)).toThrow(InvalidArgumentError)
	})

	it('ends the simulation with its error if it throws', () => {
		const thrown = new RangeError('my own')
		expect(() =>
			met(() => {
				throw thrown
			}),
		).toThrow(thrown)
	})

	it('whose hook throws ends the simulation with that error', () => {
		const thrown = new RangeError('my own')
		const shouldRetry = () => {
			throw thrown
		}
		expect(() => met(() => retry({ shouldRetry }))).toThrow(thrown)
	})

	it('is rejected if it returns a policy of an earlier run', () => {
		const breaker = circuitBreaker()
		const again = () => pipeline(retry(), breaker)
		met(again)
		expect(() => met(again)).toThrow('a function that returns a new policy on each call')
	})

	it('may return the same policy to all instances of a run', () => {
		const policy: PolicyModel = ({ once }) => once('all', () => circuitBreaker())
		const run = () => simulate(setup({ web: { arrivals: every(1, 9), instances: 3 }, policy }))
		expect(run().traceHash).toBe(run().traceHash)
	})
})

it('a policy instance is rejected', () => {
	for (const policy of [retry(), pipeline(circuitBreaker(), retry())])
		expect(() => met(policy as never)).toThrow('a list of layers, or a function that returns a new policy')
})

it('shared layers have their own random streams, by their path', () => {
	const loop = new EventLoop(1, 1e6)
	const runtime = vi.spyOn(loop, 'runtime')
	const make = policyFactory(loop, {
		p: [
			{ retry: { budget: { shared: true } }, shared: true },
			{ adaptiveThrottle: {}, shared: true },
		],
	})
	make('p', 'clients.web[0]')
	make('p', 'clients.web[1]')
	expect(runtime.mock.calls.flat()).toEqual([
		'clients.web[0] policy',
		'policies.p[0] shared',
		'policies.p[0].retry.budget shared',
		'policies.p[1] shared',
		'clients.web[1] policy',
	])
})

it('an empty list is a policy without effect', () => {
	expect(web(met([]))).toEqual(web(met(() => pipeline())))
	expect(web(met([])).requests).toBe(web(met([])).calls)
})

it('each layer of a list behaves like its factory', () => {
	const one = (layer: PolicyLayer) => web(met([layer]))
	const plain = web(met([]))
	expect(one({ retry: { baseDelayMs: 10 } }).retries).toBeGreaterThan(0)
	expect(one({ timeoutMs: 5 }).failed).toBeGreaterThan(plain.failed)
	expect(one({ circuitBreaker: {} }).rejected).toBeGreaterThan(0)
	expect(one({ bulkhead: { maxConcurrent: 1, maxQueue: 0 } }).rejected).toBeGreaterThan(0)
	expect(
		one({ adaptiveBulkhead: { maxConcurrent: 1, initialConcurrent: 1, maxQueue: 0 } }).rejected,
	).toBeGreaterThan(0)
	expect(one({ hedge: { delayMs: 5 } }).retries).toBeGreaterThan(0)
	expect(one({ rateLimiter: { limit: 10, intervalMs: 1_000, maxWaitMs: 0 } }).rejected).toBeGreaterThan(0)
	expect(one({ adaptiveThrottle: { k: 1.1 } }).rejected).toBeGreaterThan(0)
})
