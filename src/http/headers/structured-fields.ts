/**
 * As much of Structured Fields (RFC 9651) as rate limit headers need: lists and dictionaries of items with parameters. The whole
 * value must be well formed, as the RFC asks, so every type of item is known here, though only the value of integers, strings and tokens is
 * kept; inner lists are refused. One pass with patterns that stick to the place, none of which can go back far.
 */

/** The value of an integer, a string or a token; undefined for the other types. */
type BareItem = number | string | undefined

export interface Item {
	/** Its name in a dictionary; empty in a list. */
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

/** The items of a list, or undefined when the text is none. */
export const parseList = (text: string): Item[] | undefined => parseItems(text, false)

/** The items of a dictionary, each with its key, or undefined when the text is none. */
export const parseDictionary = (text: string): Item[] | undefined => parseItems(text, true)

function parseItems(text: string, isKeyed: boolean): Item[] | undefined {
	let at = 0
	const take = (pattern: RegExp): RegExpExecArray | null => {
		pattern.lastIndex = at
		const found = pattern.exec(text)
		if (found) at = pattern.lastIndex
		return found
	}
	const items: Item[] = []
	take(BLANKS)
	do {
		const key = isKeyed ? take(KEY)?.[1] : ''
		const value = take(BARE_ITEM)
		if (key === undefined || value === null) return undefined
		const parameters = new Map<string, BareItem>()
		for (let found = take(PARAMETER); found; found = take(PARAMETER)) {
			// A name alone is a boolean.
			const given = found[2] === '=' ? take(BARE_ITEM) : undefined
			if (given === null) return undefined
			parameters.set(found[1] ?? '', given && readBare(given))
		}
		items.push({ key, value: readBare(value), parameters })
		take(BLANKS)
		if (at === text.length) return items
	} while (take(COMMA))
	return undefined
}

function readBare([, integer, string, token]: RegExpExecArray): BareItem {
	// Plus 0, for there is a `-0`.
	if (integer !== undefined) return Number(integer) + 0
	return string?.replace(/\\(.)/g, '$1') ?? token
}
