import { describe, expect, it } from 'vitest'
import { type BackoffOptions, presets, schedule } from 'yaoki'
import { seededRandom } from 'yaoki/testing'

const ranges = (options: BackoffOptions) => schedule(options).delays.map((d) => [d.minMs, d.maxMs])

describe('schedule', () => {
	it('returns the bounds of each delay: the documented example', () => {
		const options = {
			baseDelayMs: 1000,
			maxDelayMs: 30_000,
			maxRetries: 6,
			jitterStrategy: 'proportional',
		} as const
		expect(ranges({ ...options, jitterFactor: 0.3 })).toEqual([
			[1000, 1300],
			[2000, 2600],
			[4000, 5200],
			[8000, 10_400],
			[16_000, 20_800],
			[30_000, 39_000],
		])
	})

	it('returns exact means and totals for strategies with a closed form', () => {
		const { delays, total } = schedule({ baseDelayMs: 100, maxRetries: 3, jitterStrategy: 'equal' })
		expect(delays.map((delay) => delay.meanMs)).toEqual([75, 150, 300])
		expect(total).toEqual({ minMs: 350, meanMs: 525, maxMs: 700 })
		expect(schedule({ maxRetries: 2, jitterStrategy: 'full' }).total).toEqual({
			minMs: 0,
			meanMs: 1500,
			maxMs: 3000,
		})
		expect(schedule({ maxRetries: 1, jitterStrategy: 'additive', jitterRangeMs: 50 }).delays[0]?.meanMs).toBe(
			1025,
		)
		expect(schedule({ maxRetries: 1, jitterStrategy: 'none' }).delays[0]).toEqual({
			attempt: 0,
			minMs: 1000,
			meanMs: 1000,
			maxMs: 1000,
		})
	})

	it('returns bounds from the base to three times the previous maximum for decorrelated delays, capped', () => {
		for (const jitterStrategy of ['decorrelated', 'decorrelated-aws'] as const)
			expect(ranges({ baseDelayMs: 100, maxDelayMs: 2_000, maxRetries: 5, jitterStrategy })).toEqual([
				[100, 300],
				[100, 900],
				[100, 2_000],
				[100, 2_000],
				[100, 2_000],
			])
	})

	it('lists at most 100,000 retries', () => {
		expect(schedule({ maxRetries: 100_000 }).delays).toHaveLength(100_000)
		expect(() => schedule({ maxRetries: 100_001 })).toThrow(
			expect.objectContaining({ optionPath: 'maxRetries' }),
		)
	})

	it('returns undefined for a growth function', () => {
		const { delays, total } = schedule({ growth: () => 5, maxRetries: 1 })
		expect(delays).toEqual([{ attempt: 0, minMs: undefined, meanMs: undefined, maxMs: undefined }])
		expect(total.maxMs).toBeUndefined()
	})

	it('is empty without retries', () => {
		expect(schedule({ maxRetries: 0 })).toEqual({
			delays: [],
			total: { minMs: 0, meanMs: 0, maxMs: 0 },
		})
	})
})

/** The n-th mean by brute force: the density of the previous delay on a grid, one draw after the other. */
function gridMeans(base: number, cap: number, count: number, cells: number): number[] {
	const width = (cap - base) / cells
	const xs = Array.from({ length: cells }, (_, i) => base + (i + 0.5) * width)
	let g = xs
	return Array.from({ length: count }, () => {
		const sums = [0]
		for (const value of g) sums.push((sums.at(-1) ?? 0) + value * width)
		const upTo = (x: number) => {
			const position = (Math.min(x, cap) - base) / width
			const cell = Math.min(cells, Math.floor(position))
			return (sums[cell] ?? 0) + (position - cell) * width * (g[cell] ?? 0)
		}
		const meanAfter = (x: number) => upTo(3 * x) / (Math.min(3 * x, cap) - base)
		const first = meanAfter(base)
		g = xs.map(meanAfter)
		return first
	})
}

describe('the decorrelated means', () => {
	const means = (
		baseDelayMs: number,
		maxDelayMs: number,
		maxRetries: number,
		jitterStrategy: 'decorrelated' | 'decorrelated-aws',
	) =>
		schedule({ baseDelayMs, maxDelayMs, maxRetries, jitterStrategy }).delays.map(
			(delay) => delay.meanMs ?? Number.NaN,
		)

	it('match the closed form while no draw can reach the cap', () => {
		// Uncapped, E[d_n] = (base + 3 E[d_(n-1)]) / 2.
		let mean = 1
		const expected = Array.from({ length: 10 }, () => {
			mean = (1 + 3 * mean) / 2
			return mean
		})
		const computed = means(1, 1e9, 10, 'decorrelated')
		computed.forEach((value, i) => {
			expect(Math.abs(value / (expected[i] ?? 0) - 1)).toBeLessThan(1e-9)
		})
	})

	it('match the third mean, computed by hand, to 1e-6', () => {
		// base 1, cap 6: g_1(x) = (1 + min(3x, 6)) / 2; g_2(1) = 3.5 / 2 + ...; integrals split at x = 2.
		const g1 = (x: number) => (1 + Math.min(3 * x, 6)) / 2
		const g2 = (x: number) => {
			const m = Math.min(3 * x, 6)
			const below = Math.min(m, 2)
			const integral = (below - 1) / 2 + (3 / 4) * (below ** 2 - 1) + Math.max(0, m - 2) * 3.5
			return integral / (m - 1)
		}
		// g_3(1) = (1 / 2) * integral of g_2 over [1, 3], by Simpson on the two smooth parts.
		const simpson = (a: number, b: number, n = 20_000) => {
			let sum = g2(a) + g2(b)
			for (let i = 1; i < n; i++) sum += g2(a + ((b - a) * i) / n) * (i % 2 ? 4 : 2)
			return (sum * (b - a)) / n / 3
		}
		const [first, second, third] = means(1, 6, 3, 'decorrelated')
		expect(first).toBeCloseTo(g1(1), 9)
		expect(second).toBeCloseTo(g2(1), 9)
		expect(Math.abs((third ?? 0) - (simpson(1, 2) + simpson(2, 3)) / 2)).toBeLessThan(1e-6)
	})

	it.each([
		[1000, 60_000],
		[1000, 9000],
		[1000, 2500],
		[100, 27_000.01],
		[7, 2000],
	])('match brute force for base %d and cap %d', (base, cap) => {
		const grid = gridMeans(base, cap, 8, 200_000)
		means(base, cap, 8, 'decorrelated').forEach((mean, i) => {
			expect(Math.abs(mean / (grid[i] ?? 0) - 1)).toBeLessThan(2e-4)
		})
	})

	it('match a million draws of decorrelated-aws', () => {
		const random = seededRandom(3)
		const sums = [0, 0, 0, 0, 0]
		const rounds = 200_000
		for (let round = 0; round < rounds; round++) {
			let previous = 5
			for (let n = 0; n < 5; n++) {
				previous = Math.min(40, 5 + random() * (3 * previous - 5))
				sums[n] = (sums[n] ?? 0) + previous
			}
		}
		means(5, 40, 5, 'decorrelated-aws').forEach((mean, i) => {
			expect(Math.abs(mean - (sums[i] ?? 0) / rounds)).toBeLessThan(0.15)
		})
	})

	it('are the base if the range is empty', () => {
		expect(means(0, 50, 2, 'decorrelated')).toEqual([0, 0])
		expect(means(50, 50, 2, 'decorrelated')).toEqual([50, 50])
	})
})

describe('the presets', () => {
	it.each([
		['interactive', 100, 3_000, 3, 'proportional', 840],
		['background', 1_000, 30_000, 5, 'proportional', 40_300],
		['batch', 5_000, 300_000, 10, 'proportional', 2_272_500],
		['externalApi', 1_000, 30_000, 3, 'full', 7_000],
		['database', 500, 10_000, 5, 'equal', 15_500],
		['messageQueue', 1_000, 60_000, 10, 'decorrelated', undefined],
	] as const)(
		'%s has the documented values',
		(name, baseDelayMs, maxDelayMs, maxRetries, jitterStrategy, total) => {
			expect(presets[name]).toMatchObject({ baseDelayMs, maxDelayMs, maxRetries, jitterStrategy })
			if (total !== undefined) expect(schedule(presets[name]).total.maxMs).toBeCloseTo(total, 6)
		},
	)

	it('are frozen', () => {
		expect(Object.values(presets)).toHaveLength(6)
		expect(Object.values(presets).filter((preset) => !Object.isFrozen(preset))).toEqual([])
	})
})
