/**
 * The one place where markup is put together: every attribute is escaped and every number rounded here, so that no chart
 * can forget it. Rounding also makes the bytes the same where two engines differ in the last digit of a logarithm.
 */
import { escapeXml } from './escape.ts'

type Attributes = Readonly<Record<string, string | number | undefined>>

/** A tenth of a pixel is finer than anybody sees. Adding 0 turns -0 into 0. */
export const coordinate = (value: number): string => String(Math.round(value * 10) / 10 + 0)

/** An element whose children are markup already. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
	const written = Object.entries(attributes)
		.filter(([, value]) => value !== undefined)
		.map(
			([key, value]) => ` ${key}="${typeof value === 'number' ? coordinate(value) : escapeXml(`${value}`)}"`,
		)
	const start = `<${name}${written.join('')}`
	return children.length === 0 ? `${start}/>` : `${start}>${children.join('')}</${name}>`
}

/** Where text begins, is centred or ends. */
export type Anchor = 'start' | 'middle' | 'end'

/** A line of text in a picture; `kind` is its class in the stylesheet. */
export function textAt(x: number, y: number, kind: string, text: string, anchor: Anchor = 'start'): string {
	const where = anchor === 'start' ? undefined : anchor
	return element('text', { x, y, class: kind, 'text-anchor': where }, escapeXml(text))
}
