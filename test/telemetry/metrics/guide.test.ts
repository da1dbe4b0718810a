import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withTable } from '../../../scripts/metrics-table.ts'
import { METRICS } from '../../../src/telemetry/metrics/catalog.ts'

const read = (name: string) =>
	readFileSync(new URL(`../../../docs/guide/${name}.md`, import.meta.url), 'utf8')
const page = read('metrics-reference')

test('the guide lists all metrics: if not, run node scripts/metrics-table.ts', () => {
	expect(withTable(page)).toBe(page)
})

test('the queries of the guide use metrics and labels of the catalog', () => {
	const names = [
		...(read('metrics') + page).matchAll(/\b(?:yaoki|http_client|circuit_breaker)_[a-z_]+/g),
	].map(([name]) => name)
	expect(names.length).toBeGreaterThan(Object.keys(METRICS).length)
	for (const name of names) expect(Object.keys(METRICS)).toContain(name)
})
