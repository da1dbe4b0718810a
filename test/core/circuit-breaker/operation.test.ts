import { describe, expect, test, vi } from 'vitest'
import { circuitBreaker } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { calls, errorOf, Held, opened, sensitive, setup } from './setup.ts'

describe('isolate', () => {
	test('rejects every call until it is released, whatever time passes', async () => {
		const { breaker, clock } = setup()
		const release = breaker.isolate()
		await clock.advance(1e9)
		const work = vi.fn()
		expect(errorOf(await breaker.settle(work))).toMatchObject({
			code: 'YAOKI_CIRCUIT_OPEN',
			retryAfterMs: Infinity,
		})
		expect(work).not.toHaveBeenCalled()
		release()
		expect(breaker.currentState).toBe('closed')
		expect(await breaker.execute(() => 1)).toBe(1)
	})

	test('an isolated open circuit is released into the rest of its open time', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(400)
		const release = breaker.isolate()
		expect(breaker.currentState).toBe('isolated')
		release()
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 600, failureCount: 1 })
	})

	test('emits its own events: the changes of state, and why calls are rejected', async () => {
		const { breaker } = await opened()
		const events: unknown[] = []
		breaker.subscribe((event) => {
			if (event.type === 'state_change') events.push([event.from, event.to])
			if (event.type === 'rejected') events.push(event.reason)
		})
		await calls(breaker, 's')
		const release = breaker.isolate()
		await calls(breaker, 's')
		release()
		expect(events).toEqual(['circuit-open', ['open', 'isolated'], 'isolated', ['isolated', 'open']])
	})

	test('an isolation by several callers lasts until all have released it, each once', async () => {
		const { breaker } = setup()
		const [one, two] = [breaker.isolate(), breaker.isolate()]
		one()
		one()
		expect(breaker.currentState).toBe('isolated')
		two()
		expect(breaker.currentState).toBe('closed')
		const three = breaker.isolate()
		two()
		expect(breaker.currentState).toBe('isolated')
		three()
		expect(breaker.currentState).toBe('closed')
	})

	test('runs the fallback of each call meanwhile', async () => {
		const { breaker } = setup()
		breaker.isolate()
		expect(
			await breaker.execute(
				() => 'setup',
				() => 'from the cache',
			),
		).toBe('from the cache')
	})

	test('ignores the results of calls in flight', async () => {
		const { breaker } = setup(sensitive)
		const held = new Held()
		const answer = breaker.settle(held.work)
		breaker.isolate()()
		held.fail()
		await answer
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})
})

describe('reset', () => {
	test('lets calls pass immediately and clears all failures', async () => {
		const { breaker } = await opened({ failureThreshold: 2 })
		await calls(breaker, 'f')
		expect(breaker.currentState).toBe('open')
		breaker.reset()
		expect(breaker.stats).toMatchObject({
			state: 'closed',
			failureCount: 0,
			rejectedCount: 0,
			retryAfterMs: 0,
		})
		await calls(breaker, 'f')
		expect(breaker.currentState).toBe('closed')
	})

	test('clears successes, also those that are not in the window yet', async () => {
		const { breaker } = setup()
		await calls(breaker, 'ss')
		breaker.reset()
		expect(breaker.stats.successCount).toBe(0)
	})

	test('keeps an isolated circuit isolated', () => {
		const { breaker } = setup()
		breaker.isolate()
		breaker.reset()
		expect(breaker.currentState).toBe('isolated')
	})
})

describe('shadow mode', () => {
	test('goes through all states and never rejects', async () => {
		const changes: string[] = []
		const onStateChange = (_: string, to: string) => changes.push(to)
		const { breaker, clock } = await opened({ shadow: true, onStateChange })
		const work = vi.fn(() => 'setup')
		for (let i = 0; i < 3; i++) expect(await breaker.execute(work)).toBe('setup')
		expect(breaker.stats).toMatchObject({ state: 'open', rejectedCount: 3 })
		await clock.advance(1_000)
		expect(await breaker.execute(work)).toBe('setup')
		expect(changes).toEqual(['open', 'half-open', 'closed'])
		expect(work).toHaveBeenCalledTimes(4)
	})

	test('does not reject while isolated', async () => {
		const { breaker } = setup({ shadow: true })
		breaker.isolate()
		expect(await breaker.execute(() => 1)).toBe(1)
	})

	test('is switched by update', async () => {
		const { breaker } = await opened({ shadow: true })
		breaker.update({ shadow: false })
		expect((await breaker.settle(() => 1)).ok).toBe(false)
		breaker.update({ shadow: true })
		expect((await breaker.settle(() => 1)).ok).toBe(true)
	})
})

describe('update', () => {
	test('keeps the state, the windows and the consecutive failures', async () => {
		const { breaker } = setup({ failureThreshold: 3 })
		await calls(breaker, 'sff')
		breaker.update({ failureThreshold: 4 })
		expect(breaker.stats).toMatchObject({ successCount: 1, failureCount: 2, consecutiveFailures: 2 })
		await calls(breaker, 'f')
		expect(breaker.currentState).toBe('closed')
		await calls(breaker, 'f')
		expect(breaker.currentState).toBe('open')
		breaker.update({ failureThreshold: 99 })
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 30_000 })
	})

	test('keeps settings that are not named or undefined', async () => {
		const { breaker } = setup(sensitive)
		breaker.update({ resetTimeoutMs: 5_000, failureThreshold: undefined })
		await calls(breaker, 'f')
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 5_000 })
	})

	test('update rejects invalid options and changes nothing', async () => {
		const { breaker } = setup(sensitive)
		expect(() => breaker.update({ resetTimeoutMs: 5_000, failureThreshold: 0 })).toThrow('failureThreshold')
		await calls(breaker, 'f')
		expect(breaker.stats.retryAfterMs).toBe(1_000)
	})

	test('applies to calls in flight', async () => {
		const { breaker } = setup({ failureThreshold: 9 })
		const held = new Held()
		const answer = breaker.settle(held.work)
		breaker.update({ failureThreshold: 1 })
		held.fail()
		await answer
		expect(breaker.currentState).toBe('open')
	})

	test('a rate rule that update sets counts from the next call on', async () => {
		const { breaker } = setup()
		await calls(breaker, 's'.repeat(200))
		breaker.update({ errorRateThreshold: 0.5, windowSize: 10, failureThreshold: Infinity })
		await calls(breaker, 'sssssfffff')
		expect(breaker.currentState).toBe('open')
	})
})

describe('a snapshot', () => {
	/** Another process: another monotonic clock, and so much later by the wall clock. */
	const later = (ms: number) => virtualRuntime({ startAt: Date.UTC(2026, 0, 1) + ms, seed: 2 })

	test('carries an open circuit to another process, which waits for the rest', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(300)
		const json = JSON.stringify(breaker.snapshot())
		const runtime = later(700)
		const next = circuitBreaker({ ...sensitive, runtime })
		next.restore(JSON.parse(json))
		expect(next.stats).toMatchObject({ state: 'open', retryAfterMs: 300 })
		await runtime.advance(299)
		expect((await next.settle(() => 1)).ok).toBe(false)
		await runtime.advance(1)
		expect((await next.settle(() => 1)).ok).toBe(true)
		expect(next.currentState).toBe('closed')
	})

	test('carries consecutive failures: the fifth may be in the next process', async () => {
		const { breaker } = setup()
		await calls(breaker, 'sffff')
		const runtime = later(1_000)
		const next = circuitBreaker({ runtime })
		next.restore(JSON.parse(JSON.stringify(breaker.snapshot())))
		expect(next.stats).toMatchObject({ failureCount: 4, successCount: 1, consecutiveFailures: 4 })
		await calls(next, 'f')
		expect(next.currentState).toBe('open')
	})

	test('a snapshot from a day ago has no effect', async () => {
		const { breaker } = setup()
		await calls(breaker, 'ffff')
		const next = circuitBreaker({ runtime: later(86_400_000) })
		next.restore(JSON.parse(JSON.stringify(breaker.snapshot())))
		expect(next.stats).toMatchObject({ state: 'closed', failureCount: 0, consecutiveFailures: 0 })
	})

	test('includes successes without a clock read', async () => {
		const { breaker } = setup()
		await calls(breaker, 's'.repeat(300))
		expect(breaker.snapshot()).toMatchObject({ state: 'closed', outcomes: [300, 0, 0, 0] })
	})

	test('rejects an invalid snapshot by the name of the field and changes nothing', async () => {
		const { breaker } = await opened()
		expect(() => breaker.restore({ version: 2 } as never)).toThrow(
			/Invalid argument "snapshot\.version": expected .*, got 2/,
		)
		expect(() => breaker.restore('open' as never)).toThrow('snapshot')
		expect(breaker.currentState).toBe('open')
	})

	test('makes the results of calls in flight ignored', async () => {
		const { breaker } = setup(sensitive)
		const snapshot = breaker.snapshot()
		const held = new Held()
		const answer = breaker.settle(held.work)
		breaker.restore(snapshot)
		held.fail()
		await answer
		expect(breaker.currentState).toBe('closed')
	})
})
