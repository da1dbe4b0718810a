/**
 * Parses the part of Structured Fields (RFC 9651) that rate limit headers use: lists and dictionaries of
 * items with parameters. The RFC requires the whole value to be well formed, so every item type is parsed,
 * but only the values of integers, strings and tokens are returned; inner lists are invalid. It makes one
 * pass with sticky patterns, none of which backtracks far.
 */

/** The value of an integer, a string or a token; undefined for other types. */
type BareItem = number | string | undefined

export interface Item {
	/** The key in a dictionary; empty in a list. */
	readonly key: string
	readonly value: BareItem
	readonly parameters: ReadonlyMap<string, BareItem>
}

const KEY = /([a-z*][a-z\d_.*-]*)=/y
const PARAMETER = /; *([a-z*][a-z\d_.*-]*)(=?)/y
const BLANKS = /[ \t]*/y
const COMMA = /,[ \t]*/y
// A decimal; an integer; a string; a token; bytes; a boolean; a date; a display string.
const BARE_ITEM =
	/-?\d{1,12}\.\d{1,3}|(-?\d{1,15})|"((?:[ !#-[\]-~]|\\["\\])*)"|([A-Za-z*][\w!#$%&'*+.^`|~:/-]*)|:[A-Za-z\d+/=]*:|\?[01]|@-?\d{1,15}|%"(?:[ !#$&-~]|%[\da-f]{2})*"/y

/** Returns the items of a list, or undefined if the text is not a valid list. */
export const parseList = (text: string): Item[] | undefined => parseItems(text, false)

/** Returns the items of a dictionary with their keys, or undefined if the text is not a valid dictionary. */
export const parseDictionary = (text: string): Item[] | undefined => parseItems(text, true)

function parseItems(text: string, isKeyed: boolean): Item[] | undefined {
	let position = 0
	const match = (pattern: RegExp): RegExpExecArray | null => {
		pattern.lastIndex = position
		const found = pattern.exec(text)
		if (found) position = pattern.lastIndex
		return found
	}
	const items: Item[] = []
	match(BLANKS)
	do {
		const key = isKeyed ? match(KEY)?.[1] : ''
		const value = match(BARE_ITEM)
		if (key === undefined || value === null) return undefined
		const parameters = new Map<string, BareItem>()
		for (let found = match(PARAMETER); found; found = match(PARAMETER)) {
			// A name without a value is a boolean.
			const given = found[2] === '=' ? match(BARE_ITEM) : undefined
			if (given === null) return undefined
			parameters.set(found[1] ?? '', given && readBare(given))
		}
		items.push({ key, value: readBare(value), parameters })
		match(BLANKS)
		if (position === text.length) return items
	} while (match(COMMA))
	return undefined
}

function readBare([, integer, string, token]: RegExpExecArray): BareItem {
	// Adding 0 turns -0 into 0.
	if (integer !== undefined) return Number(integer) + 0
	return string?.replace(/\\(.)/g, '$1') ?? token
}
