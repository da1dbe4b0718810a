import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Circuit } from '../../../src/core/circuit-breaker/circuit.ts'
import { readCircuitBreakerOptions } from '../../../src/core/circuit-breaker/options.ts'
import type { CircuitState } from '../../../src/core/events/events.ts'
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

/** A circuit whose state the test sets, and the changes that are observed. */
function watchedCircuit() {
	let now = 0
	const heard: string[] = []
	const changes = new StateChanges(() => now)
	const circuit = new Circuit(readCircuitBreakerOptions({}), {
		onChange: (from, to) => heard.push(`${from} ${to}`),
	})
	const end = changes.watch(circuit)
	const enter = (at: number, state: CircuitState) => {
		now = at
		const from = circuit.state
		circuit.state = state
		circuit.listener?.onChange(from, state)
		return changes.find(circuit)?.since
	}
	return { changes, circuit, end, enter, heard }
}

test('a circuit is not closed since it opened, through all probes that failed', () => {
	const { enter } = watchedCircuit()
	expect(enter(10, 'open')).toBe(10)
	expect(enter(20, 'half-open')).toBe(10)
	expect(enter(30, 'open')).toBe(10)
	expect(enter(40, 'isolated')).toBe(40)
	expect(enter(50, 'closed')).toBe(50)
})

test('a circuit that was open before it was observed is open since an unknown time', () => {
	const { changes, circuit, end, enter } = watchedCircuit()
	end()
	enter(10, 'open')
	changes.watch(circuit)
	expect(enter(20, 'half-open')).toBeUndefined()
	expect(enter(30, 'closed')).toBe(30)
})

test('circuits are observed once, beside their own listener, and by two dashboards until each of them ends', () => {
	const { changes, circuit, end, enter, heard } = watchedCircuit()
	const { listener } = circuit
	changes.watch(circuit)()
	expect(circuit.listener).toBe(listener)
	const other = new StateChanges(() => 7)
	const endOther = other.watch(circuit)
	end()
	expect(enter(10, 'open')).toBeUndefined()
	expect(other.find(circuit)?.since).toBe(7)
	endOther()
	enter(20, 'half-open')
	expect(other.find(circuit)).toBeUndefined()
	expect(heard).toEqual(['closed open', 'open half-open'])
})
