import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { layered } from '../../../src/sim/scenarios/layered.ts'
import { type Column, milliseconds, percent, Studied, times } from './studied.ts'

const study = new Studied(layered)
const perCall =
	(service: string) =>
	({ services }: SimulationResult): number =>
		services[service]?.amplification ?? Number.NaN

const p99 = ({ totals }: SimulationResult): number => totals.latency.p99Ms

const COLUMNS: readonly Column[] = [
	['requests at B per call', perCall('b'), times],
	['requests at C per call', perCall('c'), times],
	['calls succeeded', 'goodShare', percent],
	// Where nothing is answered there is no such time.
	['p99 of successes', p99, (ms) => (ms === 0 ? '' : milliseconds(ms))],
]
const each = (figure: string, trouble: 'down' | 'shaky'): readonly number[] =>
	study.values(`C is ${trouble}: independent`, perCall(figure))

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/layered.md', 'case', COLUMNS)
})

test('while C is down, two levels of three attempts make nine requests per call', () => {
	expect(each('b', 'down')).toEqual(new Array(10).fill(3))
	expect(each('c', 'down')).toEqual(new Array(10).fill(9))
})

test('with the context passed on, C gets three requests per call', () => {
	for (const name of ['C is down: only B retries', 'C is down: only A retries'])
		expect(study.values(name, perCall('c'))).toEqual(new Array(10).fill(3))
	expect(study.mean('C is down: only B retries', perCall('b'))).toBe(1)
	expect(study.mean('C is down: only A retries', perCall('b'))).toBe(3)
})

test('with a failure rate of 30 %, three attempts fail at the expected rate', () => {
	for (const name of ['C fails 30 %: only B retries', 'C fails 30 %: only A retries']) {
		const odds = 1 - 0.3 ** 3
		expect(Math.abs(study.mean(name, 'goodShare') - odds)).toBeLessThan(0.005)
	}
	expect(study.mean('C fails 30 %: independent', 'goodShare')).toBeGreaterThan(0.999)
})

test('with a failure rate of 30 %, C gets hardly fewer requests', () => {
	const [unaware, aware] = ['independent', 'only B retries'].map((name) =>
		study.mean(`C fails 30 %: ${name}`, perCall('c')),
	)
	expect(unaware).toBeLessThan(1.05 * (aware ?? Number.NaN))
})
