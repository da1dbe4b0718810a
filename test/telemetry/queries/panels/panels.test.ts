import { describe, expect, test } from 'vitest'
import { METRICS } from '../../../../src/telemetry/metrics/catalog.ts'
import { bars, lines, states } from '../../../../src/telemetry/queries/panels/panel.ts'
import { panelGroups } from '../../../../src/telemetry/queries/panels/panels.ts'
import type { Scope } from '../../../../src/telemetry/queries/promql.ts'

const scope = (window: string): Scope => ({ where: { job: '$job', service: '$service' }, window })
const ANY = { warning: 1, critical: 2 }

function setup() {
	const groups = panelGroups(
		{ selected: scope('1d'), recent: scope('5m'), step: scope('30s') },
		{ retryRate: ANY, retrySuccess: ANY, circuitsOpened: ANY, retriesPerCall: ANY, deadLetters: ANY },
	)
	return { groups, panels: groups.flatMap((group) => group.panels) }
}

const { groups, panels } = setup()

/** Returns the labels that an expression keeps, and the label `kind` that unions add. */
const labelsOf = (expression: string): ReadonlySet<string> =>
	new Set([
		...[...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
		...(expression.includes('label_replace') ? ['kind'] : []),
	])

describe('the panels', () => {
	test('the panels have groups and titles that do not repeat', () => {
		expect(panels.length).toBeGreaterThan(groups.length)
		for (const titles of [groups.map(({ title }) => title), panels.map(({ title }) => title)])
			expect(new Set(titles).size).toBe(titles.length)
	})

	test.each(panels.map((panel) => [panel.title, panel] as const))(
		'"%s" has a description and queries',
		(_, panel) => {
			expect(panel.description).toMatch(/\.$/)
			expect(panel.queries.length).toBeGreaterThan(0)
		},
	)

	test.each(panels.filter(({ kind }) => kind !== 'number').map((panel) => [panel.title, panel] as const))(
		'"%s" names its series by labels that the queries keep, each differently',
		(_, { queries }) => {
			for (const { expression, legend } of queries) {
				const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label)
				expect([...labelsOf(expression)]).toEqual(expect.arrayContaining(named))
				expect(named[0]).toBe('job')
			}
			expect(new Set(queries.map(({ legend }) => legend)).size).toBe(queries.length)
		},
	)

	test('only numbers have thresholds, and each number has them', () => {
		for (const { title, kind, thresholds } of panels)
			expect([title, thresholds !== undefined]).toEqual([title, kind === 'number'])
	})

	test('bars count the events of a step, numbers the selected time, and lines a recent time', () => {
		const windows = { bars: '30s', number: '1d', lines: '5m' }
		for (const { title, kind, queries } of panels)
			for (const { expression } of queries) {
				if (kind === 'states' || !/\[\w+\]/.test(expression)) continue
				expect([title, expression]).toEqual([title, expect.stringContaining(`[${windows[kind]}]`)])
			}
	})

	test('a share is a quotient, or a gauge that is a ratio', () => {
		const shares = panels.filter(({ unit }) => unit === 'share')
		expect(shares.length).toBeGreaterThan(0)
		for (const { queries } of shares)
			for (const { expression } of queries) expect(expression).toMatch(/\n\/ |_ratio\b/)
	})

	test('every metric of the catalog is in a panel', () => {
		const words = new Set(
			panels.flatMap(({ queries }) => queries.flatMap(({ expression }) => expression.match(/\w+/g) ?? [])),
		)
		const missing = Object.keys(METRICS).filter((name) => !words.has(name) && !words.has(`${name}_bucket`))
		expect(missing).toEqual([])
	})
})

describe('a graph', () => {
	test.each([
		['lines', lines],
		['bars', bars],
		['states', states],
	] as const)('%s has a series for each service if it has one expression without a name', (kind, graph) => {
		expect(graph('What?', 'Why.', 'count', 'up')).toEqual({
			title: 'What?',
			description: 'Why.',
			kind,
			unit: 'count',
			queries: [{ expression: 'up', legend: '{{job}} {{service}}' }],
		})
	})

	test('a graph keeps the order of its expressions', () => {
		const { queries } = lines('What?', 'Why.', 'seconds', { p99: 'b', p50: 'a' })
		expect(queries).toEqual([
			{ expression: 'b', legend: '{{job}} p99' },
			{ expression: 'a', legend: '{{job}} p50' },
		])
	})
})
