/**
 * Checks what a request asks for. Unknown names are rejected: a condition that is lost by a typing error would show,
 * or discard, more than was meant.
 */
import { nearestName } from '../../core/options/nearest-name.ts'
import { invalidArgument, isObject } from '../../core/options/schema.ts'
import { isUuid } from '../../sql/postgres-values.ts'
import type { Query } from '../parts.ts'

/** The latest time that a JavaScript date can represent. */
const MAX_TIME = 8_640_000_000_000_000

const MAX_TEXT = 1_000

/** Throws for names that are not among `valid`, and for fields without a value. `path` is the name of the object. */
export function checkFields(given: unknown, valid: readonly string[], path = ''): void {
	if (!isObject(given)) invalidArgument(path || 'body', given, 'an object')
	const prefix = path === '' ? '' : `${path}.`
	for (const [name, value] of Object.entries(given)) {
		if (!valid.includes(name)) {
			const nearest = nearestName(name, valid)
			const names = nearest === undefined ? `valid names: ${valid.join(', ')}` : `did you mean "${nearest}"?`
			invalidArgument(prefix + name, value, `no such name (${names})`)
		}
		if (value === undefined && path !== '')
			invalidArgument(prefix + name, value, 'a value, or no field of this name')
	}
}

export function checkText(name: string, value: unknown): string {
	if (
		typeof value !== 'string' ||
		value === '' ||
		value.length > MAX_TEXT ||
		/[\0\p{Surrogate}]/u.test(value)
	)
		invalidArgument(name, value, `a text of 1 to ${MAX_TEXT} characters, without NUL and lone surrogates`)
	return value
}

export function checkId(name: string, value: unknown, what = 'a message id'): string {
	if (typeof value !== 'string' || !isUuid(value)) invalidArgument(name, value, `${what}, which is a UUID`)
	return value.toLowerCase()
}

export function checkTime(name: string, value: unknown): number {
	if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_TIME)
		invalidArgument(name, value, 'a time in whole milliseconds since 1970')
	return value
}

export function checkNumber(name: string, value: unknown, min: number, max: number): number {
	if (typeof value !== 'number' || !(value >= min && value <= max))
		invalidArgument(name, value, `a number from ${min} to ${max}`)
	return value
}

export function checkOneOf<Name extends string>(name: string, value: unknown, names: readonly Name[]): Name {
	if (!names.includes(value as Name)) invalidArgument(name, value, `one of ${names.join(', ')}`)
	return value as Name
}

export function checkBoolean(name: string, value: unknown): boolean {
	if (typeof value !== 'boolean') invalidArgument(name, value, 'true or false')
	return value
}

/** Applies a check to a value that may be left out. */
export const optional = <Given, Value>(
	value: Given | undefined,
	check: (value: Given) => Value,
): Value | undefined => (value === undefined ? undefined : check(value))

const DIGITS = /^\d{1,16}$/

const toNumber = (value: string): unknown => (DIGITS.test(value) ? Number(value) : value)

/** Reads the parameters of a query, whose values are texts. */
export class QueryReader {
	readonly #query: Query

	constructor(query: Query, valid: readonly string[]) {
		checkFields(query, valid)
		this.#query = query
	}

	get(name: string): string | undefined {
		return this.#query[name]
	}

	text(name: string): string | undefined {
		return optional(this.get(name), (value) => checkText(name, value))
	}

	id(name: string): string | undefined {
		return optional(this.get(name), (value) => checkId(name, value))
	}

	time(name: string): number | undefined {
		return optional(this.get(name), (value) => checkTime(name, toNumber(value)))
	}

	oneOf<Name extends string>(name: string, names: readonly Name[]): Name | undefined {
		return optional(this.get(name), (value) => checkOneOf(name, value, names))
	}

	/** The number of rows of a page. */
	limit(): number {
		const value = this.get('limit')
		if (value === undefined) return 50
		const limit = toNumber(value)
		if (typeof limit !== 'number' || limit < 1 || limit > 200)
			invalidArgument('limit', value, 'an integer from 1 to 200')
		return limit
	}
}
