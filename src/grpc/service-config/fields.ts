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

/** Reads a field that may be missing. */
export function optionalField<T>(
	object: JsonObject,
	path: string,
	name: string,
	read: (path: string, value: unknown) => T,
): T | undefined {
	const value = fieldOf(object, name)
	return value === undefined ? undefined : read(pathOf(path, name), value)
}

/**
 * Throws an InvalidOptionError for the first field that is not in `names`; with `onlyMisspelled`, for the first
 * one that resembles a name. `owner` names the object.
 */
export function checkFields(
	object: JsonObject,
	path: string,
	names: readonly string[],
	owner: string,
	onlyMisspelled = false,
): void {
	for (const name of Object.keys(object)) {
		if (names.includes(name)) continue
		const suggestion = nearestName(name, names)
		if (onlyMisspelled && !suggestion) continue
		throw new InvalidOptionError(pathOf(path, name), object[name], names.join(', '), { owner, suggestion })
	}
}

/** `path` is the path of the object, empty for the config itself. */
const pathOf = (path: string, name: string): string => (path ? `${path}.${name}` : name)
