/**
 * Finds the value that JSON can not hold, and says where it is. A walk with a list of its own and not by recursion: a payload that is
 * nested too deeply must not end this as well. It goes the way of `JSON.stringify`, `toJSON` included.
 */
import { types } from 'node:util'
import { show } from '../message/errors.ts'

/** What is wrong, and where: `.items[3].price`, or nothing for the payload itself. */
export interface JsonIssue {
	readonly path: string
	readonly what: string
}

/** An object that is being looked through. */
interface Level {
	readonly value: object
	/** The names of its values; undefined for a list, whose values have numbers. */
	readonly names: readonly string[] | undefined
	next: number
	/** The name or number by which it was reached. */
	readonly by: string
}

/**
 * Is there surely nothing in it that JSON loses? False when in doubt. It finds no path and follows no `toJSON`, which makes it several times
 * cheaper than the walk; and a null that was meant is common.
 */
export function isPlainJson(value: unknown, depth = 50): boolean {
	if (typeof value === 'number') return Number.isFinite(value)
	if (typeof value !== 'object') return typeof value !== 'function' && typeof value !== 'symbol'
	if (value === null) return true
	if (depth === 0) return false
	if (Array.isArray(value)) {
		// Not by `every`, which passes over holes.
		for (let at = 0; at < value.length; at++)
			if (value[at] === undefined || !isPlainJson(value[at], depth - 1)) return false
		return true
	}
	if (Object.getPrototypeOf(value) !== Object.prototype) return false
	for (const name in value)
		if (!isPlainJson((value as Record<string, unknown>)[name], depth - 1)) return false
	return true
}

/** The first value that would be lost, or that can not be written at all; undefined when there is none. */
export function findJsonIssue(payload: unknown): JsonIssue | undefined {
	const levels: Level[] = []
	const open = new Set<object>()
	let value = written({ '': payload }, '')
	let by = ''
	for (;;) {
		const isItem = levels.at(-1)?.names === undefined && levels.length > 0
		const what = isItem && isLostInList(value) ? lostInList(value) : flawOf(value, open)
		if (what !== undefined) return { path: cut(levels.map((level) => level.by).join('') + by), what }
		if (typeof value === 'object' && value !== null) {
			open.add(value)
			levels.push({ value, names: Array.isArray(value) ? undefined : Object.keys(value), next: 0, by })
		}
		const name = nextName(levels, open)
		if (name === undefined) return undefined
		const level = levels[levels.length - 1]
		by = level?.names === undefined ? `[${name}]` : pathStep(name)
		value = written(level?.value, name)
	}
}

/** The next name of the innermost object that has one; those that are done are closed. */
function nextName(levels: Level[], open: Set<object>): string | undefined {
	for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
		const place = level.next++
		const length = level.names?.length ?? (level.value as readonly unknown[]).length
		if (place < length) return level.names?.[place] ?? String(place)
		open.delete(level.value)
		levels.pop()
	}
	return undefined
}

/** What JSON writes for a value of this name: the answer of its `toJSON`, where it has one. */
function written(holder: object | undefined, name: string): unknown {
	try {
		const value = (holder as Record<string, unknown> | undefined)?.[name]
		if (Object(value) !== value && typeof value !== 'bigint') return value
		// An invalid Date answers null, which nobody meant.
		if (value instanceof Date && Number.isNaN(value.getTime())) return value
		const own = value as { toJSON?: unknown }
		return unboxed(typeof own.toJSON === 'function' ? own.toJSON(name) : value)
	} catch {
		// What a getter or a `toJSON` throws is told by who tried to write it.
		return null
	}
}

/** JSON writes `new Number(1)` as 1. */
const unboxed = (value: unknown): unknown => (types.isBoxedPrimitive(value) ? value.valueOf() : value)

/** What has no place in a list: JSON writes null there. As the value of a name it is left out, which is JSON's way of saying nothing. */
const isLostInList = (item: unknown): boolean =>
	item === undefined || typeof item === 'function' || typeof item === 'symbol'

const lostInList = (item: unknown): string =>
	`got ${show(item)}, in whose place JSON writes null; send null if that is meant`

/** A payload that is nested a thousand levels deep has a path that nobody reads to its end. */
const cut = (path: string): string => (path.length > 300 ? `${path.slice(0, 300)}...` : path)

function flawOf(value: unknown, open: ReadonlySet<object>): string | undefined {
	if (typeof value === 'bigint') return `got the bigint ${value}n; JSON has none, send it as a text`
	if (typeof value === 'number' && !Number.isFinite(value)) {
		return `got ${value}; takes a finite number, for JSON has no other`
	}
	if (typeof value !== 'object' || value === null) return undefined
	if (open.has(value)) return 'got an object that contains itself; JSON has no cycles'
	if (value instanceof Date) return 'got an invalid Date'
	if (value instanceof Map) return 'got a Map, of which JSON keeps nothing; send Object.fromEntries(map)'
	if (value instanceof Set) return 'got a Set, of which JSON keeps nothing; send [...set]'
	if (Array.isArray(value)) return undefined
	const names = Object.keys(value)
	if (names.length === 0 && isHiding(value))
		return `got ${show(value)}, of which JSON keeps nothing; send what is in it as a plain object`
	if (hasOnlyLost(value, names))
		return `got ${show(value)} with nothing but functions and symbols, of which JSON keeps nothing`
	return undefined
}

/**
 * Promises, errors, regular expressions, `Headers` and whatever else keeps what it has where JSON does not look. An empty object is one
 * that descends from nothing but an `Object`, also from that of another realm.
 */
function isHiding(value: object): boolean {
	const prototype: unknown = Object.getPrototypeOf(value)
	return prototype !== null && Object.getPrototypeOf(prototype) !== null
}

/** What is undefined says nothing, and may be left out. */
function hasOnlyLost(value: object, names: readonly string[]): boolean {
	const isLost = names.every((name) => isLostInList(written(value, name)))
	return isLost && names.some((name) => written(value, name) !== undefined)
}

/** One step of a path: `.name`, `[3]`, or `["a name"]`. */
export function pathStep(key: PropertyKey): string {
	if (typeof key === 'number') return `[${key}]`
	if (typeof key === 'symbol') return `[${String(key)}]`
	return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}
