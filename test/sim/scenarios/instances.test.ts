import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { instances } from '../../../src/sim/scenarios/instances.ts'
import { type Column, goodBetween, percent, Studied } from './studied.ts'

const study = new Studied(instances)

/** The share of the requests of the whole run that went to the first instance. */
function firstShare({ services }: SimulationResult): number {
	const [first, ...others] = services['api']?.instances ?? []
	const all = others.reduce((sum, { requests }) => sum + requests, first?.requests ?? 0)
	return (first?.requests ?? Number.NaN) / all
}

const during = goodBetween('web', 10_000, 30_000)

const COLUMNS: readonly Column[] = [
	['good during the fault', during, percent],
	['requests to the first instance', firstShare, percent],
]

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/instances.md', 'variant', COLUMNS)
})

test('counting requests avoids a slow instance', () => {
	const [blind, two, least] = ['round-robin', 'two choices', 'least requests'].map((name) =>
		study.mean(`slow: ${name}`, during),
	)
	expect(least).toBeGreaterThan(0.97)
	expect(two).toBeGreaterThan(blind ?? 1)
})

test('counting requests prefers a dead instance, and ejection removes it', () => {
	const [blind, least, ejected] = ['round-robin', 'least requests', 'least requests, ejection'].map((name) =>
		study.mean(`dead: ${name}`, during),
	)
	expect(least).toBeLessThan(blind ?? 0)
	expect(ejected).toBeGreaterThan(0.97)
})

test('a rolling restart fails no call if each instance is drained first', () => {
	expect(Math.min(...study.values('rolling restart, drained', during))).toBeGreaterThan(0.999)
	expect(study.mean('rolling restart', during)).toBeLessThan(0.9)
})
