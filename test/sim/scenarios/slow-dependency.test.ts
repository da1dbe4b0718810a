import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { slowDependency } from '../../../src/sim/scenarios/slow-dependency.ts'
import {
	between,
	type Column,
	goodBetween,
	milliseconds,
	percent,
	Studied,
	seconds,
	whole,
} from './studied.ts'

const study = new Studied(slowDependency)
const [FROM_MS, TO_MS] = [20_000, 40_000]
const whileSlow = goodBetween('visitors', FROM_MS, TO_MS)
const asked = (result: SimulationResult): number =>
	between(result, result.timeline.services['reviews']?.requests, FROM_MS, TO_MS)

const COLUMNS: readonly Column[] = [
	['good while reviews are slow', whileSlow, percent],
	['good overall', 'goodShare', percent],
	['p99', 'p99Ms', milliseconds],
	['review requests while slow', asked, whole],
	['recovered after', 'recoveredAfterMs', seconds],
]

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/slow-dependency.md', 'variant', COLUMNS)
})

test('without protection, pages that need no reviews fail too', () => {
	expect(Math.max(...study.values('no policy', whileSlow))).toBeLessThan(0.15)
})

test('a timeout helps only if it is short', () => {
	const [long, short] = ['timeout 1 s', 'timeout 250 ms'].map((name) => study.mean(name, whileSlow))
	// Thirty that wait a second need more workers than there are; thirty that wait a quarter of it do not.
	expect(long).toBeLessThan(0.7)
	expect(short).toBeGreaterThan(0.7)
})

test('a bulkhead saves the seven pages in ten that need no reviews, with every seed', () => {
	expect(Math.min(...study.values('bulkhead', whileSlow))).toBeGreaterThan(0.68)
})

test('a breaker saves no more pages, but halves the requests to the slow service', () => {
	const [alone, both] = ['bulkhead', 'bulkhead and breaker'].map((name) => study.mean(name, whileSlow))
	expect(Math.abs((alone ?? 0) - (both ?? 1))).toBeLessThan(0.02)
	expect(study.mean('bulkhead and breaker', asked)).toBeLessThan(study.mean('bulkhead', asked) / 2)
})

test('with a fallback nearly every page is good', () => {
	expect(Math.min(...study.values('bulkhead, breaker, fallback', whileSlow))).toBeGreaterThan(0.98)
})
