/**
 * Decides whether an output is colored. Standard output and standard error decide separately because often only one of them
 * is a terminal. `--no-color` and NO_COLOR win over FORCE_COLOR: escape codes in a file do more harm than plain text.
 */
import { styleText } from 'node:util'
import { PLAIN, type Style } from '../text/style.ts'

// The decision is made by isColored, so Node must not check process.stdout again (it does by default since 22.13).
const paint = (color: keyof Style) => (text: string) => styleText(color, text, { validateStream: false })

const COLORED: Style = {
	bold: paint('bold'),
	dim: paint('dim'),
	red: paint('red'),
	green: paint('green'),
	yellow: paint('yellow'),
	cyan: paint('cyan'),
}

export const createStyle = (isOn: boolean): Style => (isOn ? COLORED : PLAIN)

/** Returns whether an output is colored: `--no-color` and NO_COLOR turn colors off, FORCE_COLOR on; default is a terminal. */
export function isColored(
	isTTY: boolean,
	env: Readonly<Record<string, string | undefined>>,
	noColor: boolean,
): boolean {
	if (noColor || env['NO_COLOR']) return false
	const forced = env['FORCE_COLOR']
	if (forced) return forced !== '0' && forced !== 'false'
	return isTTY && env['TERM'] !== 'dumb'
}
