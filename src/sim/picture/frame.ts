/**
 * What every picture has around it: the document, its title and subtitle, the legend. Readers of screens get the title and
 * a description in words; the background is painted, because a picture can not know what it will be shown on.
 */
import { element, textAt } from './element.ts'
import { escapeXml } from './escape.ts'
import { type LegendEntry, legendRows } from './legend.ts'
import { FONT, ROOT_CLASS, STYLESHEET } from './stylesheet.ts'
import { inPixels, wrapped } from './text-width.ts'

/** Of every picture, in pixels: it fits a README. */
export const WIDTH = 780
export const PADDING = 16

/** Marks and where they end. */
export interface Placed {
	readonly marks: readonly string[]
	readonly bottom: number
}

/** The title, the subtitle and the legend, one below the other. */
export function heading(title: string, subtitle: string | undefined, legend: readonly LegendEntry[]): Placed {
	const room = WIDTH - 2 * PADDING
	const marks: string[] = []
	let y = PADDING
	const write = (text: string, kind: string, fontSize: number): void => {
		for (const line of wrapped(text, room, inPixels(fontSize))) {
			marks.push(textAt(PADDING, y + fontSize, kind, line))
			y += Math.round(fontSize * 1.4)
		}
	}
	write(title, 'title', FONT.title)
	write(subtitle ?? '', 'subtitle muted', FONT.subtitle)
	const rows = legendRows(legend, { left: PADDING, top: y + 6, room })
	return { marks: [...marks, ...rows.marks], bottom: y + 6 + rows.height + 4 }
}

export interface PictureText {
	readonly title: string
	/** What one would say about it to somebody who can not see it. */
	readonly description: string
}

/** The whole file. */
export function picture(
	{ title, description }: PictureText,
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
