/**
 * What surrounds every chart: the SVG document, title, subtitle and legend. Screen readers get the title and
 * a description. The background is painted, because an SVG file does not know what it is shown on. The legend
 * is above the plot, so that it never covers a line.
 */
import { FONT, ROOT_CLASS, STYLESHEET } from './stylesheet.ts'
import { coordinate, type Drawing, element, escapeXml, fitText, textAt, textWidth, wrapText } from './svg.ts'

/** The width of every chart in pixels. It fits a README. */
export const WIDTH = 780
export const PADDING = 16

export interface LegendEntry {
	readonly name: string
	readonly kind: 'line' | 'layer' | 'band' | 'reference'
	/** Classes of its color. */
	readonly color: string
}

export function drawHeading(
	title: string,
	subtitle: string,
	legend: readonly LegendEntry[],
	notes: readonly string[] = [],
): Drawing {
	const width = WIDTH - 2 * PADDING
	const marks: string[] = []
	let y = PADDING
	const write = (text: string, kind: string, fontSize: number): void => {
		for (const line of wrapText(text, width, fontSize)) {
			marks.push(textAt(PADDING, y + fontSize, kind, line))
			y += Math.round(fontSize * 1.4)
		}
	}
	write(title, 'title', FONT.title)
	write(subtitle, 'subtitle muted', FONT.subtitle)
	for (const note of notes) write(note, 'label', FONT.label)
	const entries = drawLegend(legend, y + 6, width)
	return { marks: [...marks, ...entries.marks], bottom: entries.bottom + 4 }
}

const SAMPLE = 20
const GAP = 6
const BETWEEN = 18
const ROW = 18

function drawLegend(entries: readonly LegendEntry[], top: number, width: number): Drawing {
	let x = PADDING
	let row = 0
	const marks = entries.map(({ name, kind, color }) => {
		const text = fitText(name, width - SAMPLE - GAP, FONT.label)
		const size = SAMPLE + GAP + textWidth(text, FONT.label)
		if (x > PADDING && x + size > PADDING + width) {
			x = PADDING
			row++
		}
		const y = top + row * ROW + ROW / 2
		const mark = drawSample(kind, color, x, y) + textAt(x + SAMPLE + GAP, y + 4, 'label', text)
		x += size + BETWEEN
		return mark
	})
	return { marks, bottom: entries.length === 0 ? top : top + (row + 1) * ROW }
}

function drawSample(kind: LegendEntry['kind'], color: string, x: number, y: number): string {
	const name = `${kind} ${color}`.trim()
	if (kind === 'line' || kind === 'reference')
		return element('path', { class: name, d: `M${coordinate(x)} ${coordinate(y)}h${SAMPLE}` })
	return element('rect', { class: name, x, y: y - 5, width: SAMPLE, height: 10 })
}

export function svgDocument(
	{ title, description }: { readonly title: string; readonly description: string },
	height: number,
	marks: readonly string[],
): string {
	const size = { width: WIDTH, height: Math.ceil(height) }
	const body = [
		element('title', {}, escapeXml(title)),
		element('desc', {}, escapeXml(description)),
		element('style', {}, STYLESHEET),
		element('rect', { class: 'paper', ...size, rx: 6 }),
		...marks,
	]
	const attributes = {
		xmlns: 'http://www.w3.org/2000/svg',
		role: 'img',
		class: ROOT_CLASS,
		...size,
		viewBox: `0 0 ${size.width} ${size.height}`,
	}
	return `${element('svg', attributes, `\n${body.join('\n')}\n`)}\n`
}
