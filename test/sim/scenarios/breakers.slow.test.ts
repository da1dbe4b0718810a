import { expect, test } from 'vitest'
import { OUTAGES, outageRow } from '../../../scripts/scenarios/breakers.ts'
import { page, table } from '../../examples/markdown.ts'

// Runs with 500 clients take too long for a test; `npm run scenarios` writes their rows.
test('the page shows the outages of 20 clients as they are run', () => {
	const shown = table(
		page('docs/scenarios/breakers.md'),
		'outage',
		...['clients', 'service', 'no breaker', 'open for 30 s', 'from 1 s, x 2', 'from 1 s, x 1.5 (default)'],
		...['first 5 s', 'while down'],
	)
	expect(shown).toHaveLength(OUTAGES.length)
	const outages = OUTAGES.filter(([, clients]) => clients === 20)
	expect(shown.filter(([, clients]) => clients === '20')).toEqual(
		outages.map((outage) => outageRow(...outage)),
	)
})
