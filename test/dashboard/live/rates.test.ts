import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BUCKET_MS, BUCKETS, Rates } from '../../../src/dashboard/live/rates.ts'
import { RejectionRate } from '../../../src/dashboard/live/rejection-rate.ts'
import { StateChanges } from '../../../src/dashboard/live/state-changes.ts'

const steps = fc.array(
	fc.record({ passMs: fc.integer({ min: 0, max: 400_000 }), amount: fc.integer({ min: 1, max: 5 }) }),
	{ maxLength: 60 },
)

test('series and sums are those of a list of all counts, after any pauses and from any start', () => {
	fc.assert(
		fc.property(fc.integer({ min: -1e9, max: 1e9 }), steps, (start, counted) => {
			const rates = new Rates(start)
			const list: (readonly [at: number, amount: number])[] = []
			let now = start
			for (const { passMs, amount } of counted) {
				now += passMs
				rates.add(now, 'retry', amount)
				list.push([now, amount])
			}
			const current = Math.floor(now / BUCKET_MS)
			const model = Array.from({ length: BUCKETS }, (_, index) =>
				list
					.filter(([at]) => Math.floor(at / BUCKET_MS) === current - BUCKETS + 1 + index)
					.reduce((sum, [, amount]) => sum + amount, 0),
			)
			expect(rates.series(now, 'retry')).toEqual(model)
			expect(rates.sum(now, 'retry', 6)).toBe(model.slice(-6).reduce((a, b) => a + b, 0))
			expect(rates.series(now, 'failure')).toEqual(new Array(BUCKETS).fill(0))
		}),
	)
})

test('a rate is over the time that is known', () => {
	const rates = new Rates(0)
	rates.add(4_000, 'retry', 8)
	expect(rates.perSecond(4_000, 'retry', 6)).toBe(2)
	expect(rates.perSecond(55_000, 'retry', 6)).toBeCloseTo(8 / 55)
})

test('the rate of a counter that is read often is the rate of the last seconds, whatever came before', () => {
	fc.assert(
		fc.property(
			fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 30 }),
			fc.integer({ min: 1, max: 100 }),
			(before, perSecond) => {
				const rate = new RejectionRate()
				let [now, count] = [0, 0]
				const read = (amount: number) => {
					now += 1_000
					count += amount
					return rate.read(count, now, null)
				}
				for (const amount of before) read(amount)
				let last = 0
				for (let second = 0; second < 12; second++) last = read(perSecond)
				expect(last).toBeCloseTo(perSecond)
			},
		),
	)
})

test('the first reading is the mean since the circuit opened, and a counter that restarts is read anew', () => {
	const rate = new RejectionRate()
	expect(rate.read(50, 100_000, 10_000)).toBe(5)
	expect(rate.read(0, 110_000, null)).toBe(0)
	expect(new RejectionRate().read(50, 0, null)).toBe(0)
})

test('a circuit is not closed since it opened, through all probes that failed', () => {
	const changes = new StateChanges()
	const since = (state: 'open' | 'half-open' | 'closed' | 'isolated') =>
		changes.find('breaker', 'k', state)?.since
	changes.add('breaker', 'k', 'closed', 'open', 10)
	changes.add('breaker', 'k', 'open', 'half-open', 20)
	expect(since('half-open')).toBe(10)
	changes.add('breaker', 'k', 'half-open', 'open', 30)
	expect([since('open'), since('half-open')]).toEqual([10, undefined])
	changes.add('breaker', 'k', 'open', 'isolated', 40)
	expect(since('isolated')).toBe(40)
	changes.add('breaker', 'k', 'isolated', 'closed', 50)
	expect(since('closed')).toBe(50)
	changes.add('other', 'k', 'open', 'half-open', 60)
	expect(changes.find('other', 'k', 'half-open')?.since).toBeUndefined()
})
