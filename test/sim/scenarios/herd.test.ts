import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { herd } from '../../../src/sim/scenarios/herd.ts'
import { type Column, perSecond, Studied, seconds, whole } from './studied.ts'

const study = new Studied(herd)
const OUTAGE_MS = 60_000
const CAPACITY_PER_SECOND = 100

const busiestSecondAfter = ({ timeline: { stepMs, services } }: SimulationResult): number =>
	Math.max(...(services['api']?.requests ?? []).slice(OUTAGE_MS / stepMs)) / (stepMs / 1_000)
const rejected = ({ services }: SimulationResult): number => services['api']?.rejected ?? Number.NaN

const COLUMNS: readonly Column[] = [
	['busiest second after the outage', busiestSecondAfter, perSecond],
	['rejected then', rejected, whole],
	['requests', 'requests', whole],
	['recovered after', 'recoveredAfterMs', seconds],
]
const WITHOUT_JITTER = ['constant delay', 'exponential, no jitter']
const WITH_JITTER = ['equal jitter', 'full jitter', 'decorrelated jitter']

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/herd.md', 'strategy', COLUMNS)
})

test('a step of the timeline is one second', () => {
	for (const name of study.names)
		expect(study.values(name, ({ timeline }) => timeline.stepMs)).toEqual(new Array(10).fill(1_000))
})

test('without jitter all clients come back in the same second', () => {
	for (const name of WITHOUT_JITTER) expect(study.mean(name, busiestSecondAfter)).toBe(1_000)
})

test('with any jitter the rate stays below the capacity, with every seed', () => {
	for (const name of WITH_JITTER) {
		expect(Math.max(...study.values(name, busiestSecondAfter))).toBeLessThan(CAPACITY_PER_SECOND)
		expect(study.mean(name, rejected)).toBe(0)
	}
	expect(study.mean('full jitter', busiestSecondAfter)).toBeLessThan(
		study.mean('exponential, no jitter', busiestSecondAfter) / 3,
	)
})

test('exponential delays without jitter take five times as long as full jitter', () => {
	const [none, full] = WITHOUT_JITTER.slice(1)
		.concat('full jitter')
		.map((name) => study.mean(name, 'recoveredAfterMs'))
	expect(none).toBeGreaterThan(5 * (full ?? Number.NaN))
})

test('a constant delay is slightly faster, for twice the requests', () => {
	const same = (figure: 'recoveredAfterMs' | 'requests') => study.mean('constant delay', figure)
	for (const name of WITH_JITTER) {
		expect(same('recoveredAfterMs')).toBeLessThan(study.mean(name, 'recoveredAfterMs'))
		expect(same('recoveredAfterMs')).toBeGreaterThan(0.9 * study.mean(name, 'recoveredAfterMs'))
		expect(same('requests')).toBeGreaterThan(2 * study.mean(name, 'requests'))
	}
})

test('all calls succeed in the end, with every strategy', () => {
	for (const name of study.names) {
		expect(study.mean(name, 'goodShare')).toBe(1)
		expect(study.mean(name, ({ clients }) => clients['web']?.good ?? 0)).toBe(1_000)
	}
})
