/**
 * Compiles a pattern into instructions of a backtracking matcher, as engines do. The same instructions serve two purposes: they are run
 * to count steps, and read as a graph to find out whether the steps can grow faster than the text.
 */
import { type Assertion, type Pattern, parsePattern, type Tree, UnsupportedPattern } from './parse.ts'

export type Instruction =
	| { readonly op: 'read'; readonly has: (character: string) => boolean }
	| { readonly op: 'assert'; readonly kind: Assertion }
	/** Continues at the first target, and at the second one if that fails. */
	| { readonly op: 'try'; readonly first: number; readonly second: number }
	| { readonly op: 'jump'; readonly to: number }
	| {
			readonly op: 'look'
			readonly body: Program
			readonly isNegative: boolean
			readonly behind: number | undefined
	  }
	| { readonly op: 'match' }

export type Program = readonly Instruction[]

/** A repetition with a greater maximum is a loop: unrolled, it would be as slow. */
const MAX_UNROLLED = 100

export const compile = (pattern: Pattern): Program => compileTree(parsePattern(pattern))

function compileTree(tree: Tree): Program {
	const program: Instruction[] = []
	add(tree)
	program.push({ op: 'match' })
	return program

	function add(part: Tree): void {
		if (part.type === 'set') program.push({ op: 'read', has: part.has })
		else if (part.type === 'assertion') program.push({ op: 'assert', kind: part.kind })
		else if (part.type === 'look') addLook(part)
		else if (part.type === 'repeat') addRepeat(part)
		else if (part.type === 'choice') addChoice(part.parts)
		else for (const one of part.parts) add(one)
	}

	function addChoice(parts: readonly Tree[]): void {
		const [first, ...rest] = parts
		if (!first) return
		if (rest.length === 0) {
			add(first)
			return
		}
		const at = reserve()
		add(first)
		const end = reserve()
		program[at] = { op: 'try', first: at + 1, second: program.length }
		addChoice(rest)
		program[end] = { op: 'jump', to: program.length }
	}

	function addLook({ body, isNegative, isBehind }: Tree & { type: 'look' }): void {
		const { min, max } = lengthOf(body)
		if (isBehind && min !== max) throw new UnsupportedPattern('a lookbehind of varying length')
		program.push({ op: 'look', body: compileTree(body), isNegative, behind: isBehind ? min : undefined })
	}

	function addRepeat({ body, min, max, isLazy }: Tree & { type: 'repeat' }): void {
		for (let count = 0; count < min; count++) add(body)
		if (max <= MAX_UNROLLED) {
			const skips: number[] = []
			for (let count = min; count < max; count++) {
				skips.push(reserve())
				add(body)
			}
			for (const at of skips) program[at] = branch(at + 1, program.length, isLazy)
			return
		}
		if (lengthOf(body).min === 0) throw new UnsupportedPattern('a loop whose body can match nothing')
		const at = reserve()
		add(body)
		program.push({ op: 'jump', to: at })
		program[at] = branch(at + 1, program.length, isLazy)
	}

	function reserve(): number {
		return program.push({ op: 'match' }) - 1
	}
}

const branch = (into: number, past: number, isLazy: boolean): Instruction =>
	isLazy ? { op: 'try', first: past, second: into } : { op: 'try', first: into, second: past }

function lengthOf(tree: Tree): { readonly min: number; readonly max: number } {
	if (tree.type === 'set') return { min: 1, max: 1 }
	if (tree.type === 'assertion' || tree.type === 'look') return { min: 0, max: 0 }
	if (tree.type === 'repeat') {
		const { min, max } = lengthOf(tree.body)
		return { min: min * tree.min, max: max === 0 ? 0 : max * tree.max }
	}
	const lengths = tree.parts.map(lengthOf)
	const sum = (one: number, other: number): number => one + other
	return tree.type === 'sequence'
		? { min: lengths.map(({ min }) => min).reduce(sum, 0), max: lengths.map(({ max }) => max).reduce(sum, 0) }
		: { min: Math.min(...lengths.map(({ min }) => min)), max: Math.max(...lengths.map(({ max }) => max)) }
}

export const isWord = (character: string | undefined): boolean =>
	character !== undefined && /^\w$/.test(character)
export const isLineEnd = (character: string | undefined): boolean =>
	character === undefined || /^[\n\r\u2028\u2029]$/.test(character)

/** Decides an assertion between two characters; undefined is the start or the end of the text. */
export function holds(kind: Assertion, before: string | undefined, after: string | undefined): boolean {
	if (kind === 'start') return before === undefined
	if (kind === 'end') return after === undefined
	if (kind === 'line-start') return isLineEnd(before)
	if (kind === 'line-end') return isLineEnd(after)
	return (isWord(before) !== isWord(after)) === (kind === 'boundary')
}
