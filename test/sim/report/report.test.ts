import { describe, expect, it } from 'vitest'
import {
	dataOf,
	type GridStudy,
	htmlOf,
	runStudy,
	type Scenario,
	svgOf,
	textOf,
	type VariantStudy,
} from 'yaoki/sim'
import { outcomeOf } from '../../../src/sim/report/outcome.ts'

const scenario: Scenario = {
	duration: 10_000,
	services: {
		api: { workers: 2, serviceTime: 20, faults: [{ kind: 'outage', fromMs: 2_000, toMs: 4_000 }] },
	},
	clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 40 }, policy: 'client' } },
	policies: { client: [{ retry: { maxRetries: 3, baseDelayMs: 200 } }] },
}
const variants: VariantStudy = {
	title: 'Jitter & <outage>',
	description: 'Which one?',
	replications: 3,
	variants: {
		full: scenario,
		none: { ...scenario, policies: { client: [{ retry: { jitterStrategy: 'none' } }] } },
	},
}
const grid: GridStudy = {
	title: 'A map',
	description: 'How far?',
	x: { label: 'load', values: [0.5, 0.9] },
	y: { label: 'outage', values: [1_000, 2_000], format: (ms) => `${ms / 1_000} s` },
	panels: ['with', 'without'],
	at: (load, outageMs, panel) => ({
		...scenario,
		services: {
			api: {
				workers: 2,
				serviceTime: 20,
				faults: [{ kind: 'outage', fromMs: 2_000, toMs: 2_000 + outageMs }],
			},
		},
		clients: {
			web: {
				to: 'api',
				arrivals: { kind: 'constant', perSecond: load * 100 },
				...(panel === 'with' ? { policy: 'client' } : {}),
			},
		},
	}),
	replications: 2,
}
const plain = { columns: 80, colour: false }

describe('the report of scenarios side by side', () => {
	const outcome = runStudy(variants)

	it('is a picture with every variant, the outage and the capacity', () => {
		const svg = svgOf(outcome)
		expect(svg).toMatch(/^<svg/)
		for (const name of ['full', 'none', 'outage', 'capacity', 'Jitter &amp; &lt;outage&gt;'])
			expect(svg).toContain(name)
	})

	it('draws useful against wasted work, and good against bad answers, when a study asks for that', () => {
		expect(svgOf({ ...outcome, study: { ...variants, chart: 'work' } })).toContain('wasted')
		expect(svgOf({ ...outcome, study: { ...variants, chart: 'responses' } })).toContain('failed or late')
	})

	it('has a table for terminals, with means and how far off they may be', () => {
		const text = textOf(outcome, plain)
		expect(text).toMatch(/full .*% ±/)
		expect(text).toContain('amplification')
		expect(text).toContain('Which one?')
		expect(text.split('\n').every((line) => line.length <= 110)).toBe(true)
	})

	it('is a page of its own that loads nothing', () => {
		const html = htmlOf(outcome)
		expect(html).toContain('<table>')
		expect(html.match(/<svg/g)).toHaveLength(3)
		expect(html).toContain('6 runs, seeds from 1.')
		expect(html).not.toMatch(/(?:src|href)="http/)
	})

	it('is data that JSON gives back, without the timelines', () => {
		const data = dataOf(outcome)
		expect(JSON.parse(JSON.stringify(data))).toEqual(data)
		expect(data).toMatchObject({
			title: variants.title,
			runs: { made: 6, planned: 6 },
			cases: [{ name: 'full', runs: [{ seed: 1 }, {}, {}] }, { name: 'none' }],
		})
		expect(JSON.stringify(data)).not.toContain('timeline')
	})

	it('says that runs are missing when it was cut short', () => {
		const runs = outcome.cases[0]?.runs.slice(0, 2) ?? []
		const cut = outcomeOf(variants, 3, [runs])
		expect(htmlOf(cut)).toContain('2 runs of 6 that were asked for')
		expect(svgOf(cut)).not.toContain('>none<')
		expect(dataOf(cut)).toMatchObject({ runs: { made: 2, planned: 6 } })
	})

	it('shows published figures beside ours, and how far apart they are in standard errors', () => {
		const requests = { mean: 1_000, sd: 50, count: 100 }
		const text = textOf(
			{ ...outcome, study: { ...variants, measures: ['requests'], reference: { full: { requests } } } },
			plain,
		)
		expect(text).toMatch(/full +[\d,.]+ +1,000\.0 +[-+][\d.]+ SE/)
	})

	it('draws curves when variants differ by a number', () => {
		const curves = {
			xLabel: 'seconds down',
			measures: ['amplification'] as const,
			points: { full: { curve: 'jitter', x: 1 }, none: { curve: 'jitter', x: 2 } },
		}
		const study = { ...variants, curves }
		expect(svgOf({ ...outcome, study })).toContain('seconds down')
		expect(textOf({ ...outcome, study }, plain)).toContain('jitter')
	})
})

describe('the report of a grid', () => {
	const outcome = runStudy(grid)

	it('is a map with a panel for each name and a cell for each pair', () => {
		const svg = svgOf(outcome)
		for (const name of ['with', 'without', 'load', '1 s', '2 s', 'runs that recovered'])
			expect(svg).toContain(name)
	})

	it('is a map of characters for terminals', () => {
		expect(textOf(outcome, plain)).toMatch(/2 s [█▓▒░·]{4}/u)
	})

	it('leaves a cell open that was not run', () => {
		const cut = outcomeOf(
			grid,
			2,
			outcome.cases.slice(0, 3).map(({ runs }) => runs),
		)
		expect(svgOf(cut)).toContain('not run')
	})

	it('is a page and data as well', () => {
		expect(htmlOf(outcome)).toContain('How far?')
		expect(dataOf(outcome)).toMatchObject({ cases: { 0: { x: 0.5, y: 1_000 }, length: 8 } })
	})
})

describe('runs that ended by themselves', () => {
	it('are drawn over one time, whatever their steps', () => {
		const long: Scenario = {
			until: 'idle',
			services: { api: { serviceTime: 1 } },
			clients: {
				web: {
					to: 'api',
					arrivals: {
						kind: 'closed',
						users: 1,
						callsEach: 100,
						think: { kind: 'exponential', meanMs: 1_000 },
					},
				},
			},
		}
		const short: Scenario = {
			...long,
			clients: { web: { to: 'api', arrivals: { kind: 'closed', users: 1, callsEach: 3, think: 100 } } },
		}
		const outcome = runStudy(
			{ title: 'both', description: '', variants: { long, short } },
			{ replications: 2 },
		)
		const [first, second] = outcome.cases.map(({ runs }) => runs[0]?.timeline.stepMs ?? 0)
		expect(first).toBeGreaterThan(second ?? 0)
		expect(svgOf(outcome)).toContain('short')
	})
})
