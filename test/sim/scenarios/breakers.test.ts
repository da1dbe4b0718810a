import { expect, test } from 'vitest'
import { figures } from '../../../scripts/scenarios/breakers.ts'
import { breakers } from '../../../src/sim/scenarios/breakers.ts'
import { type Column, percent, Studied, seconds } from './studied.ts'

const study = new Studied(breakers)
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
	const byDefault = study.mean('from 1 s, x 1.5 (default)', lostMs)
	expect(study.mean('open for 30 s', lostMs)).toBeGreaterThan(10 * byDefault)
	expect(study.mean('from 1 s, x 2', lostMs)).toBeGreaterThan(1.8 * byDefault)
})

test('a service that has just started gets less than its capacity, with any breaker that grows', () => {
	for (const name of study.names.filter((one) => one.startsWith('from 1 s')))
		expect(Math.max(...study.values(name, firstShare))).toBeLessThan(1)
})

test('more probes send more requests to a service that is down', () => {
	expect(study.mean('from 1 s, x 1.5, 3 probes', downShare)).toBeGreaterThan(
		1.2 * study.mean('from 1 s, x 1.5 (default)', downShare),
	)
})
