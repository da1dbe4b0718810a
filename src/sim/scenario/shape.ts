/**
 * What a value must look like, said once and checked with the place where it stands: `services.api.workers: got -1; takes
 * ...`. A few combinators instead of a schema library, which would be a dependency and could not say it in our words.
 */
import { checkRange, invalidOption, MAX_NUMBER } from '../../core/options/schema.ts'

/** Refuses what can not be there. */
export type Shape = (value: unknown, path: string) => void

/** A finite number in a range. */
export const amount =
	(least = 0, greatest: number = MAX_NUMBER): Shape =>
	(value, path) =>
		checkRange(path, value, least, greatest)

/** A number of things, of which there may be no limit. */
export const count =
	(least: number, greatest: number = Infinity): Shape =>
	(value, path) => {
		if (value === Infinity && greatest === Infinity) return
		if (!Number.isInteger(value) || (value as number) < least || (value as number) > greatest)
			invalidOption(
				path,
				value,
				greatest < Infinity
					? `a whole number from ${least} to ${greatest}`
					: `a whole number, ${least} or more`,
			)
	}

export const flag: Shape = (value, path) => {
	if (typeof value !== 'boolean') invalidOption(path, value, 'true or false')
}

export const text: Shape = (value, path) => {
	if (typeof value !== 'string' || value === '') invalidOption(path, value, 'a text')
}

export const oneOf =
	(...values: readonly string[]): Shape =>
	(value, path) => {
		if (!values.some((known) => known === value)) invalidOption(path, value, listed(values))
	}

export const listed = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(' or ')

export const list =
	(shape: Shape, least = 0): Shape =>
	(value, path) => {
		if (!Array.isArray(value) || value.length < least)
			invalidOption(path, value, least > 0 ? `a list of ${least} or more` : 'a list')
		for (const [index, item] of value.entries()) shape(item, `${path}[${index}]`)
	}

/** By name; `what` is what there must be one of. */
export const named =
	(shape: Shape, what?: string): Shape =>
	(value, path) => {
		const all = Object.entries(object(value, path))
		if (what !== undefined && all.length === 0) invalidOption(path, '{}', `at least one ${what}`)
		for (const [name, one] of all) shape(one, `${path}.${name}`)
	}

/** An object with these fields and no others. A field whose name ends in `?` may be left out. */
export function fields(shapes: Readonly<Record<string, Shape>>): Shape {
	const known = Object.entries(shapes).map(([key, shape]) => ({
		name: key.replace('?', ''),
		isNeeded: !key.endsWith('?'),
		shape,
	}))
	const names = known.map(({ name }) => name)
	return (value, path) => {
		const given = object(value, path)
		for (const name of Object.keys(given))
			if (!names.includes(name))
				invalidOption(
					at(path, name),
					given[name],
					`nothing, for there is no such field here, only ${names.join(', ')}`,
				)
		for (const { name, isNeeded, shape } of known)
			if (given[name] !== undefined) shape(given[name], at(path, name))
			else if (isNeeded) invalidOption(at(path, name), undefined, 'a value; it can not be left out')
	}
}

/** Of two fields of it the second is not less than the first, or is `'more'`; one that is left out is not looked at. */
export const inOrder =
	(shape: Shape, first: string, second: string, which: 'more' | 'no less' = 'no less'): Shape =>
	(value, path) => {
		shape(value, path)
		const { [first]: low, [second]: high } = object(value, path)
		if (typeof low !== 'number' || typeof high !== 'number' || high > low) return
		if (which === 'more') invalidOption(at(path, second), high, `more than ${first}, which is ${low}`)
		if (high < low) invalidOption(at(path, second), high, `${first} or more, which is ${low}`)
	}

/** One of several shapes, told apart by the field `kind`; `otherwise` is meant when there is none. */
export function byKind(shapes: Readonly<Record<string, Shape>>, otherwise?: string): Shape {
	const kinds = Object.keys(shapes)
	return (value, path) => {
		const { kind = otherwise } = object(value, path)
		const shape = typeof kind === 'string' && Object.hasOwn(shapes, kind) ? shapes[kind] : undefined
		if (!shape) invalidOption(at(path, 'kind'), kind, listed(kinds))
		shape(value, path)
	}
}

const at = (path: string, name: string): string => (path ? `${path}.${name}` : name)

function object(value: unknown, path: string): Readonly<Record<string, unknown>> {
	if (Object(value) !== value || Array.isArray(value) || typeof value === 'function')
		invalidOption(path || 'scenario', value, 'an object')
	return value as Readonly<Record<string, unknown>>
}
