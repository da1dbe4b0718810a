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
	['requests at B a call', perCall('b'), times],
	['requests at C a call', perCall('c'), times],
	['calls answered', 'goodShare', percent],
	// Where nothing is answered there is no such time.
	['p99 of those', p99, (ms) => (ms === 0 ? '' : milliseconds(ms))],
]
const each = (figure: string, trouble: 'down' | 'shaky'): readonly number[] =>
	study.values(`C is ${trouble}: each for itself`, perCall(figure))

test('the page shows what comes out', () => {
	study.expectTable('docs/scenarios/layered.md', 'case', COLUMNS)
})

test('while C is down, two floors of three attempts make nine requests of every call', () => {
	expect(each('b', 'down')).toEqual(new Array(10).fill(3))
	expect(each('c', 'down')).toEqual(new Array(10).fill(9))
})

test('with the context handed on, C gets three, whoever retries', () => {
	for (const name of ['C is down: only B retries', 'C is down: only A retries'])
		expect(study.values(name, perCall('c'))).toEqual(new Array(10).fill(3))
	expect(study.mean('C is down: only B retries', perCall('b'))).toBe(1)
	expect(study.mean('C is down: only A retries', perCall('b'))).toBe(3)
})

test('what it costs: of calls that fail three times in ten, three attempts lose what their odds say', () => {
	for (const name of ['C is shaky: only B retries', 'C is shaky: only A retries']) {
		const odds = 1 - 0.3 ** 3
		expect(Math.abs(study.mean(name, 'goodShare') - odds)).toBeLessThan(0.005)
	}
	expect(study.mean('C is shaky: each for itself', 'goodShare')).toBeGreaterThan(0.999)
})

test('on a day that is only shaky, C is spared next to nothing', () => {
	const [unaware, aware] = ['each for itself', 'only B retries'].map((name) =>
		study.mean(`C is shaky: ${name}`, perCall('c')),
	)
	expect(unaware).toBeLessThan(1.05 * (aware ?? Number.NaN))
})
