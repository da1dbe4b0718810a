import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lineChart } from '../../../src/sim/charts/time-chart.ts'
import { renderPage } from '../../../src/sim/report/page.ts'
import { anyName, inXml } from '../charts/any-chart.ts'
import { allOf, readXml, type XmlElement } from '../charts/xml.ts'

/** Parses the page as XML, which it is except for the doctype and the meta tags. */
const read = (html: string): XmlElement =>
	readXml(html.replace('<!doctype html>\n', '').replace(/<meta ([^>]*)>/g, '<meta $1/>'))

const named = (root: XmlElement, name: string): readonly XmlElement[] =>
	allOf(root).filter((element) => element.name === name)

const table = {
	head: ['strategy', 'calls', 'recovered'],
	rows: [
		['naive', 105_149, 'never'],
		['jitter', 11_371, 'in 16.7 s'],
	],
}
const panels = [{ title: 'naive', series: [{ name: 'requests', values: [1, 2] }] }]
const svg = lineChart({ title: 'Calls', subtitle: '', x: [0, 1], xLabel: 'seconds', panels })

describe('renderPage', () => {
	const root = read(renderPage('Herd & co', ['First paragraph.', { svg }, { table, caption: 'Ten seeds.' }]))

	it('has its title in the head and as a heading', () => {
		expect(named(root, 'title')[0]?.text).toBe('Herd & co')
		expect(named(root, 'h1')[0]?.text).toBe('Herd & co')
	})

	it('contains paragraphs, charts and tables in their order', () => {
		expect(named(root, 'main')[0]?.children.map(({ name }) => name)).toEqual(['h1', 'p', 'figure', 'figure'])
		expect(named(root, 'svg')).toHaveLength(1)
		expect(named(root, 'figcaption').map(({ text }) => text)).toEqual(['Ten seeds.'])
	})

	it('aligns names to the left and figures to the right', () => {
		const cells = named(root, 'td').map(({ text, attributes }) => `${text} ${attributes['class']}`)
		expect(cells).toEqual([
			'naive left',
			'105,149 right',
			'never right',
			'jitter left',
			'11,371 right',
			'in 16.7 s right',
		])
		expect(named(root, 'th').map(({ text }) => text)).toEqual(table.head)
	})

	it('loads nothing, and forbids itself to load or run anything', () => {
		const policy = named(root, 'meta').find(
			(meta) => meta.attributes['http-equiv'] === 'Content-Security-Policy',
		)
		expect(policy?.attributes['content']).toBe("default-src 'none'; style-src 'unsafe-inline'")
		expect(named(root, 'script')).toEqual([])
		for (const { attributes } of allOf(root)) {
			expect(Object.keys(attributes)).not.toEqual(
				expect.arrayContaining([expect.stringMatching(/^(src|href|on.*)$/)]),
			)
		}
	})

	it('has styles for light and dark mode', () => {
		const style = named(root, 'head')[0]?.children.find(({ name }) => name === 'style')
		expect(style?.text).toContain('@media (prefers-color-scheme:dark)')
	})

	it('escapes every text', () => {
		fc.assert(
			fc.property(anyName, (text) => {
				const page = read(renderPage(text, [text, { table: { rows: [[text]] }, caption: text }]))
				for (const name of ['title', 'h1', 'p', 'td', 'figcaption']) {
					expect(named(page, name).map((element) => element.text)).toEqual([inXml(text)])
				}
			}),
		)
	})
})
