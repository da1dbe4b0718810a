import { expect, test } from 'vitest'
import { hedging } from '../../../src/sim/scenarios/hedging.ts'
import { type Column, milliseconds, percent, Studied, times } from './studied.ts'

const study = new Studied(hedging)

const COLUMNS: readonly Column[] = [
	['p50', 'p50Ms', milliseconds],
	['p99', 'p99Ms', milliseconds],
	['requests per call', 'amplification', times],
	['wasted work', 'wastedShare', percent],
	['calls succeeded', 'goodShare', percent],
]
const p99 = (name: string): number => study.mean(name, 'p99Ms')

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/hedging.md', 'variant', COLUMNS)
})

test('with idle workers, a hedge after p95 removes nearly a third of the tail for one request in twenty', () => {
	expect(p99('30 % busy: hedge after p95, budget')).toBeLessThan(0.7 * p99('30 % busy: no hedge'))
	expect(study.mean('30 % busy: hedge after p95, budget', 'amplification')).toBeLessThan(1.07)
})

test('with idle workers, an immediate hedge removes more, for twice the requests', () => {
	expect(p99('30 % busy: hedge immediately')).toBeLessThan(0.5 * p99('30 % busy: no hedge'))
	expect(study.mean('30 % busy: hedge immediately', 'amplification')).toBe(2)
	expect(study.mean('30 % busy: hedge immediately', 'wastedShare')).toBeGreaterThan(0.7)
})

test('on a busy service a hedge makes the tail longer, and a budget limits that', () => {
	const none = p99('80 % busy: no hedge')
	expect(p99('80 % busy: hedge after p95, budget')).toBeGreaterThan(1.5 * none)
	expect(p99('80 % busy: hedge after p95, no budget')).toBeGreaterThan(4 * none)
})

test('on a busy service a hedge helps if the server drops expired requests from its queue', () => {
	expect(p99('80 % busy: hedge after p95, expired dropped')).toBeLessThan(0.9 * p99('80 % busy: no hedge'))
})

test('an immediate hedge overloads a busy service: one call in four fails', () => {
	expect(study.mean('80 % busy: hedge immediately', 'goodShare')).toBeLessThan(0.76)
	expect(p99('80 % busy: hedge immediately')).toBeGreaterThan(5 * p99('80 % busy: no hedge'))
})
