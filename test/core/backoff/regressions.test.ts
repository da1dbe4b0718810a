import { describe, expect, it } from 'vitest'
import { calculateDelay, nextRetryAt, presets, retry, schedule } from 'yaoki'
import { seededRandom, virtualRuntime } from 'yaoki/testing'

describe('regressions', () => {
	it.each([8_980, 8_990, 26_950, 80_800, 27_000 * (1 + 1e-12), 27_000 * (1 - 1e-12), 9_000])(
		'means are right for a cap just below base times a power of 3, such as %d',
		(maxDelayMs) => {
			const { delays } = schedule({
				baseDelayMs: 1000,
				maxDelayMs,
				maxRetries: 3,
				jitterStrategy: 'decorrelated',
			})
			const random = seededRandom(maxDelayMs)
			const sums = [0, 0, 0]
			const rounds = 100_000
			for (let round = 0; round < rounds; round++) {
				let previous = 1000
				for (let n = 0; n < 3; n++) {
					previous = 1000 + random() * (Math.min(maxDelayMs, 3 * previous) - 1000)
					sums[n] = (sums[n] ?? 0) + previous
				}
			}
			delays.forEach(({ meanMs = 0 }, n) => {
				expect(Math.abs(meanMs / ((sums[n] ?? 0) / rounds) - 1)).toBeLessThan(0.02)
			})
		},
	)

	it.each([Number.NaN, -50, undefined, Promise.resolve(5)])(
		'a growth function that returns %s is rejected instead of retrying in a tight loop',
		(step) => {
			expect(() => calculateDelay(0, { growth: () => step as number })).toThrow(
				'Invalid option "growth(attempt)"',
			)
		},
	)

	it('nextRetryAt takes the previous delay, so that decorrelated delays grow', () => {
		const runtime = { ...virtualRuntime(), random: () => 0.5 }
		const options = { ...presets.messageQueue, runtime }
		expect(nextRetryAt(0, 9, options, 20_000).getTime()).toBe(30_500)
		expect(() => nextRetryAt(new Date('nonsense'), 0)).toThrow(
			'Invalid argument "now": expected a valid Date or milliseconds since 1970, got Invalid Date',
		)
	})

	it('rejects infinite retries without a delay, which would loop forever in virtual time', () => {
		expect(() => retry({ maxRetries: Infinity, maxElapsedMs: 1000, baseDelayMs: 0 })).toThrow(
			'baseDelayMs above 0',
		)
	})

	it('a delay above the greatest safe integer is valid at run time', () => {
		const runtime = { ...virtualRuntime(), random: () => 0.9 }
		const huge = {
			baseDelayMs: 2 ** 53 - 1,
			maxDelayMs: 2 ** 53 - 1,
			jitterStrategy: 'proportional',
		} as const
		expect(calculateDelay(3, { ...huge, runtime })).toBeGreaterThan(2 ** 53)
	})

	it('the table of presets is frozen', () => {
		expect(Object.isFrozen(presets)).toBe(true)
	})
})
