/** A chart names the service or the clients that it shows, and shows other services on request. */
import { describe, expect, it, test } from 'vitest'
import type { Scenario, VariantStudy } from 'yaoki/sim'
import { type ChartOptions, runStudy, toHTML, toSVG, toText } from 'yaoki/sim/report'
import { readXml, textsOf, type XmlElement } from '../charts/xml.ts'

/** Every call makes one request to the shop and two to its database. */
const shop: Scenario = {
	durationMs: 4_000,
	services: {
		shop: { workers: 5, serviceTimeMs: 5, dependsOn: [{ to: 'db' }, { to: 'db' }] },
		db: {
			workers: 5,
			serviceTimeMs: 5,
			faults: [{ kind: 'slowdown', factor: 2, fromMs: 1_000, toMs: 2_000 }],
		},
	},
	clients: { web: { to: 'shop', arrivals: { kind: 'constant', perSecond: 20 } } },
}
const alone: Scenario = {
	durationMs: 4_000,
	services: { shop: { workers: 5, serviceTimeMs: 5 } },
	clients: { web: { to: 'shop', arrivals: { kind: 'constant', perSecond: 20 } } },
}
const study: VariantStudy = { title: 'A shop', variants: { first: shop, second: shop } }
const result = runStudy(study, { replications: 2 })

interface Drawn {
	readonly texts: readonly string[]
	readonly description: string
}
const read = (svg: string): Drawn => {
	const root: XmlElement = readXml(svg)
	return { texts: textsOf(root), description: root.children[1]?.text ?? '' }
}
const draw = (options?: ChartOptions, of = result): Drawn => read(toSVG(of, options))

describe('a chart of several services', () => {
	it('shows the busiest service, and says so in subtitle and description', () => {
		const subtitle = 'requests to db, the busiest of 2 services; median of 2 runs, each with its own seed'
		const { texts, description } = draw()
		expect(texts).toContain(subtitle)
		expect(description).toMatch(subtitle)
		// Two requests per call.
		expect(description).toContain('first, requests: at most 40,')
	})

	it('shows the same service in every panel, although another is the busiest of one variant', () => {
		const idle: Scenario = { ...shop, services: { ...shop.services, shop: { workers: 5, serviceTimeMs: 5 } } }
		const { description } = draw(
			{},
			runStudy({ ...study, variants: { first: shop, idle } }, { replications: 1 }),
		)
		expect(description).toContain('idle, requests: at most 0,')
	})

	it('names the service of a variant that lacks the service of the others', () => {
		const mixed = runStudy({ ...study, variants: { first: shop, alone } }, { replications: 1 })
		expect(draw({}, mixed).texts).toEqual(expect.arrayContaining(['first', 'alone (shop)']))
	})

	it('names the services whose work it adds up', () => {
		expect(draw({ chart: 'work' }).description).toMatch(/^work of shop and db together; median/)
	})

	it('shows the selected service', () => {
		const { texts, description } = draw({ services: ['shop'] })
		expect(texts).toContain('requests to shop; median of 2 runs, each with its own seed')
		expect(description).toContain('first, requests: at most 20,')
	})

	it.each(['requests', 'work'] as const)('has a panel per service and variant of %s on request', (chart) => {
		const { texts } = draw({ chart, services: 'all' })
		expect(texts).toEqual(
			expect.arrayContaining(['first (shop)', 'first (db)', 'second (shop)', 'second (db)']),
		)
		expect(texts).toContain(`${chart} by service; median of 2 runs, each with its own seed`)
	})

	it('shows what the study selects, unless an option says otherwise', () => {
		const selected = { ...result, study: { ...study, chart: 'work', services: ['shop'] } as const }
		expect(draw({}, selected).description).toMatch(/^work of shop;/)
		expect(draw({ chart: 'requests', services: ['db'] }, selected).description).toMatch(/^requests to db;/)
	})

	it('names the service of a fault', () => {
		expect(draw().texts).toContain('slowdown of db')
	})

	it('shows the same in a terminal and in a page', () => {
		expect(toText(result)).toMatch(/^A shop\nrequests to db, the busiest of 2 services;/)
		expect(toText(result, { services: 'all' })).toMatch(/^first \(shop\) .*\nfirst \(db\) /m)
		const page = toHTML(result, { services: 'all' })
		expect(page.match(/>first \(db\)</g)).toHaveLength(2)
	})
})

test('a chart of one service names it in the description only', () => {
	const single = runStudy({ title: 'One', variants: { alone } }, { replications: 1 })
	const expected = { requests: 'requests to shop', work: 'work of shop', responses: 'responses to web' }
	for (const [chart, subject] of Object.entries(expected)) {
		const { texts, description } = draw({ chart: chart as keyof typeof expected }, single)
		expect(description).toMatch(new RegExp(`^${subject}\\. seed 1\\.`))
		expect(texts).toContain('seed 1')
	}
})

test('a chart of responses names the clients that it adds up', () => {
	const clients = {
		...alone.clients,
		batch: { to: 'shop', arrivals: { kind: 'constant', perSecond: 1 } },
	} as const
	const both = runStudy({ title: 'Two', variants: { both: { ...alone, clients } } }, { replications: 1 })
	expect(draw({ chart: 'responses' }, both).texts).toContain('responses to web and batch together; seed 1')
})

test('variants with other faults are drawn with their own', () => {
	const outage: Scenario = {
		...alone,
		services: { shop: { serviceTimeMs: 5, faults: [{ kind: 'outage', fromMs: 0, toMs: 1_000 }] } },
	}
	const slow: Scenario = {
		...alone,
		services: {
			shop: { serviceTimeMs: 5, faults: [{ kind: 'slowdown', factor: 2, fromMs: 2_000, toMs: 3_000 }] },
		},
	}
	const variants = { 'a down': outage, 'b down': outage, slow }
	const mixed = runStudy({ title: 'Faults', variants }, { replications: 1 })
	const { texts, description } = draw({}, mixed)
	expect(texts.filter((text) => ['outage', 'slowdown'].includes(text))).toEqual(['outage', 'slowdown'])
	expect(description).toContain('b down, outage from 0 to 1.')
	expect(description).toContain('slow, slowdown from 2 to 3.')
	expect(toText(mixed)).toMatch(/^b down .*\noutage +×+─+\nslow .*\nslowdown +─+×+─+$/m)
})

describe('invalid options are rejected', () => {
	const invalid = (of: () => unknown) => {
		try {
			of()
		} catch (error) {
			return (error as Error).message
		}
		return undefined
	}

	it('name the services that exist', () => {
		expect(invalid(() => toSVG(result, { services: ['bd'] }))).toBe(
			'Invalid option "services": expected one of shop, db, got "bd"',
		)
	})

	it.each([
		[{ services: [] }, 'services'],
		[{ services: 'shop' }, 'services'],
		[{ chart: 'queue' }, 'chart'],
		[{ chart: 'responses', services: 'all' }, 'chart'],
		[{ service: 'db' }, 'service'],
		[{ columns: 80 }, 'columns'],
	])('%j', (options, optionPath) => {
		for (const report of [toSVG, toHTML])
			expect(() => report(result, options as ChartOptions)).toThrow(expect.objectContaining({ optionPath }))
	})

	it('are rejected where the chart is not drawn over time', () => {
		const curves = { xLabel: 'x', measures: ['p99Ms'] as const, points: { first: { curve: 'a', x: 1 } } }
		expect(invalid(() => toSVG({ ...result, study: { ...study, curves } }, { services: 'all' }))).toContain(
			'the chart of this study is curves',
		)
		const x = { label: 'x', values: [1] }
		const grid = runStudy({ title: 'Map', x, y: x, panels: ['p'], at: () => alone }, { replications: 1 })
		expect(invalid(() => toText(grid, { chart: 'work' }))).toContain('the chart of this study is a heat map')
	})

	it('are rejected for texts too', () => {
		expect(invalid(() => toText(result, { columns: Number.NaN }))).toContain('"columns"')
		expect(invalid(() => toText(result, { width: 80 } as object))).toContain('Unknown option "width"')
	})
})
