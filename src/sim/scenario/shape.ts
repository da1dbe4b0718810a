/**
 * Combinators that describe valid values and report invalid ones with their path: `services.api.workers`. A
 * schema library was rejected: it would be a dependency, and its messages would not read like those of the
 * other options.
 */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { nearestName } from '../../core/options/nearest-name.ts'
import { checkRange, invalidOption, isObject, MAX_NUMBER } from '../../core/options/schema.ts'

/** Throws InvalidOptionError if the value is invalid. */
export type Shape = (value: unknown, path: string) => void

export const amount =
	(min = 0, max: number = MAX_NUMBER): Shape =>
	(value, path) =>
		checkRange(path, value, min, max)

/** An integer in a range; Infinity too, if the range has no maximum. */
export const count =
	(min: number, max: number = Infinity): Shape =>
	(value, path) => {
		if (value === Infinity && max === Infinity) return
		if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
			invalidOption(
				path,
				value,
				max < Infinity ? `an integer from ${min} to ${max}` : `an integer of ${min} or more`,
			)
	}

/** A value of this type. `expected` describes it. */
export const ofType =
	(type: 'boolean' | 'string' | 'function' | 'object', expected: string): Shape =>
	(value, path) => {
		if (typeof value !== type || value === null) invalidOption(path, value, expected)
	}

export const flag: Shape = ofType('boolean', 'true or false')
export const callback: Shape = ofType('function', 'a function')

export const text: Shape = (value, path) => {
	if (typeof value !== 'string' || value === '') invalidOption(path, value, 'a non-empty string')
}

export const oneOf =
	(...values: readonly string[]): Shape =>
	(value, path) => {
		if (!values.some((known) => known === value)) invalidOption(path, value, listed(values))
	}

/** Formats alternatives: `'a' or 'b'`. */
export const listed = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(' or ')

export const list =
	(shape: Shape, min = 0): Shape =>
	(value, path) => {
		if (!Array.isArray(value) || value.length < min)
			invalidOption(path, value, min > 0 ? 'a non-empty list' : 'a list')
		for (const [index, item] of value.entries()) shape(item, `${path}[${index}]`)
	}

/** An object with values of one shape. With `required`, at least one such value. */
export const named =
	(shape: Shape, required?: string): Shape =>
	(value, path) => {
		const entries = Object.entries(checkObject(value, path))
		if (required !== undefined && entries.length === 0) invalidOption(path, '{}', `at least one ${required}`)
		for (const [name, item] of entries) shape(item, `${path}.${name}`)
	}

/** An object with these fields and no others. Fields whose name ends in `?` are optional. */
export function fields(shapes: Readonly<Record<string, Shape>>): Shape {
	const known = Object.entries(shapes).map(([key, shape]) => ({
		name: key.replace('?', ''),
		isRequired: !key.endsWith('?'),
		shape,
	}))
	const names = known.map(({ name }) => name)
	return (value, path) => {
		const given = checkObject(value, path)
		for (const name of Object.keys(given))
			if (!names.includes(name))
				throw new InvalidOptionError(join(path, name), given[name], names.join(', '), {
					suggestion: nearestName(name, names),
				})
		for (const { name, isRequired, shape } of known)
			if (given[name] !== undefined) shape(given[name], join(path, name))
			else if (isRequired) invalidOption(join(path, name), undefined, 'a value (this field is required)')
	}
}

/** Requires that the second field is not less than the first, or with `'more'` that it is greater. Missing fields pass. */
export const inOrder =
	(shape: Shape, first: string, second: string, order: 'more' | 'no less' = 'no less'): Shape =>
	(value, path) => {
		shape(value, path)
		const { [first]: low, [second]: high } = checkObject(value, path)
		if (typeof low !== 'number' || typeof high !== 'number' || high > low) return
		if (order === 'more') invalidOption(join(path, second), high, `more than ${first}, which is ${low}`)
		if (high < low) invalidOption(join(path, second), high, `at least ${first}, which is ${low}`)
	}

/** One of several shapes, selected by the field `kind`. */
export function byKind(shapes: Readonly<Record<string, Shape>>, defaultKind?: string): Shape {
	const kinds = Object.keys(shapes)
	return (value, path) => {
		const { kind = defaultKind } = checkObject(value, path)
		const shape = typeof kind === 'string' && Object.hasOwn(shapes, kind) ? shapes[kind] : undefined
		if (!shape) invalidOption(join(path, 'kind'), kind, listed(kinds))
		shape(value, path)
	}
}

const join = (path: string, name: string): string => (path ? `${path}.${name}` : name)

function checkObject(value: unknown, path: string): Readonly<Record<string, unknown>> {
	if (!isObject(value)) invalidOption(path || 'options', value, 'an object')
	return value as Readonly<Record<string, unknown>>
}

/** Thirty thousand years. Sums of much longer times lose precision. */
export const MAX_MS = 1e15

/** Checked by `byKind`. */
export const kind: Shape = () => {}
export const time: Shape = amount(0, MAX_MS)
export const positiveTime: Shape = amount(1e-9, MAX_MS)
export const rate: Shape = amount(1e-9, 1e9)
export const withPeriod = (shape: Shape): Shape => inOrder(shape, 'fromMs', 'toMs', 'more')

const distribution = byKind({
	exponential: fields({ kind, meanMs: time }),
	lognormal: inOrder(fields({ kind, medianMs: positiveTime, p99Ms: positiveTime }), 'medianMs', 'p99Ms'),
	normal: fields({ kind, meanMs: time, sdMs: time }),
	uniform: inOrder(fields({ kind, minMs: time, maxMs: time }), 'minMs', 'maxMs'),
	empirical: fields({ kind, valuesMs: list(time, 1) }),
})

export const duration: Shape = (value, path) => {
	if (typeof value === 'number') time(value, path)
	else if (Object(value) !== value)
		invalidOption(path, value, 'a number of milliseconds, or a distribution with a kind')
	else distribution(value, path)
}
