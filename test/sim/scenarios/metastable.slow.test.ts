/** What the page says about runs that its map does not contain. */
import { expect, test } from 'vitest'
import { CALM_RUNS, CHANGES, countCollapses, recoveredShare } from '../../../scripts/scenarios/metastable.ts'
import { replicate } from '../../../src/sim/run/replicate.ts'
import { metastable } from '../../../src/sim/scenarios/metastable.ts'
import { page, table } from '../../examples/markdown.ts'

const calm = table(
	page('docs/scenarios/metastable.md'),
	'without any fault',
	'0.5 to 0.7',
	'0.75',
	'0.8',
	'0.85',
	'0.9',
)

test('the page has a row for every remedy, and its text has the figures of the first', () => {
	expect(calm.map(([remedy]) => remedy)).toEqual(metastable.panels)
	const text = page('docs/scenarios/metastable.md').text.replaceAll(/\s+/g, ' ')
	expect(text).toContain(`in ${calm[0]?.[4]} runs of 34 s at a load of 0.85, in ${calm[0]?.[5]} at 0.9,`)
	const floors = table(page('docs/scenarios/metastable.md'), 'full jitter with', 'cells')
	const [few] = floors.find(([name]) => name === 'a budget with the default floor')?.[1]?.split(' ') ?? []
	const remedies = table(page('docs/scenarios/metastable.md'), 'remedy', 'cells')
	const [many] = remedies.find(([name]) => name === 'jitter and budget')?.[1]?.split(' ') ?? []
	expect(text).toContain(`${few} cells recover instead of ${many}.`)
})

// The other remedies take too long for a test; `npm run scenarios` writes their rows.
test.each([
	[0.85, 4],
	[0.9, 5],
])('at a load of %d runs without any fault collapse as often as the page says', (load, column) => {
	const collapsed = countCollapses('full jitter', load)
	expect(`${collapsed} of ${CALM_RUNS}`).toBe(calm[0]?.[column])
	expect(collapsed).toBeGreaterThan(0)
})

test('without jitter no cell changes by more than one run in 20', () => {
	const cells = [
		[0.5, 1_500],
		[0.7, 1_500],
		[0.9, 500],
	] as const
	for (const [load, slowMs] of cells) {
		const cell = metastable.at(load, slowMs, 'full jitter')
		const changed = CHANGES['no jitter']?.(cell) ?? cell
		expect(Math.abs(recoveredShare(changed) - recoveredShare(cell))).toBeLessThan(0.051)
	}
})

test('without retries it recovers at a load of 0.65 in every run, and at 0.9 not always within 20 s', () => {
	const [some, many] = [0.65, 0.9].map((load) => {
		const cell = metastable.at(load, 10_000, 'full jitter')
		return recoveredShare(CHANGES['no retries']?.(cell) ?? cell)
	})
	expect(some).toBe(1)
	expect(many).toBeLessThan(1)
})

test('with the budget, ten slow seconds at a load of 0.8 take about a minute to recover from', () => {
	const cell = metastable.at(0.8, 10_000, 'jitter and budget')
	const { measures, neverRecoveredShare } = replicate({ ...cell, durationMs: 120_000 }, { replications: 20 })
	expect(neverRecoveredShare).toBe(0)
	expect(measures.recoveredAfterMs.low).toBeGreaterThan(40_000)
	expect(measures.recoveredAfterMs.high).toBeLessThan(80_000)
})
