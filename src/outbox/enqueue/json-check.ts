/**
 * Finds the value that JSON cannot hold, with its path. Iterative, because a payload that is nested too
 * deeply must not overflow the stack here. It follows `JSON.stringify`, including `toJSON`.
 */
import { types } from 'node:util'
import { type MessageIssue, show } from '../message/errors.ts'

const MAX_PATH_LENGTH = 300

/** An object on the path from the payload to the current value. */
interface Level {
	readonly value: object
	/** The property names; undefined for an array. */
	readonly names: readonly string[] | undefined
	next: number
	/** The path step that leads to it. */
	readonly step: string
}

/**
 * Returns true if JSON certainly loses nothing of the value; false if in doubt. Without paths and `toJSON` it
 * is several times faster than `findJsonIssue`, and most payloads that contain `null` mean it.
 */
export function isPlainJson(value: unknown, depth = 50): boolean {
	if (typeof value === 'number') return Number.isFinite(value)
	if (typeof value !== 'object') return typeof value !== 'function' && typeof value !== 'symbol'
	if (value === null) return true
	if (depth === 0) return false
	if (Array.isArray(value)) {
		// `every` would skip holes.
		for (let at = 0; at < value.length; at++)
			if (value[at] === undefined || !isPlainJson(value[at], depth - 1)) return false
		return true
	}
	if (Object.getPrototypeOf(value) !== Object.prototype) return false
	for (const name in value)
		if (!isPlainJson((value as Record<string, unknown>)[name], depth - 1)) return false
	return true
}

/** Returns the first value that would be lost or cannot be serialized, with its path (`.items[3].price`). */
export function findJsonIssue(payload: unknown): MessageIssue | undefined {
	const levels: Level[] = []
	const open = new Set<object>()
	let value = serializedValue({ '': payload }, '')
	let step = ''
	for (;;) {
		const isItem = levels.at(-1)?.names === undefined && levels.length > 0
		const message = isItem && isOmitted(value) ? omittedItem(value) : valueIssue(value, open)
		if (message !== undefined)
			return { field: truncate(levels.map((level) => level.step).join('') + step), message }
		if (typeof value === 'object' && value !== null) {
			open.add(value)
			levels.push({ value, names: Array.isArray(value) ? undefined : Object.keys(value), next: 0, step })
		}
		const name = nextName(levels, open)
		if (name === undefined) return undefined
		const level = levels[levels.length - 1]
		step = level?.names === undefined ? `[${name}]` : pathStep(name)
		value = serializedValue(level?.value, name)
	}
}

/** Returns the next property name of the innermost unfinished object, and removes finished ones. */
function nextName(levels: Level[], open: Set<object>): string | undefined {
	for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
		const index = level.next++
		const length = level.names?.length ?? (level.value as readonly unknown[]).length
		if (index < length) return level.names?.[index] ?? String(index)
		open.delete(level.value)
		levels.pop()
	}
	return undefined
}

/** Returns what JSON serializes for a property: the result of its `toJSON`, if it has one. */
function serializedValue(holder: object | undefined, name: string): unknown {
	try {
		const value = (holder as Record<string, unknown> | undefined)?.[name]
		if (Object(value) !== value && typeof value !== 'bigint') return value
		// The toJSON of an invalid Date returns null.
		if (value instanceof Date && Number.isNaN(value.getTime())) return value
		const own = value as { toJSON?: unknown }
		const result = typeof own.toJSON === 'function' ? own.toJSON(name) : value
		// JSON serializes `new Number(1)` as 1.
		return types.isBoxedPrimitive(result) ? result.valueOf() : result
	} catch {
		// The error of a getter or `toJSON` was already reported by JSON.stringify.
		return null
	}
}

/** JSON writes null for such an array item, and omits such a property, which usually means "not set". */
const isOmitted = (item: unknown): boolean =>
	item === undefined || typeof item === 'function' || typeof item === 'symbol'

const omittedItem = (item: unknown): string =>
	`expected a JSON value, got ${show(item)}, which JSON would replace by null; use null if you mean it`

const truncate = (path: string): string =>
	path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH)}...` : path

function valueIssue(value: unknown, open: ReadonlySet<object>): string | undefined {
	if (typeof value === 'bigint') return `expected a JSON value, got the bigint ${value}n; use a string`
	if (typeof value === 'number' && !Number.isFinite(value)) return `expected a finite number, got ${value}`
	if (typeof value !== 'object' || value === null) return undefined
	if (open.has(value)) return 'expected a JSON value, got an object that contains itself'
	if (value instanceof Date) return 'expected a valid Date, got an invalid one'
	if (value instanceof Map) return lossIssue('a Map', '; use Object.fromEntries(map)')
	if (value instanceof Set) return lossIssue('a Set', '; use [...set]')
	if (Array.isArray(value)) return undefined
	const names = Object.keys(value)
	if (names.length === 0 && hasHiddenState(value))
		return lossIssue(show(value), '; use a plain object with its data')
	if (isFullyOmitted(value, names)) return lossIssue(`${show(value)} with only functions and symbols`, '')
	return undefined
}

const lossIssue = (received: string, advice: string): string =>
	`expected a JSON value, got ${received}, which JSON would serialize as {}${advice}`

/**
 * Returns true for promises, errors, regular expressions, `Headers` and other objects whose state JSON does
 * not see. The prototype of a plain object has no prototype itself, also in another realm.
 */
function hasHiddenState(value: object): boolean {
	const prototype: unknown = Object.getPrototypeOf(value)
	return prototype !== null && Object.getPrototypeOf(prototype) !== null
}

/** Returns true if JSON would omit every property. Undefined properties alone are fine. */
function isFullyOmitted(value: object, names: readonly string[]): boolean {
	const areOmitted = names.every((name) => isOmitted(serializedValue(value, name)))
	return areOmitted && names.some((name) => serializedValue(value, name) !== undefined)
}

/** Returns one step of a path: `.name`, `[3]`, or `["a name"]`. */
export function pathStep(key: PropertyKey): string {
	if (typeof key === 'number') return `[${key}]`
	if (typeof key === 'symbol') return `[${String(key)}]`
	return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}
