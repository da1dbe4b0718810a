import { expect, test } from 'vitest'
import { figures } from '../../../scripts/scenarios/breakers.ts'
import { breakers } from '../../../src/sim/scenarios/breakers.ts'
import { type Column, percent, Studied, seconds } from './studied.ts'

const study = new Studied(breakers)
const DEFAULT = 'x 1.5, to 2 s, 2 probes (default)'
const { lostMs, firstShare, downShare } = figures(20_000, 20)
const COLUMNS: readonly Column[] = [
	['calls lost after the outage', lostMs, seconds],
	['requests in its first 5 s', firstShare, percent],
	['requests while it is down', downShare, percent],
]

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/breakers.md', 'breaker', COLUMNS)
})

test('the default loses a tenth of what an open time of 30 s loses, and half of what a doubled one loses', () => {
	const byDefault = study.mean(DEFAULT, lostMs)
	expect(study.mean('30 s', lostMs)).toBeGreaterThan(10 * byDefault)
	expect(study.mean('x 2, to 30 s', lostMs)).toBeGreaterThan(2 * byDefault)
})

test('a service that has just started gets less than its capacity, with any breaker that grows', () => {
	for (const name of study.names.filter((one) => one.startsWith('x ')))
		expect(Math.max(...study.values(name, firstShare))).toBeLessThan(1)
})

test('more probes send more requests to a service that is down', () => {
	const [one, two, three] = ['x 1.5, to 2 s', DEFAULT, 'x 1.5, to 2 s, 3 probes'].map((name) =>
		study.mean(name, downShare),
	)
	expect(two).toBeGreaterThan(1.1 * (one ?? Infinity))
	expect(three).toBeGreaterThan(1.1 * (two ?? Infinity))
})
