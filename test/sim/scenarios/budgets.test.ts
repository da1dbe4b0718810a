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
	['requests a call while 30 % fail', sent(SOME), times],
	['requests a call while all fail', sent(ALL), times],
]

test('the page shows what comes out', () => {
	study.expectTable('docs/scenarios/budgets.md', 'budget', COLUMNS)
})

test('while one request in twenty fails, every budget lets retries do their work', () => {
	expect(study.names).toHaveLength(5)
	for (const name of study.names) expect(Math.min(...study.values(name, good(FEW)))).toBeGreaterThan(0.99)
})

test('while all fail, no budget is four times the traffic', () => {
	expect(study.mean('no budget', sent(ALL))).toBeGreaterThan(3.9)
})

test('a ratio adds no more than its tenth, whatever happens', () => {
	for (const phase of [FEW, SOME, ALL])
		expect(Math.max(...study.values('a ratio', sent(phase)))).toBeLessThan(1.15)
})

test('a floor of ten a second, where a process makes ten calls a second, doubles the traffic of an outage', () => {
	expect(study.mean('a ratio, floor of 10/s', sent(ALL))).toBeGreaterThan(1.9)
})

test('tokens stop soonest, and give up calls that a retry would have saved', () => {
	for (const name of study.names.filter((other) => other !== 'tokens')) {
		expect(study.mean('tokens', sent(ALL))).toBeLessThan(study.mean(name, sent(ALL)))
		expect(study.mean('tokens', good(SOME))).toBeLessThan(study.mean(name, good(SOME)))
	}
})

test('a quota retries like no budget as long as that works, and hardly at all when it does not', () => {
	expect(study.mean('a quota', good(SOME))).toBeGreaterThan(0.98)
	expect(study.mean('a quota', sent(ALL))).toBeLessThan(1.15)
})
