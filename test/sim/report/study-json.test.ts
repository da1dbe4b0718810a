/** Reads the JSON of a study back, as another program would with only the guide at hand. */
import { describe, expect, it } from 'vitest'
import type { GridStudy, Scenario, VariantStudy } from 'yaoki/sim'
import { type JSONOptions, runStudy, type StudyJSON, toJSON } from 'yaoki/sim/report'
import { buildTimeChart } from '../../../src/sim/report/time-charts.ts'
import { named, page, table } from '../../examples/markdown.ts'

const scenario: Scenario = {
	durationMs: 10_000,
	services: {
		shop: { workers: 5, serviceTimeMs: 5, dependsOn: [{ to: 'db', policy: 'hop' }] },
		db: {
			workers: 2,
			serviceTimeMs: { kind: 'exponential', meanMs: 10 },
			faults: [
				{ kind: 'outage', mode: 'hang', fromMs: 1_000, toMs: 2_000 },
				{ kind: 'errors', rate: 0.3, fromMs: 2_500, toMs: 3_000 },
			],
		},
	},
	clients: { web: { to: 'shop', arrivals: { kind: 'poisson', perSecond: 40 } } },
	policies: { hop: [{ retry: { maxRetries: 2, baseDelayMs: 50 } }, { timeoutMs: 200 }] },
}
const study: VariantStudy = {
	title: 'A study',
	description: 'Why?',
	variants: { one: scenario, two: { ...scenario, policies: { hop: [{ timeoutMs: 200 }] } } },
}
const result = runStudy(study, { replications: 3 })
const read = (options?: JSONOptions): StudyJSON => JSON.parse(JSON.stringify(toJSON(result, options)))

describe('the JSON of a study', () => {
	it('is the data that toJSON returns', () => {
		expect(read()).toEqual(toJSON(result))
		expect(read()).toMatchObject({
			title: 'A study',
			runs: { made: 6, planned: 6 },
			chart: { kind: 'requests', services: ['db'] },
			cases: [{ name: 'one', runs: [{ seed: 1 }, { seed: 2 }, { seed: 3 }] }, { name: 'two' }],
		})
	})

	it.each([
		[undefined, [true, false, false]],
		['first', [true, false, false]],
		['all', [true, true, true]],
		['none', [false, false, false]],
	] as const)('has with timelines %s those of the runs %j', (timelines, expected) => {
		for (const { runs } of read({ timelines }).cases)
			expect(runs.map(({ timeline }) => timeline !== undefined)).toEqual(expected)
	})

	it('has complete timelines: they add up to the counts of the run', () => {
		for (const { timeline, services, clients } of read({ timelines: 'all' }).cases.flatMap(
			({ runs }) => runs,
		)) {
			const sum = (values: readonly number[] = []) => values.reduce((a, b) => a + b, 0)
			for (const [name, service] of Object.entries(services)) {
				const line = timeline?.services[name]
				expect([sum(line?.requests), sum(line?.useful)]).toEqual([service.requests, service.useful])
			}
			for (const [name, client] of Object.entries(clients)) {
				const line = timeline?.clients[name]
				expect([sum(line?.started), sum(line?.good)]).toEqual([client.calls, client.good])
				expect(line?.started.length).toBe(10_000 / (timeline?.stepMs ?? 0))
			}
		}
	})

	it('has the faults of each case with their service and settings', () => {
		const faults = [
			{ service: 'db', kind: 'outage', mode: 'hang', fromMs: 1_000, toMs: 2_000 },
			{ service: 'db', kind: 'errors', rate: 0.3, fromMs: 2_500, toMs: 3_000 },
		]
		expect(read().cases.map((one) => one.faults)).toEqual([faults, faults])
	})

	it('is enough to draw the chart of a run', () => {
		const single = runStudy(study, { replications: 1 })
		const drawn = buildTimeChart(single, study, 'requests')
		const { chart, cases }: StudyJSON = JSON.parse(JSON.stringify(toJSON(single)))
		const [service = ''] = chart?.services ?? []
		for (const [index, { runs, faults }] of cases.entries()) {
			const { timeline } = runs[0] ?? {}
			const rates = timeline?.services[service]?.requests.map((count) => (count * 1_000) / timeline.stepMs)
			expect(drawn.panels[index]?.series[0]?.values).toEqual(rates)
			expect(faults.map(({ fromMs, toMs }) => [fromMs / 1_000, toMs / 1_000])).toEqual(
				drawn.faults?.map(({ from, to }) => [from, to]),
			)
		}
	})

	it('has null where no run has a value', () => {
		const short = runStudy({ ...scenario, durationMs: 1_500 }, { replications: 2 })
		const { cases } = JSON.parse(JSON.stringify(toJSON(short)))
		expect(cases[0].measures.recoveredAfterMs).toMatchObject({ mean: null, count: 0 })
	})

	it('names the clients of a chart of responses', () => {
		const responses = { ...result, study: { ...study, chart: 'responses' } as const }
		expect(toJSON(responses).chart).toEqual({ kind: 'responses', clients: ['web'] })
	})

	it('has the timeline of the first run that kept it', () => {
		const [first, second] = result.cases[0]?.runs ?? []
		if (!first || !second) throw new Error('expected two runs')
		const none = { started: [], startedGood: [], startedBad: [], good: [], bad: [] }
		const stripped = { ...first, timeline: { ...first.timeline, clients: { web: none } } }
		const cases = result.cases.slice(0, 1).map((one) => ({ ...one, runs: [stripped, second] }))
		for (const timelines of ['first', 'all'] as const) {
			const { runs } = toJSON({ ...result, cases }, { timelines }).cases[0] ?? { runs: [] }
			expect(runs.map(({ timeline }) => timeline)).toEqual([undefined, second.timeline])
		}
	})

	it('rejects unknown options and values', () => {
		expect(() => toJSON(result, { timelines: 'some' as 'all' })).toThrow(
			expect.objectContaining({ optionPath: 'timelines' }),
		)
		expect(() => toJSON(result, { timeline: 'all' } as object)).toThrow('Did you mean "timelines"?')
	})

	it('has the position of each case, and no chart, for a grid', () => {
		const axis = { label: 'n', values: [1, 2] }
		const grid: GridStudy = { title: 'Map', x: axis, y: axis, panels: ['p'], at: () => scenario }
		const data = toJSON(runStudy(grid, { replications: 1 }))
		expect(data.cases.map(({ name, x, y }) => [name, x, y])).toEqual([
			['p', 1, 1],
			['p', 2, 1],
			['p', 1, 2],
			['p', 2, 2],
		])
		expect(data.chart).toBeUndefined()
		expect(data.cases.map(({ runs }) => runs[0]?.timeline !== undefined)).toEqual([true, true, true, true])
	})
})

describe('the field list of the guide', () => {
	const documented = table(page('docs/guide/simulator.md'), 'JSON field', 'meaning').flatMap(([cell = '']) =>
		named(cell),
	)

	/** Returns the paths of all fields, with NAME for a service or client, down to what another table of the guide describes. */
	function pathsOf(value: unknown, path = ''): readonly string[] {
		if (Array.isArray(value)) return [...new Set(value.flatMap((item) => pathsOf(item, `${path}[]`)))]
		if (Object(value) !== value || OPAQUE.includes(path)) return [path]
		return Object.entries(value as object).flatMap(([key, item]) => {
			const parent = path.slice(path.lastIndexOf('.') + 1)
			const name = path.includes('timeline') && ['clients', 'services'].includes(parent) ? 'NAME' : key
			return pathsOf(item, path === '' ? name : `${path}.${name}`)
		})
	}
	/** Other tables of the guide describe measures, the result of a run, and the settings of each kind of fault. */
	const OPAQUE = ['cases[].measures', 'cases[].difference']
	const isOfRun = (path: string) => path.startsWith('cases[].runs[].') && !path.includes('.timeline.')
	const isSetting = (path: string) => /^cases\[\]\.faults\[\]\.(?!service|kind|fromMs|toMs)/.test(path)

	it('has every field of the document, and no other', () => {
		const axis = { label: 'n', values: [1] }
		const grid: GridStudy = { title: 'Map', x: axis, y: axis, panels: ['p'], at: () => scenario }
		const responses = { ...result, study: { ...study, chart: 'responses' } as const }
		const documents = [toJSON(result), toJSON(responses), toJSON(runStudy(grid, { replications: 1 }))]
		const all = documents.flatMap((one) => pathsOf(JSON.parse(JSON.stringify(one))))
		const found = all.filter((path) => !isSetting(path))
		const shortened = found.map((path) => (isOfRun(path) ? 'cases[].runs[]' : path.replace(/\[\]$/, '')))
		expect([...new Set(shortened)].sort()).toEqual([...documented].sort())
	})
})
