/**
 * Where a JSON text is wrong. The engine's own messages tell the place of some mistakes and not of others, and tell it in words
 * that change from version to version; a file that a person writes by hand deserves a line and a column each time. This reads
 * tokens and knows what may follow what, and nothing else: values are still made by `JSON.parse`.
 */

/** The first thing that is wrong. */
export interface JsonFault {
	/** Both count from 1. */
	readonly line: number
	readonly column: number
	/** What stands there, and what could: `got '}'; takes a value`. */
	readonly problem: string
}

const SPACE = /[ \t\n\r]*/y
const TOKEN =
	/[{}[\],:]|"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | 'more' | 'end'

const TAKES: Readonly<Record<Exclude<Expected, 'more'>, string>> = {
	value: 'a value',
	'value or ]': 'a value, or ]',
	name: 'a name in double quotes',
	'name or }': 'a name in double quotes, or }',
	':': 'a :',
	end: 'nothing more',
}

/** The first mistake in a text, or undefined if it is JSON. */
export function jsonFault(text: string): JsonFault | undefined {
	const open: string[] = []
	let expected: Expected = 'value'
	let at = 0
	for (;;) {
		at += matched(SPACE, text, at).length
		if (at === text.length && expected === 'end') return undefined
		const token = matched(TOKEN, text, at)
		const next = following(token, expected, open)
		if (next === undefined) return faultAt(text, at, token, takes(expected, open))
		expected = next
		at += token.length
	}
}

function matched(pattern: RegExp, text: string, at: number): string {
	pattern.lastIndex = at
	return pattern.exec(text)?.[0] ?? ''
}

/** What may come after a token, or undefined if it may not come itself. Keeps account of what is open. */
function following(token: string, expected: Expected, open: string[]): Expected | undefined {
	const isName = token.startsWith('"')
	const isValue = isName || /^[-\dtfn]/.test(token)
	const isIn = (bracket: string) => open.at(-1) === bracket
	const closed = (): Expected => (open.length > 0 ? 'more' : 'end')
	const close = (): Expected => {
		open.pop()
		return closed()
	}
	switch (expected) {
		case 'value or ]':
		case 'value':
			if (token === ']' && expected === 'value or ]') return close()
			if (isValue) return closed()
			if (token !== '{' && token !== '[') return undefined
			open.push(token)
			return token === '{' ? 'name or }' : 'value or ]'
		case 'name or }':
		case 'name':
			if (token === '}' && expected === 'name or }') return close()
			return isName ? ':' : undefined
		case ':':
			return token === ':' ? 'value' : undefined
		case 'more':
			if (token === ',') return isIn('{') ? 'name' : 'value'
			return token === (isIn('{') ? '}' : ']') ? close() : undefined
		case 'end':
			return undefined
	}
}

function takes(expected: Expected, open: readonly string[]): string {
	if (expected !== 'more') return TAKES[expected]
	return open.at(-1) === '{' ? 'a , or }' : 'a , or ]'
}

function faultAt(text: string, at: number, token: string, expected: string): JsonFault {
	const before = text.slice(0, at).split('\n')
	const here = token || [...text.slice(at, at + 2)][0]
	const isText = token === '' && here === '"'
	const got = here === undefined ? 'the end of the file' : here === "'" ? "a '" : `'${here}'`
	return {
		line: before.length,
		column: (before.at(-1) ?? '').length + 1,
		problem: isText
			? 'got a text that is not closed on its line, or has a wrong escape; takes one that is'
			: `got ${got}; takes ${expected}`,
	}
}
