/** An outcome in the forms that people and programs want. */
import type { Outcome } from './outcome.ts'

export interface TextOptions {
	/** Columns of the terminal. */
	readonly columns: number
	readonly colour: boolean
}

/** A picture. */
export function svgOf(outcome: Outcome): string {
	return `<svg xmlns="http://www.w3.org/2000/svg"><title>${outcome.study.title}</title></svg>`
}

/** A page that needs nothing else: pictures, tables and what they mean. */
export function htmlOf(outcome: Outcome): string {
	return `<!doctype html>${svgOf(outcome)}`
}

/** For a terminal: tables and charts of characters. */
export function textOf(outcome: Outcome, options: TextOptions): string {
	return `${outcome.study.title}\n${options.columns}`
}

/** Plain data, for `--json` and files that end in .json. */
export function dataOf(outcome: Outcome): object {
	return { title: outcome.study.title }
}
