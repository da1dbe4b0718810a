import { beforeEach, describe, expect, it } from 'vitest'
import { classify, pipeline, retry } from 'yaoki'
import { faults, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { settled } from '../scenario.ts'

let clock: VirtualRuntime
beforeEach(() => {
	clock = virtualRuntime()
})

describe('faults on purpose', () => {
	it('are none when nothing is asked for', async () => {
		expect(await faults().execute(() => 1)).toBe(1)
	})

	it('come at the rate that was asked for, before the work is reached', async () => {
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

	it('look like a broken connection, unless an error or a maker of errors is given', async () => {
		const outcome = await faults({ errorRate: 1 }).settle(() => 1)
		expect(classify(outcome.ok ? undefined : outcome.error)).toEqual({ kind: 'transient', isKnown: true })
		const error = new Error('mine')
		expect(await faults({ errorRate: 1, error }).settle(() => 1)).toEqual({ ok: false, error })
		let made = 0
		const maker = faults({ errorRate: 1, error: () => `made ${++made}` })
		expect([await maker.settle(() => 1), await maker.settle(() => 1)]).toMatchObject([
			{ error: 'made 1' },
			{ error: 'made 2' },
		])
	})

	it('hold a call up, by a fixed time or a drawn one', async () => {
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

	it('and the latency comes before the error, and an abort ends it at once', async () => {
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
		const answer = slow.settle(() => 1, { signal: caller.signal })
		await clock.advance(10)
		caller.abort('left')
		expect(await answer).toEqual({ ok: false, error: 'left' })
		expect(clock.pendingTimers).toBe(0)
	})

	it('are met by a retry outside of them', async () => {
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
		'a maker of errors that throws, after %d ms, ends the call with what it threw',
		async (latencyMs) => {
			const made = new Error('bad maker')
			const error = () => {
				throw made
			}
			const broken = pipeline({ runtime: clock }, retry(), faults({ errorRate: 1, latencyMs, error }))
			expect(
				await settled(
					clock,
					broken.execute(() => 1),
				),
			).toEqual({ ok: false, error: made })
			expect(clock.now()).toBe(latencyMs)
		},
	)

	it.each([
		[{ errorRate: 2 }, 'Invalid option "errorRate": expected a number from 0 to 1, got 2'],
		[{ latencyMs: -1 }, 'Invalid option "latencyMs": expected milliseconds, or [least, greatest], got -1'],
		[
			{ latencyMs: [20, 10] as const },
			'Invalid option "latencyMs": expected milliseconds, or [least, greatest], got [20,10]',
		],
	])('%o is refused', (options, message) => {
		expect(() => faults(options)).toThrow(message)
	})
})
