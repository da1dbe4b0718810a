import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Panel, Series, TimeChart } from '../../../src/sim/charts/chart-data.ts'
import { lineChart, stackedChart } from '../../../src/sim/charts/time-chart.ts'
import { anyChart, anyName, inXml } from './any-chart.ts'
import { checkStructure, checkSvg, placedTexts, readableName } from './check-svg.ts'
import { allOf, ofClass, textsOf, type XmlElement } from './xml.ts'

const outage = {
	title: 'Requests to the service',
	subtitle: 'down for two seconds',
	yLabel: 'calls/s',
	xLabel: 'seconds',
	x: [0, 1, 2, 3, 4, 5],
	faults: [{ from: 1, to: 3, label: 'outage' }],
}
const capacity = [{ value: 100, label: 'capacity' }]
const naive: Series = { name: 'naive', values: [50, 120, 260, 390, 380, 370] }
const jittered: Series = { name: 'full jitter', values: [50, 80, 110, 130, 90, 50] }
const both = [naive, jittered]

const plot = (series: readonly Series[], references: Panel['references'] = capacity): Panel => {
	return { title: '', series, references }
}
/** A chart with one panel, over x = 0, 1, 2, ... */
const simple = (...series: readonly Series[]): TimeChart => ({
	title: 't',
	subtitle: '',
	xLabel: 'seconds',
	x: series[0]?.values.map((_, index) => index) ?? [],
	panels: [plot(series, [])],
})
const draw = (chart: TimeChart): XmlElement => checkSvg(lineChart(chart))
const drawBoth = (): XmlElement => draw({ ...outage, panels: [plot(both)] })
const ys = (path: XmlElement | undefined): readonly number[] =>
	[...(path?.attributes['d'] ?? '').matchAll(/[ML]\S+ ([\d.-]+)/g)].map(([, y]) => Number(y))

describe('lineChart', () => {
	it('shows title, subtitle, axes, faults and every name', () => {
		const texts = textsOf(drawBoth())
		for (const text of [outage.title, outage.subtitle, 'calls/s', 'seconds', 'outage', 'capacity']) {
			expect(texts).toContain(text)
		}
		expect(texts).toEqual(expect.arrayContaining(['naive', 'full jitter', '0', '100', '400']))
	})

	it('keeps texts apart and within the chart, whatever the names and values', () => {
		fc.assert(
			fc.property(anyChart({ name: readableName, isStack: false }), (chart) => {
				draw(chart)
			}),
			{ numRuns: 200 },
		)
	})

	it('is well-formed and describes every series, whatever the names', () => {
		fc.assert(
			fc.property(anyChart({ name: anyName, isStack: false }), (chart) => {
				const description = checkStructure(lineChart(chart)).children[1]?.text ?? ''
				for (const { name } of chart.panels.flatMap(({ series }) => series))
					expect(description).toContain(inXml(name))
			}),
		)
	})

	it('returns the same bytes for the same data', () => {
		const chart = { ...outage, panels: [plot(both)] }
		expect(lineChart(chart)).toBe(lineChart(structuredClone(chart)))
	})

	it('describes the chart for screen readers', () => {
		const [title, description] = drawBoth().children
		expect(title?.text).toBe(outage.title)
		expect(description?.text).toBe(
			'down for two seconds. calls/s, 0 to 5 seconds. outage from 1 to 3. capacity at 100. ' +
				'naive: at most 390, 370 at the end. full jitter: at most 130, 50 at the end.',
		)
	})

	it('has styles for light and dark mode that need no escaping', () => {
		const style = allOf(drawBoth()).find(({ name }) => name === 'style')
		expect(style?.text).toContain('@media (prefers-color-scheme:dark)')
		expect(style?.text).not.toMatch(/[<&]/)
	})

	it('scopes its styles to the chart', () => {
		const style = allOf(drawBoth()).find(({ name }) => name === 'style')
		const rules = (style?.text ?? '')
			.split('\n')
			.filter((line) => line.includes('{') && !line.startsWith('@'))
		expect(rules.length).toBeGreaterThan(20)
		for (const rule of rules) {
			for (const selector of (rule.split('{')[0] ?? '').split(','))
				expect(selector).toMatch(/^\.yaoki-chart /)
		}
	})
})

describe('lines', () => {
	it('draws higher values higher, and zero on the axis', () => {
		const root = draw(simple({ name: 'a', values: [0, 10, 5] }))
		const [zero = 0, ten = 0, five = 0] = ys(ofClass(root, 'line')[0])
		expect(ten).toBeLessThan(five)
		expect(five).toBeLessThan(zero)
		expect(ofClass(root, 'axis')[0]?.attributes['d']).toContain(` ${zero}H`)
	})

	it('interrupts a line at gaps, and draws a value between two gaps as a dot', () => {
		const root = draw(simple({ name: 'a', values: [1, 2, Number.NaN, 3, null, 4, 5] }))
		expect(ofClass(root, 'line')[0]?.attributes['d']?.match(/M/g)).toHaveLength(2)
		expect(ofClass(root, 'dot')[0]?.attributes['d']?.match(/M/g)).toHaveLength(1)
	})

	it('draws ranges behind all lines, and explains them in the legend', () => {
		const range = { low: [40, 100, 200, 300, 300, 300], high: [60, 140, 300, 450, 440, 430] }
		const panels = [plot([{ ...naive, range }, jittered])]
		const root = draw({ ...outage, rangeLabel: 'range of 20 seeds', panels })
		const classes = root.children.map(({ attributes }) => attributes['class'] ?? '')
		expect(classes.indexOf('band s0')).toBeLessThan(classes.indexOf('line s0'))
		expect(classes.indexOf('band s0')).toBeGreaterThan(-1)
		expect(textsOf(root)).toContain('range of 20 seeds')
	})

	it('extends the y axis to ranges and reference lines', () => {
		const series = [{ name: 'a', values: [5, 5], range: { low: [0, 0], high: [10, 900] } }]
		expect(textsOf(draw(simple(...series)))).toContain('1,000')
		const references = [{ value: 4_000, label: 'capacity' }]
		expect(textsOf(draw({ ...simple(...series), panels: [plot(series, references)] }))).toContain('4,000')
	})

	it('draws negative values below the axis', () => {
		const root = draw(simple({ name: 'a', values: [-5, 5] }))
		const axis = Number(/ ([\d.]+)H/.exec(ofClass(root, 'axis')[0]?.attributes['d'] ?? '')?.[1])
		const [below = 0, above = 0] = ys(ofClass(root, 'line')[0])
		expect(below).toBeGreaterThan(axis)
		expect(above).toBeLessThan(axis)
	})

	it('dashes the seventh series, which has the first color again', () => {
		const series = Array.from({ length: 7 }, (_, index) => ({ name: `n${index}`, values: [index, index] }))
		const root = draw(simple(...series))
		expect(ofClass(root, 'line').map(({ attributes }) => attributes['class'])).toContain('line s0 dashed')
	})
})

describe('fault bands', () => {
	const bandsOf = (...times: readonly (readonly [number, number])[]) => {
		const faults = times.map(([from, to]) => ({ from, to, label: 'outage' }))
		return ofClass(draw({ ...outage, faults, panels: [plot(both)] }), 'shade').map(
			({ attributes }) => attributes,
		)
	}

	it('are as wide as the fault is long', () => {
		const [short, long] = bandsOf([0, 1], [1, 3])
		expect(Number(long?.['width']) / Number(short?.['width'])).toBeCloseTo(2, 1)
	})

	it('end with the chart, and are left out beyond it', () => {
		expect(bandsOf([4, Infinity])).toHaveLength(1)
		expect(bandsOf([10, 20])).toHaveLength(0)
		expect(bandsOf([-20, -1])).toHaveLength(0)
	})

	it('are one pixel wide for a fault without duration', () => {
		expect(bandsOf([2, 2])[0]?.['width']).toBe('1')
	})

	it('have labels that do not overlap, however close the faults are', () => {
		const faults = ['slow start', 'outage of the database', 'deploy', 'rollback'].map((label, index) => ({
			from: index / 4,
			to: (index + 1) / 4,
			label,
		}))
		const root = draw({ ...outage, faults, panels: [plot(both)] })
		expect(textsOf(root)).toEqual(expect.arrayContaining(faults.map(({ label }) => label)))
	})
})

describe('labels', () => {
	const six = Array.from({ length: 6 }, (_, index) => ({
		name: `strategy ${index}`,
		values: [5, 5 + index / 10],
	}))
	const drawSix = (series: readonly Series[], references = capacity): XmlElement =>
		draw({ ...outage, x: [0, 1], panels: [plot(series, references)] })
	const plotTop = (root: XmlElement): number =>
		Math.min(...ofClass(root, 'shade').map(({ attributes }) => Number(attributes['y'])))

	it('stand at the ends of their lines', () => {
		const root = drawSix(six)
		const labels = placedTexts(root).filter(({ text }) => text.startsWith('strategy'))
		expect(labels).toHaveLength(6)
		const right = Math.max(
			...ofClass(root, 'shade').map(({ attributes: a }) => Number(a['x']) + Number(a['width'])),
		)
		for (const { left } of labels) expect(left).toBeGreaterThan(right)
	})

	it('go to the legend if they are too long', () => {
		const root = drawSix(six.map((one) => ({ ...one, name: `${one.name}, with all settings in its name` })))
		const labels = placedTexts(root).filter(({ text }) => text.startsWith('strategy'))
		expect(labels).toHaveLength(6)
		for (const { y } of labels) expect(y).toBeLessThan(plotTop(root))
	})

	it('go to the legend if they are too many', () => {
		const root = drawSix(
			Array.from({ length: 20 }, (_, index) => ({ name: `n${index}`, values: [index, index] })),
		)
		const labels = placedTexts(root).filter(({ text }) => /^n\d/.test(text))
		expect(labels).toHaveLength(20)
		for (const { y } of labels) expect(y).toBeLessThan(plotTop(root))
	})

	it('go to the legend if that of a reference line is too long', () => {
		const label = 'the capacity of the service when it is healthy and warm'
		const root = drawSix(six, [{ value: 3, label }])
		expect(placedTexts(root).find(({ text }) => text === label)?.y).toBeLessThan(plotTop(root))
	})

	it('are truncated if they fit nowhere, but whole in the description', () => {
		const name = 'x'.repeat(300)
		const root = drawSix([{ name, values: [1, 2] }])
		expect(textsOf(root).some((text) => /^x+…$/.test(text))).toBe(true)
		expect(root.children[1]?.text).toContain(name)
	})
})

describe('panels', () => {
	const panels = [
		{ title: 'first', series: [naive], references: capacity },
		{ title: 'second', series: [jittered] },
		{ title: 'third', series: both },
	]
	const count = (root: XmlElement, text: string): number => textsOf(root).filter((one) => one === text).length

	it('share the x axis and, for comparison, the y axis', () => {
		const root = draw({ ...outage, panels })
		expect(count(root, 'seconds')).toBe(1)
		expect(count(root, '400')).toBe(3)
	})

	it('have y axes of their own with scale "own"', () => {
		expect(count(draw({ ...outage, scale: 'own', panels }), '400')).toBe(2)
	})

	it('have their title above them', () => {
		const root = draw({ ...outage, panels })
		for (const { title } of panels) expect(count(root, title)).toBe(1)
	})

	it('share one legend, and a name has the same color in all of them', () => {
		const root = draw({ ...outage, panels })
		expect(count(root, 'full jitter')).toBe(1)
		const colors = ofClass(root, 'line').map(({ attributes }) => attributes['class'])
		expect(colors.filter((color) => color === 'line s1')).toHaveLength(3)
	})

	it('label their own reference lines', () => {
		const references = [{ value: 300, label: 'limit of this one' }]
		const root = draw({ ...outage, panels: [{ title: 'a', series: [naive], references }, ...panels] })
		expect(count(root, 'capacity')).toBe(1)
		expect(count(root, 'limit of this one')).toBe(1)
	})

	it('all show the fault bands; the first has their labels and the label of the y axis', () => {
		const root = draw({ ...outage, panels })
		expect(ofClass(root, 'shade')).toHaveLength(3)
		expect(count(root, 'outage')).toBe(1)
		expect(count(root, 'calls/s')).toBe(1)
	})
})

describe('little or no data', () => {
	it.each<[string, TimeChart]>([
		['no series', { ...outage, panels: [plot([])] }],
		['no time', simple({ name: 'a', values: [] })],
		['only gaps', simple({ name: 'a', values: [Number.NaN, null] })],
	])('%s: shows "no data"', (_, chart) => {
		expect(textsOf(draw(chart))).toContain('no data')
	})

	it('draws a single point as a dot', () => {
		const root = draw(simple({ name: 'a', values: [3] }))
		expect(ofClass(root, 'dot')).toHaveLength(1)
		expect(textsOf(root)).not.toContain('no data')
	})

	it('draws zeros on the axis', () => {
		const root = draw(simple({ name: 'a', values: [0, 0] }))
		expect(new Set(ys(ofClass(root, 'line')[0])).size).toBe(1)
		expect(textsOf(root)).toContain('1')
	})
})

describe('stackedChart', () => {
	const work = [
		{ name: 'goodput', values: [80, 20, 0, 0, 75, 80] },
		{ name: 'wasted', values: [0, 60, 0, 0, 5, 0] },
	]
	const stack = (panels: readonly Panel[]): XmlElement => checkSvg(stackedChart({ ...outage, panels }))
	const points = (path: XmlElement): readonly (readonly number[])[] =>
		[...(path.attributes['d'] ?? '').matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [
			Number(x),
			Number(y),
		])

	it('keeps texts apart and within the chart, whatever the names and values', () => {
		fc.assert(
			fc.property(anyChart({ name: readableName, isStack: true }), (chart) => {
				checkSvg(stackedChart(chart))
			}),
			{ numRuns: 200 },
		)
	})

	it('draws each layer on top of the one before', () => {
		const [goodput = [], wasted = []] = ofClass(stack([plot(work)]), 'layer').map(points)
		expect(goodput).toHaveLength(12)
		// The upper edge from left to right, then the lower edge back.
		expect(wasted.slice(6).toReversed()).toEqual(goodput.slice(0, 6))
		expect(wasted[1]?.[1]).toBe(wasted[0]?.[1])
	})

	it('has a y axis for the sum', () => {
		const values = Array(6).fill(300)
		const series = [
			{ name: 'a', values },
			{ name: 'b', values },
		]
		expect(textsOf(stack([plot(series)]))).toContain('600')
	})

	it('labels the layers at their ends, the topmost first', () => {
		const series = [
			{ name: 'below', values: [1, 1, 1, 1, 1, 1] },
			{ name: 'above', values: [0, 0, 0, 0, 0, 0] },
		]
		const root = stack([plot(series, [])])
		const yOf = (name: string): number => placedTexts(root).find(({ text }) => text === name)?.y ?? 0
		expect(yOf('above')).toBeLessThan(yOf('below'))
	})

	it('has one legend for several panels', () => {
		const root = stack(['naive', 'budget'].map((title) => ({ title, series: work })))
		expect(textsOf(root).filter((text) => text === 'goodput')).toHaveLength(1)
		expect(ofClass(root, 'layer').filter(({ name }) => name === 'path')).toHaveLength(4)
	})

	it('leaves out a layer at its gaps, and stacks the others without it', () => {
		const series = [
			{ name: 'a', values: [1, null, 1] },
			{ name: 'b', values: [1, 1, 1] },
		]
		const [a, b] = ofClass(checkSvg(stackedChart(simple(...series))), 'layer')
		expect(a?.attributes['d']?.match(/M/g)).toHaveLength(2)
		expect(b?.attributes['d']?.match(/M/g)).toHaveLength(1)
	})
})
