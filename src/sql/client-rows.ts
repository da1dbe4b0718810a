/**
 * Reads the rows that a client of the user returned. `pg` and most others return `{ rows }`, TypeORM's
 * manager an array of rows. Anything else is an error immediately: it would be mistaken for an empty result.
 */

const MAX_LISTED_KEYS = 5

/** `fail` creates the error of the caller from the problem and what to do. */
export function rowsOfClient<Row>(
	result: unknown,
	fail: (problem: string, advice: string) => Error,
): readonly Row[] {
	const { rows } = Object(result) as { readonly rows?: unknown }
	if (Array.isArray(rows)) return rows
	if (Array.isArray(result) && result.every(isRow)) return result
	throw fail(
		`query(text, values) of tx returned ${describe(result)}, expected { rows } or an array of rows`,
		'Pass a client of pg, or wrap yours: { query: async (text, values) => ({ rows: await ... }) }.',
	)
}

/** Returns how many rows a statement of a `pg` client has written. */
export function countOfClient(result: unknown, fail: (problem: string, advice: string) => Error): number {
	const { rowCount } = Object(result) as { readonly rowCount?: unknown }
	if (typeof rowCount === 'number') return rowCount
	throw fail(
		`query(...) of tx returned ${describe(result)}, expected { rows, rowCount }`,
		'Pass the client of pg itself, or return what it returns.',
	)
}

const isRow = (value: unknown): boolean =>
	typeof value === 'object' && value !== null && !Array.isArray(value)

function describe(result: unknown): string {
	if (Array.isArray(result)) {
		const odd = result.find((element) => !isRow(element))
		return `an array that contains ${Array.isArray(odd) ? 'an array' : `the value ${String(odd)}`}`
	}
	if (typeof result === 'function') return 'a function'
	if (!isRow(result)) return String(result)
	const keys = Object.keys(Object(result))
	const more = keys.length > MAX_LISTED_KEYS ? ', ...' : ''
	return keys.length === 0
		? 'an object without properties'
		: `an object with ${keys.slice(0, MAX_LISTED_KEYS).join(', ')}${more}`
}
