import { describe, expect, test } from 'vitest'
import { fallback, lastGoodValue, pipeline, retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { dead, settled, steady } from '../../support/scenario.ts'

const down = new Error('down')

/** A fallback of the last good result, and calls through it that succeed with a value or fail. */
function kept(maxAgeMs: number) {
	const clock = virtualRuntime()
	const policy = fallback(lastGoodValue(maxAgeMs), { runtime: clock })
	return {
		clock,
		good: (value: unknown, key?: string) =>
			settled(
				clock,
				policy.execute(() => value, { key }),
			),
		bad: (key?: string) =>
			settled(
				clock,
				policy.execute(() => Promise.reject(down), { key }),
			),
	}
}

describe('the last good value', () => {
	test('replaces a failure with the latest result', async () => {
		const { good, bad } = kept(1_000)
		await good('old')
		await good('new')
		expect(await bad()).toEqual({ ok: true, value: 'new' })
		expect(await bad()).toEqual({ ok: true, value: 'new' })
	})

	test.each([undefined, null, false, 0])('may be %s', async (value) => {
		const { good, bad } = kept(1_000)
		await good(value)
		expect(await bad()).toEqual({ ok: true, value })
	})

	test('does not exist before the first success: then the error passes', async () => {
		const { bad } = kept(1_000)
		expect(await bad()).toEqual({ ok: false, error: down })
	})

	test('is not used if it is older than allowed', async () => {
		const { clock, good, bad } = kept(1_000)
		await good('fresh')
		await clock.advance(1_000)
		expect(await bad()).toEqual({ ok: true, value: 'fresh' })
		await clock.advance(1)
		expect(await bad()).toEqual({ ok: false, error: down })
	})

	test("has the age of the call's end, whatever the wall clock does and however often it is used", async () => {
		const { clock, good, bad } = kept(1_000)
		await good('first')
		await clock.advance(600)
		await good('second')
		clock.jumpWallClock(3_600_000)
		await clock.advance(600)
		expect(await bad()).toEqual({ ok: true, value: 'second' })
		await clock.advance(401)
		expect(await bad()).toEqual({ ok: false, error: down })
	})

	test('the last good value of one key never replaces a result of another, nor of a call without a key', async () => {
		const { good, bad } = kept(1_000)
		await good('ann’s', 'ann')
		expect(await bad('bob')).toEqual({ ok: false, error: down })
		expect(await bad()).toEqual({ ok: false, error: down })
		await good('bob’s', 'bob')
		await good('everyone’s')
		expect(await bad('ann')).toEqual({ ok: true, value: 'ann’s' })
		expect(await bad('bob')).toEqual({ ok: true, value: 'bob’s' })
		expect(await bad()).toEqual({ ok: true, value: 'everyone’s' })
		expect(await bad('__proto__')).toEqual({ ok: false, error: down })
	})

	test('can be kept for the lifetime of the process', async () => {
		const { clock, good, bad } = kept(Infinity)
		await good('for ever')
		await clock.advance(1e12)
		expect(await bad()).toEqual({ ok: true, value: 'for ever' })
	})

	test('is kept for the thousand most recently used keys', async () => {
		const { good, bad } = kept(Infinity)
		for (let i = 0; i <= 1_000; i++) await good(i, String(i))
		expect(await bad('0')).toEqual({ ok: false, error: down })
		expect(await bad('1')).toEqual({ ok: true, value: 1 })
		expect(await bad('1000')).toEqual({ ok: true, value: 1_000 })
	})

	test("is the operation's result, never that of another alternative", async () => {
		const clock = virtualRuntime()
		const results = [async () => 'good', () => Promise.reject(down), () => Promise.reject(down)]
		const policy = fallback(() => Promise.reject(new Error('replica')), {
			orElse: [lastGoodValue(1_000), 'constant'],
			runtime: clock,
		})
		const answers = []
		for (const work of results) answers.push(await settled(clock, policy.execute(work)))
		expect(answers).toMatchObject([{ value: 'good' }, { value: 'good' }, { value: 'good' }])
		await clock.advance(1_001)
		expect(await settled(clock, policy.execute(dead(clock)))).toEqual({ ok: true, value: 'constant' })
		expect(await settled(clock, policy.execute(dead(clock)))).toEqual({ ok: true, value: 'constant' })
	})

	test('outside a retry applies after the retries', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			fallback(lastGoodValue(1_000)),
			retry({ ...steady, maxRetries: 1 }),
		)
		await settled(
			clock,
			policy.execute(() => 'good'),
		)
		expect(await settled(clock, policy.execute(dead(clock)))).toEqual({ ok: true, value: 'good' })
		expect(clock.now()).toBe(100)
	})

	test.each([Number.NaN, -1, '5'])('rejects an age of %s', (age) => {
		expect(() => lastGoodValue(age as number)).toThrow('Invalid argument "maxAgeMs"')
	})
})
