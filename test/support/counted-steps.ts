/**
 * Counts the steps of code that scans texts, so that tests can require linear time without measuring time. A step is an instruction of a
 * backtracking matcher (every regular expression runs in one that counts), a character or an element that a method of strings and arrays
 * reads, or a lookup in a Map.
 */
import { countSteps } from '../../scripts/regex/steps.ts'

type Method = (this: unknown, ...args: unknown[]) => unknown

/** Methods that read a whole text or list, or one element of it. */
const WHOLE_TEXT = [
	'split',
	'trim',
	'trimEnd',
	'slice',
	'toLowerCase',
	'toUpperCase',
	'replace',
	'indexOf',
	'includes',
	'startsWith',
	'endsWith',
]
const ONE_CHARACTER = ['charCodeAt', 'charAt', 'codePointAt', 'at']
const WHOLE_LIST = [
	'map',
	'flatMap',
	'every',
	'some',
	'filter',
	'reduce',
	'includes',
	'indexOf',
	'concat',
	'join',
	'slice',
]
/** Methods that stop early: each call of their function is a step. */
const SEARCHES = ['find', 'findLast', 'findIndex']
const LOOKUPS = ['get', 'set', 'has']

/** Runs the function and returns its number of steps. */
export function stepsOf(run: () => unknown): number {
	let steps = 0
	const matches: (readonly [pattern: RegExp, text: string, lastIndex: number])[] = []
	const restores: (() => void)[] = []
	const lengthOf = (value: unknown): number => Object(value).length ?? 0
	const replaceMethods = (
		owner: object,
		names: readonly string[],
		wrap: (native: Method) => Method,
	): void => {
		for (const name of names) {
			const native: Method = Reflect.get(owner, name)
			const wrapped = wrap(native)
			Reflect.set(owner, name, wrapped)
			restores.push(() => Reflect.set(owner, name, native))
		}
	}
	const counting =
		(cost: (self: unknown) => number) =>
		(native: Method): Method =>
			function (...args) {
				steps += cost(this)
				return Reflect.apply(native, this, args)
			}
	const countingSearch = (native: Method): Method =>
		function (test, ...args) {
			const counted = (...given: unknown[]) => {
				steps++
				return (test as Method)(...given)
			}
			return Reflect.apply(native, this, [counted, ...args])
		}
	const countingMatch = (native: Method): Method =>
		function (text) {
			if (this instanceof RegExp) matches.push([this, String(text), this.lastIndex])
			return Reflect.apply(native, this, [text])
		}
	replaceMethods(String.prototype, WHOLE_TEXT, counting(lengthOf))
	replaceMethods(
		String.prototype,
		ONE_CHARACTER,
		counting(() => 1),
	)
	replaceMethods(Array.prototype, WHOLE_LIST, counting(lengthOf))
	replaceMethods(Array.prototype, SEARCHES, countingSearch)
	replaceMethods(
		Map.prototype,
		LOOKUPS,
		counting(() => 1),
	)
	// `test`, `replace`, `match` and `split` call it too.
	replaceMethods(RegExp.prototype, ['exec'], countingMatch)
	try {
		run()
	} finally {
		for (const restore of restores) restore()
	}
	// After the methods are restored: the matcher uses them too.
	for (const [pattern, text, lastIndex] of matches) steps += countSteps(pattern, text, lastIndex).steps
	return steps
}
