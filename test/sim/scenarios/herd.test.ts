import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { herd } from '../../../src/sim/scenarios/herd.ts'
import { type Column, perSecond, Studied, seconds, whole } from './studied.ts'

const study = new Studied(herd)
const OUTAGE_MS = 60_000
const CAPACITY_PER_SECOND = 100

const busiestSecondAfter = ({ timeline: { stepMs, services } }: SimulationResult): number =>
	Math.max(...(services['api']?.requests ?? []).slice(OUTAGE_MS / stepMs)) / (stepMs / 1_000)
const turnedAway = ({ services }: SimulationResult): number => services['api']?.rejected ?? Number.NaN

const COLUMNS: readonly Column[] = [
	['busiest second after the outage', busiestSecondAfter, perSecond],
	['turned away then', turnedAway, whole],
	['requests in all', 'requests', whole],
	['the last is served after', 'recoveredAfterMs', seconds],
]
const WITHOUT_JITTER = ['the same wait', 'exponential, no jitter']
const WITH_JITTER = ['equal jitter', 'full jitter', 'decorrelated jitter']

test('the page shows what comes out', () => {
	study.expectTable('docs/scenarios/herd.md', 'strategy', COLUMNS)
})

test('a step of the timeline is a second, so that the busiest one is', () => {
	for (const name of study.names)
		expect(study.values(name, ({ timeline }) => timeline.stepMs)).toEqual(new Array(10).fill(1_000))
})

test('without jitter all clients come back in the same second', () => {
	for (const name of WITHOUT_JITTER) expect(study.mean(name, busiestSecondAfter)).toBe(1_000)
})

test('any jitter makes a stream of them that the service can bear, with every seed', () => {
	for (const name of WITH_JITTER) {
		expect(Math.max(...study.values(name, busiestSecondAfter))).toBeLessThan(CAPACITY_PER_SECOND)
		expect(study.mean(name, turnedAway)).toBe(0)
	}
	expect(study.mean('full jitter', busiestSecondAfter)).toBeLessThan(
		study.mean('exponential, no jitter', busiestSecondAfter) / 3,
	)
})

test('growing waits without jitter take the longest, five times as long as full jitter', () => {
	const [none, full] = WITHOUT_JITTER.slice(1)
		.concat('full jitter')
		.map((name) => study.mean(name, 'recoveredAfterMs'))
	expect(none).toBeGreaterThan(5 * (full ?? Number.NaN))
})

test('the same wait is the quickest by a hair, for twice the requests', () => {
	const same = (figure: 'recoveredAfterMs' | 'requests') => study.mean('the same wait', figure)
	for (const name of WITH_JITTER) {
		expect(same('recoveredAfterMs')).toBeLessThan(study.mean(name, 'recoveredAfterMs'))
		expect(same('recoveredAfterMs')).toBeGreaterThan(0.9 * study.mean(name, 'recoveredAfterMs'))
		expect(same('requests')).toBeGreaterThan(2 * study.mean(name, 'requests'))
	}
})

test('everybody is served in the end, whatever the strategy', () => {
	for (const name of study.names) {
		expect(study.mean(name, 'goodShare')).toBe(1)
		expect(study.mean(name, ({ clients }) => clients['web']?.good ?? 0)).toBe(1_000)
	}
})
