import { expect, test } from 'vitest'
import { DEFAULT_SETTINGS } from '../../../src/cli/gen/alert-settings.ts'
import { grafanaDashboard } from '../../../src/cli/gen/grafana-dashboard.ts'
import { METRICS } from '../../../src/telemetry/metrics/catalog.ts'

const { panels, templating } = grafanaDashboard()
const drawn = panels.flatMap((panel) => ('targets' in panel ? [panel] : []))
const expressions = drawn.flatMap(({ targets }) => targets.map(({ expr }) => expr))

test('shows every metric of the catalog', () => {
	const all = expressions.join('\n')
	const missing = Object.keys(METRICS).filter((name) => !new RegExp(`\\b${name}(_bucket)?\\b`).test(all))
	expect(missing).toEqual([])
})

test('takes data source, job and service from variables', () => {
	expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'service'])
	for (const { datasource } of drawn) expect(datasource).toEqual({ type: 'prometheus', uid: '$datasource' })
	for (const expr of expressions) expect(expr).toContain('job=~"$job"')
})

test('the dashboard has panels with unique ids and titles that do not overlap', () => {
	expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
	expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
	const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
		Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
	)
	expect(new Set(cells).size).toBe(cells.length)
	expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24)
})

test('names every series of a graph after its job, and no number', () => {
	for (const { type, targets } of drawn)
		for (const { legendFormat } of targets) expect(legendFormat.startsWith('{{job}} ')).toBe(type !== 'stat')
})

test('colors numbers: red where an alert fires by default', () => {
	const colors = drawn
		.filter(({ type }) => type === 'stat')
		.map(({ title, fieldConfig: { defaults } }) => [title, 'thresholds' in defaults && defaults.thresholds])
	const steps = (...all: readonly (readonly [string, number | null])[]) => ({
		mode: 'absolute',
		steps: all.map(([color, value]) => ({ color, value })),
	})
	expect(Object.fromEntries(colors)).toEqual({
		'Retry rate': steps(['green', null], ['yellow', 0.05], ['red', DEFAULT_SETTINGS.maxRetryRate]),
		'Retry success rate': steps(['red', null], ['yellow', DEFAULT_SETTINGS.minRetrySuccess], ['green', 0.75]),
		'Circuits opened': steps(['green', null], ['yellow', 0.01], ['red', DEFAULT_SETTINGS.minReopened]),
		'Retries per call': steps(['green', null], ['yellow', 0.25], ['red', DEFAULT_SETTINGS.maxRetriesPerCall]),
		'Dead letters': steps(['green', null], ['red', 0.01]),
	})
})
