import { expect, test } from 'vitest'
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

test('has panels with unique ids and titles that do not overlap', () => {
	expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
	expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
	const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
		Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
	)
	expect(new Set(cells).size).toBe(cells.length)
	expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24)
})
