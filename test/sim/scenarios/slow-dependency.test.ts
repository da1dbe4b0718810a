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
	['good over the minute', 'goodShare', percent],
	['p99', 'p99Ms', milliseconds],
	['reviews asked while slow', asked, whole],
	['all well again after', 'recoveredAfterMs', seconds],
]

test('the page shows what comes out', () => {
	study.expectTable('docs/scenarios/slow-dependency.md', 'variant', COLUMNS)
})

test('without protection the pages that need no reviews die with those that do', () => {
	expect(Math.max(...study.values('nothing', whileSlow))).toBeLessThan(0.15)
})

test('a timeout helps only when it is short', () => {
	const [long, short] = ['a timeout of 1 s', 'a timeout of 250 ms'].map((name) => study.mean(name, whileSlow))
	// Thirty that wait a second need more workers than there are; thirty that wait a quarter of it do not.
	expect(long).toBeLessThan(0.7)
	expect(short).toBeGreaterThan(0.7)
})

test('a bulkhead keeps the seven pages in ten that need no reviews, with every seed', () => {
	expect(Math.min(...study.values('a bulkhead', whileSlow))).toBeGreaterThan(0.68)
})

test('a breaker beside it saves no more pages, but asks the slow service less than half as often', () => {
	const [alone, both] = ['a bulkhead', 'a bulkhead and a breaker'].map((name) => study.mean(name, whileSlow))
	expect(Math.abs((alone ?? 0) - (both ?? 1))).toBeLessThan(0.02)
	expect(study.mean('a bulkhead and a breaker', asked)).toBeLessThan(study.mean('a bulkhead', asked) / 2)
})

test('a page without reviews is nearly always to be had', () => {
	expect(Math.min(...study.values('and a page without reviews', whileSlow))).toBeGreaterThan(0.98)
})
