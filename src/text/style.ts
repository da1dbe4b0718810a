/**
 * Colors as an object that is passed in. Whether an output shows colors is known to the caller only, and
 * `styleText` of node:util does not exist everywhere. A color never carries information that the text does
 * not.
 */

/** Functions that emphasize a text, or return it unchanged. Tables and reports need no more. */
export interface TextStyle {
	bold(text: string): string
	dim(text: string): string
}

export interface Style extends TextStyle {
	red(text: string): string
	green(text: string): string
	yellow(text: string): string
	cyan(text: string): string
}

const unchanged = (text: string): string => text

/** No colors: for pipes, files and tests. */
export const PLAIN: Style = {
	bold: unchanged,
	dim: unchanged,
	red: unchanged,
	green: unchanged,
	yellow: unchanged,
	cyan: unchanged,
}
