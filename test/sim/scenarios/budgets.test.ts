import { expect, test } from 'vitest'
import { budgets } from '../../../src/sim/scenarios/budgets.ts'
import { between, type Column, type Figure, goodBetween, percent, Studied, times } from './studied.ts'

const study = new Studied(budgets)

/** When so many fail: from and to. */
type Phase = readonly [fromMs: number, toMs: number]
const FEW: Phase = [10_000, 30_000]
const SOME: Phase = [40_000, 60_000]
const ALL: Phase = [70_000, 90_000]

const good = (phase: Phase): Figure => goodBetween('web', ...phase)
const sent =
	(phase: Phase): Figure =>
	(result) => {
		const { services, clients } = result.timeline
		return (
			between(result, services['api']?.requests, ...phase) /
			between(result, clients['web']?.started, ...phase)
		)
	}

const COLUMNS: readonly Column[] = [
	['good while 5 % fail', good(FEW), percent],
	['good while 30 % fail', good(SOME), percent],
	['requests per call while 30 % fail', sent(SOME), times],
	['requests per call while all fail', sent(ALL), times],
]

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/budgets.md', 'budget', COLUMNS)
})

test('every budget allows retries while 5 % of the requests fail', () => {
	expect(study.names).toHaveLength(5)
	for (const name of study.names) expect(Math.min(...study.values(name, good(FEW)))).toBeGreaterThan(0.99)
})

test('no budget quadruples the traffic while all requests fail', () => {
	expect(study.mean('no budget', sent(ALL))).toBeGreaterThan(3.9)
})

test('a ratio budget never adds more than a tenth', () => {
	for (const phase of [FEW, SOME, ALL])
		expect(Math.max(...study.values('ratio budget', sent(phase)))).toBeLessThan(1.15)
})

test('a floor of ten per second doubles the traffic of an outage if a process makes ten calls per second', () => {
	expect(study.mean('ratio budget, floor 10/s', sent(ALL))).toBeGreaterThan(1.9)
})

test('a token budget stops first, and calls fail that a retry would have saved', () => {
	for (const name of study.names.filter((other) => other !== 'token budget')) {
		expect(study.mean('token budget', sent(ALL))).toBeLessThan(study.mean(name, sent(ALL)))
		expect(study.mean('token budget', good(SOME))).toBeLessThan(study.mean(name, good(SOME)))
	}
})

test('a quota budget retries freely while retries succeed, and hardly when they fail', () => {
	expect(study.mean('quota budget', good(SOME))).toBeGreaterThan(0.98)
	expect(study.mean('quota budget', sent(ALL))).toBeLessThan(1.15)
})
