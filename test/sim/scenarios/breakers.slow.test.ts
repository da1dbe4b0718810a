import { expect, test } from 'vitest'
import { chainTable, OUTAGES, outageRow } from '../../../scripts/scenarios/breakers.ts'
import { page, table } from '../../examples/markdown.ts'

// Runs with 500 clients take too long for a test; `npm run scenarios` writes their rows.
test('the page shows the outages of 20 clients as they are run', () => {
	const shown = table(
		page('docs/scenarios/breakers.md'),
		'outage',
		...['clients', 'service', 'no breaker', '30 s', 'x 1.5, to 30 s', 'x 1.5, to 2 s, 2 probes (default)'],
		...['first 5 s', 'while down'],
	)
	expect(shown).toHaveLength(OUTAGES.length)
	const outages = OUTAGES.filter(([, clients]) => clients === 20)
	expect(shown.filter(([, clients]) => clients === '20')).toEqual(
		outages.map((outage) => outageRow(...outage)),
	)
})

test('the page shows the losses in a chain of services as they are run', () => {
	expect(table(page('docs/scenarios/breakers.md'), 'in a chain', '5 s', '20 s', '120 s')).toEqual(
		chainTable(),
	)
})
