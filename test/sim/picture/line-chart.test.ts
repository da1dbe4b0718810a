import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TimeChart } from '../../../src/sim/picture/chart.ts'
import { lineChart } from '../../../src/sim/picture/line-chart.ts'
import { anyLineChart, inXml } from './any-chart.ts'
import { jittered, naive, outage } from './charts.ts'
import { placedTexts, soundPicture } from './sound.ts'
import { allOf, ofClass, textsOf, type XmlElement } from './xml.ts'

const draw = (chart: TimeChart): XmlElement => soundPicture(lineChart(chart))
const both = [naive, jittered]
const ys = (path: XmlElement | undefined): readonly number[] =>
	[...(path?.attributes['d'] ?? '').matchAll(/[ML]\S+ ([\d.-]+)/g)].map(([, y]) => Number(y))

describe('a line chart', () => {
	it('shows its title, its subtitle, its axes and every name', () => {
		const texts = textsOf(draw({ ...outage, series: both }))
		for (const text of [outage.title, outage.subtitle, 'calls/s', 'seconds', 'outage', 'capacity']) {
			expect(texts).toContain(text)
		}
		expect(texts).toEqual(expect.arrayContaining(['naive', 'full jitter', '0', '100', '400']))
	})

	it('is sound whatever it is told', () => {
		fc.assert(
			fc.property(anyLineChart, (chart) => {
				draw(chart)
			}),
			{ numRuns: 200 },
		)
	})

	it('names every series somewhere, escaped and whole', () => {
		fc.assert(
			fc.property(anyLineChart, (chart) => {
				const root = draw(chart)
				const told = root.children[1]?.text ?? ''
				const panels = chart.panels ?? [{ series: chart.series ?? [] }]
				for (const { name } of panels.flatMap(({ series }) => series)) {
					expect(told).toContain(inXml(name))
				}
			}),
		)
	})

	it('gives the same bytes for the same data', () => {
		expect(lineChart({ ...outage, series: both })).toBe(
			lineChart(structuredClone({ ...outage, series: both })),
		)
	})

	it('is described in words for those who do not see it', () => {
		const [title, description] = draw({ ...outage, series: both }).children
		expect(title?.text).toBe(outage.title)
		expect(description?.text).toBe(
			'down for two seconds. calls/s, 0 to 5 seconds. outage from 1 to 3. capacity at 100. ' +
				'naive: at most 390, 370 at the end. full jitter: at most 130, 50 at the end.',
		)
	})

	it('follows the setting of the reader for light and dark', () => {
		const style = allOf(draw({ ...outage, series: both })).find(({ name }) => name === 'style')
		expect(style?.text).toContain('@media (prefers-color-scheme:dark)')
		expect(style?.text).not.toMatch(/[<&]/)
	})

	it('keeps its rules to itself in a page with others', () => {
		const style = allOf(draw({ ...outage, series: both })).find(({ name }) => name === 'style')
		const selectors = (style?.text ?? '')
			.split('\n')
			.filter((line) => line.includes('{') && !line.startsWith('@'))
		expect(selectors.length).toBeGreaterThan(20)
		for (const line of selectors) {
			for (const selector of (line.split('{')[0] ?? '').split(','))
				expect(selector).toMatch(/^\.yaoki-chart /)
		}
	})
})

describe('what is drawn', () => {
	it('a higher value is higher up, and zero is on the axis', () => {
		const root = draw({ title: 't', x: [0, 1, 2], series: [{ name: 'a', values: [0, 10, 5] }] })
		const [zero = 0, ten = 0, five = 0] = ys(ofClass(root, 'line')[0])
		expect(ten).toBeLessThan(five)
		expect(five).toBeLessThan(zero)
		const axis = ofClass(root, 'axis')[0]?.attributes['d']
		expect(axis).toContain(` ${zero}H`)
	})

	it('a gap interrupts the line, and a value between two gaps is a dot', () => {
		const values = [1, 2, Number.NaN, 3, null, 4, 5]
		const root = draw({ title: 't', x: [0, 1, 2, 3, 4, 5, 6], series: [{ name: 'a', values }] })
		expect(ofClass(root, 'line')[0]?.attributes['d']?.match(/M/g)).toHaveLength(2)
		expect(ofClass(root, 'dot')[0]?.attributes['d']?.match(/M/g)).toHaveLength(1)
	})

	it('a band lies behind all lines, and the legend says what it is', () => {
		const band = { low: [40, 100, 200, 300, 300, 300], high: [60, 140, 300, 450, 440, 430] }
		const root = draw({ ...outage, bandLabel: 'range of 20 seeds', series: [{ ...naive, band }, jittered] })
		const shapes = root.children.map(({ attributes }) => attributes['class'] ?? '')
		expect(shapes.indexOf('band s0')).toBeLessThan(shapes.indexOf('line s0'))
		expect(shapes.indexOf('band s0')).toBeGreaterThan(-1)
		expect(textsOf(root)).toContain('range of 20 seeds')
	})

	it('an axis has room for what a band reaches and for every reference line', () => {
		const band = { low: [0, 0], high: [10, 900] }
		const chart = { title: 't', x: [0, 1], series: [{ name: 'a', values: [5, 5], band }] }
		expect(textsOf(draw(chart))).toContain('1,000')
		expect(textsOf(draw({ ...chart, lines: [{ value: 4_000, label: 'capacity' }] }))).toContain('4,000')
	})

	it('values below zero are below the axis', () => {
		const root = draw({ title: 't', x: [0, 1], series: [{ name: 'a', values: [-5, 5] }] })
		const axis = Number(/ ([\d.]+)H/.exec(ofClass(root, 'axis')[0]?.attributes['d'] ?? '')?.[1])
		const [below = 0, above = 0] = ys(ofClass(root, 'line')[0])
		expect(below).toBeGreaterThan(axis)
		expect(above).toBeLessThan(axis)
	})

	it('a hundred thousand points are a small file, and its one spike is still there', () => {
		const x = Array.from({ length: 100_000 }, (_, index) => index / 100)
		const values = x.map((_, index) => (index === 54_321 ? 1_000 : index % 7))
		const svg = lineChart({ title: 't', x, series: [{ name: 'a', values }] })
		expect(svg.length).toBeLessThan(60_000)
		const places = ys(ofClass(soundPicture(svg), 'line')[0])
		const [top = 0, next = 0] = places.toSorted((a, b) => a - b)
		expect(next - top).toBeGreaterThan(200)
	})

	it('the seventh series has the first colour again, but is dashed', () => {
		const series = Array.from({ length: 7 }, (_, index) => ({ name: `n${index}`, values: [index, index] }))
		const root = draw({ title: 't', x: [0, 1], series })
		expect(ofClass(root, 'line').map(({ attributes }) => attributes['class'])).toContain('line s0 dashed')
	})
})

describe('shaded stretches', () => {
	const shadesOf = (shades: TimeChart['shades']) =>
		ofClass(draw({ ...outage, shades, series: both }), 'shade').map(({ attributes }) => attributes)

	it('are as long as what they stand for', () => {
		const [short, long] = shadesOf([
			{ from: 0, to: 1 },
			{ from: 1, to: 3 },
		])
		expect(Number(long?.['width']) / Number(short?.['width'])).toBeCloseTo(2, 1)
	})

	it('are cut where the chart ends, and left out where it has not begun', () => {
		expect(shadesOf([{ from: 4, to: Infinity }])).toHaveLength(1)
		expect(shadesOf([{ from: 10, to: 20 }])).toHaveLength(0)
		expect(shadesOf([{ from: -20, to: -1 }])).toHaveLength(0)
	})

	it('are a hair wide if they took no time', () =>
		expect(shadesOf([{ from: 2, to: 2 }])[0]?.['width']).toBe('1'))

	it('have labels that do not touch, however close they are', () => {
		const shades = ['slow start', 'outage of the database', 'deploy', 'rollback'].map((label, index) => ({
			from: index / 4,
			to: (index + 1) / 4,
			label,
		}))
		const root = draw({ ...outage, shades, series: both })
		expect(textsOf(root)).toEqual(expect.arrayContaining(shades.map(({ label }) => label)))
	})
})

describe('names', () => {
	const six = Array.from({ length: 6 }, (_, index) => ({
		name: `strategy ${index}`,
		values: [5, 5 + index / 10],
	}))
	const chart = { ...outage, x: [0, 1] }
	const long = six.map((one) => ({ ...one, name: `${one.name}, with all of its settings in its name` }))
	const plotTop = (root: XmlElement): number =>
		Math.min(...ofClass(root, 'shade').map(({ attributes }) => Number(attributes['y'])))

	it('stand beside the ends of their lines, apart from each other', () => {
		const root = draw({ ...chart, series: six })
		const beside = placedTexts(root).filter(({ text }) => text.startsWith('strategy'))
		expect(beside).toHaveLength(6)
		const right = Math.max(
			...ofClass(root, 'shade').map(({ attributes: a }) => Number(a['x']) + Number(a['width'])),
		)
		for (const { left } of beside) expect(left).toBeGreaterThan(right)
	})

	it('stand above the plot where they are too long for that', () => {
		const root = draw({ ...chart, series: long })
		const above = placedTexts(root).filter(({ text }) => text.startsWith('strategy'))
		expect(above).toHaveLength(6)
		for (const { y } of above) expect(y).toBeLessThan(plotTop(root))
	})

	it('that would not fit anywhere are shortened, and whole in the description', () => {
		const name = 'x'.repeat(300)
		const root = draw({ ...chart, series: [{ name, values: [1, 2] }] })
		expect(textsOf(root).some((text) => /^x+…$/.test(text))).toBe(true)
		expect(root.children[1]?.text).toContain(name)
	})

	it('of a reference line go to the legend where they are too long', () => {
		const label = 'the capacity of the service when it is well and warm'
		const root = draw({ ...chart, lines: [{ value: 3, label }], series: six })
		expect(placedTexts(root).find(({ text }) => text === label)?.y).toBeLessThan(plotTop(root))
	})

	it('of twenty series do not fit beside the plot and stand above it', () => {
		const series = Array.from({ length: 20 }, (_, index) => ({ name: `n${index}`, values: [index, index] }))
		const root = draw({ ...chart, series })
		for (const { text, y } of placedTexts(root)) if (/^n\d/.test(text)) expect(y).toBeLessThan(plotTop(root))
	})
})

describe('panels', () => {
	const panels = [{ series: [naive] }, { series: [jittered] }, { title: 'both', series: both }]

	it('share one x axis and, to be compared, one y axis', () => {
		const texts = textsOf(draw({ ...outage, panels }))
		expect(texts.filter((text) => text === 'seconds')).toHaveLength(1)
		expect(texts.filter((text) => text === '400')).toHaveLength(3)
	})

	it('have their own y axis on demand', () => {
		const texts = textsOf(draw({ ...outage, scale: 'own', panels }))
		expect(texts.filter((text) => text === '400')).toHaveLength(2)
	})

	it('that show one series are named by it, once', () => {
		const texts = textsOf(draw({ ...outage, panels: panels.slice(0, 2) }))
		expect(texts.filter((text) => text === 'naive')).toHaveLength(1)
	})

	it('keep the colour of a name', () => {
		const root = draw({ ...outage, panels })
		expect(ofClass(root, 'line').filter(({ attributes }) => attributes['class'] === 'line s1')).toHaveLength(
			3,
		)
	})

	it('name the line that they all have once, and their own beside them', () => {
		const own = [
			{ ...panels[0], series: [naive], lines: [{ value: 300, label: 'limit of this one' }] },
			panels[1],
		]
		const root = draw({ ...outage, panels: own.flatMap((panel) => panel ?? []) })
		expect(textsOf(root).filter((text) => text === 'capacity')).toHaveLength(1)
		expect(textsOf(root).filter((text) => text === 'limit of this one')).toHaveLength(1)
	})

	it('are shaded each, and the shade is named above the first', () => {
		const root = draw({ ...outage, panels })
		expect(ofClass(root, 'shade')).toHaveLength(3)
		expect(textsOf(root).filter((text) => text === 'outage')).toHaveLength(1)
	})

	it('say what their numbers are only where it changes', () => {
		const two = [panels[0], { series: [jittered], yLabel: 'waiting' }].flatMap((panel) => panel ?? [])
		const texts = textsOf(draw({ ...outage, panels: two }))
		expect(texts.filter((text) => text === 'calls/s')).toHaveLength(1)
		expect(texts).toContain('waiting')
	})
})

describe('nothing to draw', () => {
	it.each<[string, TimeChart]>([
		['no series', { title: 't', x: [0, 1], series: [] }],
		['no time', { title: 't', x: [], series: [{ name: 'a', values: [] }] }],
		['no panels', { title: 't', x: [0, 1], panels: [] }],
		['only gaps', { title: 't', x: [0, 1], series: [{ name: 'a', values: [Number.NaN, null] }] }],
	])('%s: a frame that says so', (_, chart) => {
		expect(textsOf(draw(chart))).toContain('no data')
	})

	it('one point is a dot in the middle', () => {
		const root = draw({ title: 't', x: [5], series: [{ name: 'a', values: [3] }] })
		expect(ofClass(root, 'dot')).toHaveLength(1)
		expect(textsOf(root)).not.toContain('no data')
	})

	it('all zeros lie on the axis', () => {
		const root = draw({ title: 't', x: [0, 1], series: [{ name: 'a', values: [0, 0] }] })
		expect(new Set(ys(ofClass(root, 'line')[0])).size).toBe(1)
		expect(textsOf(root)).toContain('1')
	})
})

describe('a chart that can not be drawn is refused by the path to the mistake', () => {
	const a = { name: 'a', values: [1, 2] }
	it.each<[string, TimeChart]>([
		[
			'series[1].values.length: got 1; takes 2, one for each x',
			{ title: 't', x: [0, 1], series: [a, { name: 'b', values: [1] }] },
		],
		[
			'panels[0].series[0].band.high.length: got 0; takes 2, one for each x',
			{ title: 't', x: [0, 1], panels: [{ series: [{ ...a, band: { low: [0, 0], high: [] } }] }] },
		],
		['x[1]: got 0; takes a number above the one before it, 0', { title: 't', x: [0, 0], series: [a] }],
		['x[0]: got NaN; takes a number from', { title: 't', x: [Number.NaN, 1], series: [a] }],
		[
			'shades[0].to: got 1; takes a number, 2 or more',
			{ title: 't', x: [0, 1], series: [a], shades: [{ from: 2, to: 1 }] },
		],
		[
			'shades[0].from: got NaN; takes a number',
			{ title: 't', x: [0, 1], series: [a], shades: [{ from: Number.NaN, to: 1 }] },
		],
		[
			'lines[0].value: got Infinity; takes a finite number',
			{ title: 't', x: [0, 1], series: [a], lines: [{ value: Infinity, label: 'l' }] },
		],
		[
			'panels[1].lines[0].value: got NaN; takes a finite number',
			{
				title: 't',
				x: [0, 1],
				panels: [{ series: [a] }, { series: [a], lines: [{ value: Number.NaN, label: 'l' }] }],
			},
		],
	])('%s', (message, chart) => expect(() => lineChart(chart)).toThrow(message))
})
