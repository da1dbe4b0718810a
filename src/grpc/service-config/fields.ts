/**
 * Reads fields of a JSON object. Only own properties count, so that `constructor` is no field of every
 * object, and null is the same as a missing field, as in proto3's JSON.
 */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { nearestName } from '../../core/options/nearest-name.ts'
import { checkRange, invalidOption } from '../../core/options/schema.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** Returns false for objects that JSON does not have: a Buffer or a Promise would pass as an empty config. */
export const isJsonObject = (value: unknown): value is JsonObject =>
	Object.prototype.toString.call(value) === '[object Object]'

/** Returns the value of a field, undefined if it is missing or null. */
export const fieldOf = (object: JsonObject, name: string): unknown =>
	Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined

/** Throws an InvalidOptionError unless the value is an object. */
export function readObject(path: string, value: unknown, expected = 'an object'): JsonObject {
	if (!isJsonObject(value)) invalidOption(path, value, expected)
	return value
}

/** Throws an InvalidOptionError unless the value is a list. */
export function readList(path: string, value: unknown, expected = 'a list'): readonly unknown[] {
	if (!Array.isArray(value)) invalidOption(path, value, expected)
	return value
}

/** Throws an InvalidOptionError unless the value is a number from `min` to `max`. */
export function readNumber(
	path: string,
	value: unknown,
	min: number,
	max?: number,
	kind?: 'integer',
): number {
	checkRange(path, value, min, max, kind)
	return value as number
}

/** Reads a field that may be missing. `path` is the path of the object, empty for the config itself. */
export function optionalField<T>(
	object: JsonObject,
	path: string,
	name: string,
	read: (path: string, value: unknown) => T,
): T | undefined {
	const value = fieldOf(object, name)
	return value === undefined ? undefined : read(path ? `${path}.${name}` : name, value)
}

/** Throws an InvalidOptionError for the first field that is not in `names`. `owner` names the object. */
export function checkFields(object: JsonObject, path: string, names: readonly string[], owner: string): void {
	for (const name of Object.keys(object))
		if (!names.includes(name)) throw unknownField(`${path}.${name}`, object[name], names, owner, name)
}

/** Throws an InvalidOptionError for a field that looks misspelled. Other unknown fields are accepted. */
export function checkSpelling(object: JsonObject, names: readonly string[], owner: string): void {
	for (const name of Object.keys(object))
		if (!names.includes(name) && nearestName(name, names))
			throw unknownField(name, object[name], names, owner, name)
}

function unknownField(
	path: string,
	value: unknown,
	names: readonly string[],
	owner: string,
	name: string,
): InvalidOptionError {
	const suggestion = nearestName(name, names)
	return new InvalidOptionError(path, value, names.join(', '), { owner, suggestion })
}
