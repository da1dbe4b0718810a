import { beforeEach, describe, expect, it } from 'vitest'
import { classify, pipeline, retry } from 'yaoki'
import { faults, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { settled } from '../support/scenario.ts'

let clock: VirtualRuntime
beforeEach(() => {
	clock = virtualRuntime()
})

describe('faults', () => {
	it('do nothing by default', async () => {
		expect(await faults().execute(() => 1)).toBe(1)
	})

	it('fail at errorRate, before the operation is called', async () => {
		const flaky = faults({ errorRate: 0.3, seed: 1, runtime: clock })
		let reached = 0
		const results = await Promise.all(Array.from({ length: 5000 }, () => flaky.settle(() => ++reached)))
		const failed = results.filter((result) => !result.ok).length
		expect(Math.abs(failed / 5000 - 0.3)).toBeLessThan(4 * Math.sqrt(0.21 / 5000))
		expect(reached).toBe(5000 - failed)
	})

	it('are the same in every run with the same seed', async () => {
		const run = async (seed: number) => {
			const flaky = faults({ errorRate: 0.5, seed })
			return (await Promise.all(Array.from({ length: 50 }, () => flaky.settle(() => 1)))).map(
				(result) => result.ok,
			)
		}
		expect(await run(3)).toEqual(await run(3))
		expect(await run(3)).not.toEqual(await run(4))
	})

	it('fail with ECONNRESET, or with the given error or function', async () => {
		const outcome = await faults({ errorRate: 1 }).settle(() => 1)
		expect(classify(outcome.ok ? undefined : outcome.error)).toEqual({ kind: 'transient', isKnown: true })
		const error = new Error('mine')
		expect(await faults({ errorRate: 1, error }).settle(() => 1)).toEqual({ ok: false, error })
		let created = 0
		const withFactory = faults({ errorRate: 1, error: () => `created ${++created}` })
		expect([await withFactory.settle(() => 1), await withFactory.settle(() => 1)]).toMatchObject([
			{ error: 'created 1' },
			{ error: 'created 2' },
		])
	})

	it('delay a call by a fixed or a random time', async () => {
		await settled(
			clock,
			faults({ latencyMs: 250, runtime: clock }).execute(() => 1),
		)
		expect(clock.now()).toBe(250)
		await settled(
			clock,
			faults({ latencyMs: [10, 20], runtime: clock }).execute(() => 1),
		)
		expect(clock.now() >= 260 && clock.now() < 270).toBe(true)
	})

	it('delay before the error, and an abort ends the delay immediately', async () => {
		const slow = faults({ latencyMs: 100, errorRate: 1, runtime: clock })
		expect(
			(
				await settled(
					clock,
					slow.execute(() => 1),
				)
			).ok,
		).toBe(false)
		expect(clock.now()).toBe(100)
		const caller = new AbortController()
		const result = slow.settle(() => 1, { signal: caller.signal })
		await clock.advance(10)
		caller.abort('left')
		expect(await result).toEqual({ ok: false, error: 'left' })
		expect(clock.pendingTimers).toBe(0)
	})

	it('are retried by a retry around them', async () => {
		const policy = pipeline(
			{ runtime: clock },
			retry({ maxRetries: 20 }),
			faults({ errorRate: 0.5, seed: 9 }),
		)
		expect(
			await settled(
				clock,
				policy.execute(() => 'through'),
			),
		).toEqual({ ok: true, value: 'through' })
	})

	it.each([0, 5])(
		'an error function that throws after %d ms ends the call with its error',
		async (latencyMs) => {
			const thrown = new Error('bad error function')
			const error = () => {
				throw thrown
			}
			const broken = pipeline({ runtime: clock }, retry(), faults({ errorRate: 1, latencyMs, error }))
			expect(
				await settled(
					clock,
					broken.execute(() => 1),
				),
			).toEqual({ ok: false, error: thrown })
			expect(clock.now()).toBe(latencyMs)
		},
	)

	it.each([
		[{ errorRate: 2 }, 'Invalid option "errorRate": expected a number from 0 to 1, got 2'],
		[{ latencyMs: -1 }, 'Invalid option "latencyMs": expected milliseconds, or [min, max], got -1'],
		[
			{ latencyMs: [20, 10] as const },
			'Invalid option "latencyMs": expected milliseconds, or [min, max], got [20,10]',
		],
	])('rejects %o', (options, message) => {
		expect(() => faults(options)).toThrow(message)
	})
})
