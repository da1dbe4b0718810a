import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lineChart } from '../../../src/sim/picture/line-chart.ts'
import { page } from '../../../src/sim/picture/page.ts'
import { anyName, inXml } from './any-chart.ts'
import { naive, outage } from './charts.ts'
import { allOf, readXml, type XmlElement } from './xml.ts'

/** The page as XML: it is that but for the doctype and for tags of its head that have no end. */
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

describe('a page', () => {
	const root = read(
		page({
			title: 'Herd & co',
			sections: [
				{
					content: [
						'First paragraph.',
						{ svg: lineChart({ ...outage, series: [naive] }), caption: 'Calls.' },
					],
				},
				{ title: 'In figures', content: [{ table, caption: 'Ten seeds.' }, { code: 'a < b' }] },
			],
		}),
	)

	it('has its title twice: for the window and for the reader', () => {
		expect(named(root, 'title')[0]?.text).toBe('Herd & co')
		expect(named(root, 'h1')[0]?.text).toBe('Herd & co')
	})

	it('holds paragraphs, pictures with captions, tables and code, in their order', () => {
		const [first, second] = named(root, 'section').map(({ children }) => children.map(({ name }) => name))
		expect(first).toEqual(['p', 'figure'])
		expect(second).toEqual(['h2', 'figure', 'pre'])
		expect(named(root, 'figcaption').map(({ text }) => text)).toEqual(['Calls.', 'Ten seeds.'])
		expect(named(root, 'svg')).toHaveLength(1)
		expect(named(root, 'code')[0]?.text).toBe('a < b')
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

	it('needs nothing from anywhere, and forbids itself to load or run anything', () => {
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

	it('follows the setting of the reader for light and dark', () => {
		const style = named(root, 'head')[0]?.children.find(({ name }) => name === 'style')
		expect(style?.text).toContain('@media (prefers-color-scheme:dark)')
	})

	it('says in which language it is', () => {
		expect(root.attributes['lang']).toBe('en')
		expect(read(page({ title: '八起き', language: 'ja', sections: [] })).attributes['lang']).toBe('ja')
	})

	it('takes every text as text, whatever is in it', () => {
		fc.assert(
			fc.property(anyName, (text) => {
				const content = [text, { code: text }, { table: { rows: [[text]] }, caption: text }]
				const made = read(page({ title: text, sections: [{ title: text, content }] }))
				for (const name of ['title', 'h1', 'h2', 'p', 'code', 'td', 'figcaption']) {
					expect(named(made, name).map((element) => element.text)).toEqual([inXml(text)])
				}
			}),
		)
	})

	it('refuses a picture that is none', () => {
		expect(() => page({ title: 't', sections: [{ content: ['x', { svg: '<script>' }] }] })).toThrow(
			"sections[0].content[1].svg: got '<script>'; takes a picture that begins with <svg",
		)
	})
})
