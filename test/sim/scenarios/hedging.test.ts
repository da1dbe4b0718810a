import { expect, test } from 'vitest'
import { hedging } from '../../../src/sim/scenarios/hedging.ts'
import { type Column, milliseconds, percent, Studied, times } from './studied.ts'

const study = new Studied(hedging)

const COLUMNS: readonly Column[] = [
	['p50', 'p50Ms', milliseconds],
	['p99', 'p99Ms', milliseconds],
	['requests a call', 'amplification', times],
	['work for nobody', 'wastedShare', percent],
	['calls answered', 'goodShare', percent],
]
const p99 = (name: string): number => study.mean(name, 'p99Ms')

test('the page shows what comes out', () => {
	study.expectTable('docs/scenarios/hedging.md', 'variant', COLUMNS)
})

test('with idle workers, a hedge after the 95th percentile takes nearly a third of the tail away for a request in twenty', () => {
	expect(p99('30 % busy: after p95, with a budget')).toBeLessThan(0.7 * p99('30 % busy: no hedge'))
	expect(study.mean('30 % busy: after p95, with a budget', 'amplification')).toBeLessThan(1.07)
})

test('with idle workers, a hedge at once takes more, for twice the requests', () => {
	expect(p99('30 % busy: at once')).toBeLessThan(0.5 * p99('30 % busy: no hedge'))
	expect(study.mean('30 % busy: at once', 'amplification')).toBe(2)
	expect(study.mean('30 % busy: at once', 'wastedShare')).toBeGreaterThan(0.7)
})

test('on a busy service a hedge makes the tail longer; a budget keeps that within bounds', () => {
	const none = p99('80 % busy: no hedge')
	expect(p99('80 % busy: after p95, with a budget')).toBeGreaterThan(1.5 * none)
	expect(p99('80 % busy: after p95, without')).toBeGreaterThan(4 * none)
})

test('unless the server drops the losers that still wait in its line', () => {
	expect(p99('80 % busy: after p95, losers dropped')).toBeLessThan(0.9 * p99('80 % busy: no hedge'))
})

test('at once, on a busy service, is more than it can do: a call in four fails', () => {
	expect(study.mean('80 % busy: at once', 'goodShare')).toBeLessThan(0.76)
	expect(p99('80 % busy: at once')).toBeGreaterThan(5 * p99('80 % busy: no hedge'))
})
