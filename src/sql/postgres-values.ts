/** Conversions between JavaScript and PostgreSQL values. `pg` returns a bigint as text, PGlite as a number. */

/** A parameter of a statement. */
export type Value = string | number | boolean | null

/** A parameter that the driver sends, bytes included. */
export type SentValue = Value | Uint8Array

/** An eight-byte number as drivers return it. */
export type Big = string | number | bigint

/** The greatest int of the server. It stands for Infinity where a limit is an int. */
export const MAX_INT = 2_147_483_647

export const toNumberOrNull = (value: Big | null): number | null => (value === null ? null : Number(value))

/** Returns the row with the named columns as numbers. Null stays null. */
export function withNumbers<Row extends object>(row: Row, columns: readonly (keyof Row)[]): Row {
	const numbers = columns.map((column) => [column, toNumberOrNull(row[column] as Big | null)])
	return { ...row, ...Object.fromEntries(numbers) }
}

/** Returns a uuid[] literal. The ids must be valid UUIDs. */
export const uuidList = (ids: readonly string[]): string => `{${ids.join(',')}}`

/** Returns a text[] literal; null if all values are null, which `unnest` fills up with nulls. */
export const textList = (values: readonly (string | null)[]): string | null =>
	values.every((value) => value === null) ? null : `{${values.map(quoteItem).join(',')}}`

const quoteItem = (value: string | null): string =>
	value === null ? 'NULL' : `"${NEEDS_ESCAPE.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`

const NEEDS_ESCAPE = /["\\]/

/** Returns a literal of an array of numbers; null if all values are null. */
export const numberList = (values: readonly (number | null)[]): string | null =>
	values.every((value) => value === null) ? null : `{${values.map((value) => value ?? 'NULL').join(',')}}`

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Checks an id before it is sent: PostgreSQL fails on a text that is not a UUID instead of finding nothing. */
export const isUuid = (id: string): boolean => UUID.test(id)

/** Returns a function that writes the text of a shape once, so that it is prepared once. */
export function oneTextPerShape<Shape extends object>(
	write: (shape: Shape) => string,
): (shape: Shape) => string {
	const texts = new Map<string, string>()
	return (shape) => {
		const name = Object.values(shape).join()
		const text = texts.get(name) ?? write(shape)
		texts.set(name, text)
		return text
	}
}
