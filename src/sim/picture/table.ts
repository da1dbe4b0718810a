/** What a table is told, for pages and terminals alike. */
import { roughly } from './figure.ts'

/** Rows of cells, with a head above them if there is one. */
export interface Table {
	readonly head?: readonly string[] | undefined
	/** A number is written with about three digits; for more or fewer, give a text. A row may be shorter than others. */
	readonly rows: readonly (readonly (string | number)[])[]
	/** By column. Default: the first to the left, as it holds names, and all others to the right, as they hold figures. */
	readonly align?: readonly Align[] | undefined
}

export type Align = 'left' | 'right'

export const cellText = (cell: string | number): string => (typeof cell === 'string' ? cell : roughly(cell))

export const alignOf = ({ align }: Table, column: number): Align =>
	align?.[column] ?? (column === 0 ? 'left' : 'right')
