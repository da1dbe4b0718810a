/**
 * Parses the syntax of regular expressions as far as the package uses it. Sets of characters are not interpreted: the engine itself
 * decides which characters `[^\s\p{L}]` contains, so this file cannot disagree with it.
 */

export type Tree =
	| { readonly type: 'set'; readonly has: (character: string) => boolean }
	| { readonly type: 'sequence' | 'choice'; readonly parts: readonly Tree[] }
	| {
			readonly type: 'repeat'
			readonly body: Tree
			readonly min: number
			readonly max: number
			readonly isLazy: boolean
	  }
	| { readonly type: 'assertion'; readonly kind: Assertion }
	| { readonly type: 'look'; readonly body: Tree; readonly isNegative: boolean; readonly isBehind: boolean }

export type Assertion = 'start' | 'line-start' | 'end' | 'line-end' | 'boundary' | 'no-boundary'

export interface Pattern {
	readonly source: string
	readonly flags: string
}

/** Syntax that cannot be checked. The message says what to use instead. */
export class UnsupportedPattern extends Error {}

const ESCAPE = /\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|c[a-z]|[pP]\{[^}]*\}|[\s\S])/iy
const CLASS = /\[(?:\\[\s\S]|[^\\\]])*\]/y
const QUANTIFIER = /(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})(\??)/y
const GROUP = /\((?:\?(?:(:)|<[A-Za-z_]\w*>|(<?)([=!])))?/y

export function parsePattern({ source, flags }: Pattern): Tree {
	let position = 0
	const isUnicode = flags.includes('u') || flags.includes('v')
	const tree = choice()
	if (position < source.length) throw new UnsupportedPattern(`unexpected ${source[position]}`)
	return tree

	function match(syntax: RegExp): RegExpExecArray | undefined {
		syntax.lastIndex = position
		const found = syntax.exec(source)
		if (found) position = syntax.lastIndex
		return found ?? undefined
	}

	function choice(): Tree {
		const parts = [sequence()]
		while (source[position] === '|') {
			position++
			parts.push(sequence())
		}
		return parts.length === 1 && parts[0] ? parts[0] : { type: 'choice', parts }
	}

	function sequence(): Tree {
		const parts: Tree[] = []
		while (position < source.length && source[position] !== '|' && source[position] !== ')')
			parts.push(quantified())
		return { type: 'sequence', parts }
	}

	function quantified(): Tree {
		const body = term()
		const found = match(QUANTIFIER)
		if (!found) return body
		const [text, least, comma, most, lazy] = found
		const [min, max] =
			least === undefined ? bounds(text) : [Number(least), comma ? Number(most || Infinity) : Number(least)]
		return { type: 'repeat', body, min, max, isLazy: lazy === '?' }
	}

	function term(): Tree {
		const group = match(GROUP)
		if (group) return inGroup(group)
		const first = source[position]
		if (first === '^' || first === '$') {
			position++
			const kind = first === '^' ? 'start' : 'end'
			return { type: 'assertion', kind: flags.includes('m') ? `line-${kind}` : kind }
		}
		if (first === '\\') return escaped(match(ESCAPE)?.[0] ?? '\\')
		const text =
			match(CLASS)?.[0] ??
			(isUnicode ? String.fromCodePoint(source.codePointAt(position) ?? 0) : (first ?? ''))
		if (first !== '[') position += text.length
		return set(text)
	}

	function inGroup([, , behind, look]: RegExpExecArray): Tree {
		const body = choice()
		if (source[position] !== ')') throw new UnsupportedPattern('a group without end')
		position++
		return look ? { type: 'look', body, isNegative: look === '!', isBehind: behind === '<' } : body
	}

	function escaped(text: string): Tree {
		if (text === '\\b') return { type: 'assertion', kind: 'boundary' }
		if (text === '\\B') return { type: 'assertion', kind: 'no-boundary' }
		if (/^\\[1-9k]/.test(text)) throw new UnsupportedPattern('a backreference; write out the alternatives')
		return set(text)
	}

	function set(text: string): Tree {
		const one = new RegExp(`^(?:${text === '/' ? '\\/' : text})$`, flags.replace(/[dgmy]/g, ''))
		const known: boolean[] = []
		const has = (character: string): boolean => {
			const code = character.codePointAt(0) ?? 0
			const answer = known[code] ?? one.test(character)
			known[code] = answer
			return answer
		}
		return { type: 'set', has }
	}
}

function bounds(quantifier: string): readonly [min: number, max: number] {
	if (quantifier.startsWith('?')) return [0, 1]
	return [quantifier.startsWith('+') ? 1 : 0, Infinity]
}
