/**
 * Colour, where somebody sees it. Each of the two outputs is asked for itself, since often only one of them is a terminal.
 * The wish for none is stronger than the wish for some: escape codes that nobody can read do more harm than grey text.
 */

/** Functions that dress a text, or leave it as it is. */
export interface Palette {
	bold(text: string): string
	dim(text: string): string
	red(text: string): string
	green(text: string): string
	yellow(text: string): string
	cyan(text: string): string
}

export function palette(isOn: boolean): Palette {
	const style = (on: number, off: number) => (text: string) =>
		isOn ? `\x1b[${on}m${text}\x1b[${off}m` : text
	return {
		bold: style(1, 22),
		dim: style(2, 22),
		red: style(31, 39),
		green: style(32, 39),
		yellow: style(33, 39),
		cyan: style(36, 39),
	}
}

/** Is an output coloured? `--no-color` and NO_COLOR switch it off, FORCE_COLOR on, and otherwise it takes a terminal. */
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
