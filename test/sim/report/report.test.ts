import { describe, expect, it } from 'vitest'
import type { GridStudy, Scenario, VariantStudy } from 'yaoki/sim'
import { runStudy, toHTML, toJSON, toSVG, toText } from 'yaoki/sim/report'
import { toStudyResult } from '../../../src/sim/report/run-study.ts'
import { PLAIN } from '../../../src/text/style.ts'
import { displayWidth } from '../../../src/text/width.ts'

const scenario: Scenario = {
	durationMs: 10_000,
	services: {
		api: { workers: 2, serviceTimeMs: 20, faults: [{ kind: 'outage', fromMs: 2_000, toMs: 4_000 }] },
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
				serviceTimeMs: 20,
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

const expectToFit = (text: string): void => {
	for (const line of text.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(80)
}

describe('a study of variants', () => {
	const result = runStudy(variants)

	it('is an SVG chart with every variant, the fault and the capacity', () => {
		const svg = toSVG(result)
		expect(svg).toMatch(/^<svg/)
		for (const name of ['full', 'none', 'outage', 'capacity', 'Jitter &amp; &lt;outage&gt;'])
			expect(svg).toContain(name)
	})

	it('is a chart of useful and wasted work, or of good and bad responses, if the study asks for it', () => {
		expect(toSVG({ ...result, study: { ...variants, chart: 'work' } })).toContain('wasted')
		expect(toSVG({ ...result, study: { ...variants, chart: 'responses' } })).toContain('failed or late')
	})

	it('is a text with means, their uncertainty and the description', () => {
		const text = toText(result)
		expect(text).toMatch(/^Jitter & <outage>\nmedian of 3 runs/)
		expect(text).toMatch(/full .*% ±/)
		expect(text).toContain('amplification')
		expect(text).toContain('Which one?')
		expectToFit(text)
	})

	it('has a sparkline per variant on one scale, and marks the fault below', () => {
		const lines = toText(result).split('\n')
		expect(lines.find((line) => line.startsWith('requests / s'))).toMatch(/0 to [\d.]+ s +peak$/)
		expect(lines.filter((line) => /^(full|none) +[▁-█]+ +\d+$/.test(line))).toHaveLength(2)
		const fault = lines.find((line) => line.startsWith('outage')) ?? ''
		const marks = fault.replace(/^outage +/, '')
		// The outage is from 2 to 4 s of 10 s.
		expect(marks.indexOf('×') / marks.length).toBeCloseTo(0.2, 1)
		expect(marks.lastIndexOf('×') / marks.length).toBeCloseTo(0.4, 1)
	})

	it('has a sparkline for each series of a stacked chart', () => {
		const text = toText({ ...result, study: { ...variants, chart: 'work' } })
		expect(text).toMatch(/^full, useful .*\nfull, wasted .*\nnone, useful /m)
	})

	it('fits a narrow terminal', () => {
		for (const line of toText(result, { columns: 30 }).split('\n'))
			expect(displayWidth(line)).toBeLessThanOrEqual(30)
	})

	it('is styled as the caller asks', () => {
		const style = { ...PLAIN, bold: (text: string) => `<b>${text}</b>` }
		expect(toText(result, { style })).toContain('<b>Jitter & <outage></b>')
	})

	it('is an HTML page that loads nothing', () => {
		const html = toHTML(result)
		expect(html).toContain('<table>')
		expect(html.match(/<svg/g)).toHaveLength(3)
		expect(html).toContain('6 runs, seeds from 1.')
		expect(html).not.toMatch(/(?:src|href)="http/)
	})

	it('says how many runs are missing if it was interrupted', () => {
		const runs = result.cases[0]?.runs.slice(0, 2) ?? []
		const interrupted = toStudyResult(variants, 3, [runs])
		expect(toHTML(interrupted)).toContain('2 of 6 planned runs')
		expect(toSVG(interrupted)).not.toContain('>none<')
		expect(toJSON(interrupted)).toMatchObject({ runs: { made: 2, planned: 6 } })
	})

	it('shows published figures beside ours, and the difference in standard errors', () => {
		const requests = { mean: 1_000, sd: 50, count: 100 }
		const study: VariantStudy = { ...variants, measures: ['requests'], reference: { full: { requests } } }
		expect(toText({ ...result, study })).toMatch(/full +[\d,.]+ +1,000\.0 +[-+][\d.]+ SE/)
		expect(toHTML({ ...result, study })).toContain('SE: standard errors.')
	})

	it('is a chart of curves and a table if the study has curves', () => {
		const curves = {
			xLabel: 'seconds down',
			measures: ['amplification'] as const,
			points: { full: { curve: 'jitter', x: 1 }, none: { curve: 'jitter', x: 2 } },
		}
		const study = { ...variants, curves }
		expect(toSVG({ ...result, study })).toContain('seconds down')
		expect(toText({ ...result, study })).toContain('amplification')
	})
})

it('rejects a curve with a point that is not a finite number', () => {
	const curves = {
		xLabel: 'load',
		measures: ['amplification'] as const,
		points: { full: { curve: 'jitter', x: Number.NaN } },
	}
	const result = runStudy({ ...variants, curves }, { replications: 1 })
	expect(() => toSVG(result)).toThrow(
		expect.objectContaining({ name: 'InvalidOptionError', optionPath: 'curves.points.full.x' }),
	)
})

describe('a grid study', () => {
	const result = runStudy(grid)

	it('is a heat map with a panel per name and a cell per pair', () => {
		const svg = toSVG(result)
		for (const name of ['with', 'without', 'load', '1 s', '2 s', 'runs that recovered'])
			expect(svg).toContain(name)
	})

	it('is a table per panel in a terminal, rows from the top down', () => {
		const text = toText(result)
		expect(text).toContain('runs that recovered, by load (columns) and outage (rows); 2 runs per cell')
		expect(text).toMatch(/^with +0\.5 +0\.9\n.*\n2 s +\d+ % +\d+ %\n1 s /m)
		expectToFit(text)
	})

	it('marks cells that were not run', () => {
		const interrupted = toStudyResult(
			grid,
			2,
			result.cases.slice(0, 3).map(({ runs }) => runs),
		)
		expect(toSVG(interrupted)).toContain('not run')
		expect(toText(interrupted)).toMatch(/^2 s +\d+ % +-$/m)
	})

	it('is also a page and data', () => {
		expect(toHTML(result)).toContain('How far?')
		expect(toJSON(result)).toMatchObject({ cases: { 0: { x: 0.5, y: 1_000 }, length: 8 } })
	})
})

describe('runs without a fixed duration', () => {
	it('are drawn over a common time, although their steps differ', () => {
		const long: Scenario = {
			until: 'idle',
			services: { api: { serviceTimeMs: 1 } },
			clients: {
				web: {
					to: 'api',
					arrivals: {
						kind: 'closed',
						users: 1,
						callsEach: 100,
						thinkMs: { kind: 'exponential', meanMs: 1_000 },
					},
				},
			},
		}
		const short: Scenario = {
			...long,
			clients: { web: { to: 'api', arrivals: { kind: 'closed', users: 1, callsEach: 3, thinkMs: 100 } } },
		}
		const result = runStudy(
			{ title: 'both', description: '', variants: { long, short } },
			{ replications: 2 },
		)
		const [first, second] = result.cases.map(({ runs }) => runs[0]?.timeline.stepMs ?? 0)
		expect(first).toBeGreaterThan(second ?? 0)
		expect(toSVG(result)).toContain('short')
	})
})
