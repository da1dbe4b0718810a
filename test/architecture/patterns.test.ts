import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkFile, checkPatterns } from '../../scripts/patterns.ts'
import { findBlowup } from '../../scripts/regex/ambiguity.ts'
import { countSteps } from '../../scripts/regex/steps.ts'

test('no pattern of the sources takes more than linear time', () => {
	expect(checkPatterns(fileURLToPath(new URL('../..', import.meta.url)))).toEqual([])
})

const SLOW: readonly (readonly [pattern: RegExp, growth: 'quadratic' | 'exponential'])[] = [
	[/^[ \t]+|[ \t]+$/g, 'quadratic'],
	[/\s+$/, 'quadratic'],
	[/^\w*x\w*$/, 'quadratic'],
	[/^\d+\.?\d*$/, 'quadratic'],
	[/pool.+full/, 'quadratic'],
	[/(?=\w*y)x/, 'quadratic'],
	[/(?![\s\S]*x)y/m, 'quadratic'],
	[/^a(?![\s\S]*^b)/m, 'quadratic'],
	[/\w{3,}x/, 'quadratic'],
	[/\w{0,200}x/, 'quadratic'],
	[/^a*?b*?a*?$/, 'quadratic'],
	[/^(a+)+$/, 'exponential'],
	[/^(a|a)*$/, 'exponential'],
	[/^(\w|\d)+x/, 'exponential'],
	[/^(?:\s*\w\s*)+$/, 'exponential'],
]

const FAST: readonly RegExp[] = [
	/\s+/g,
	/ [^ ]*$/,
	/=.*/s,
	/^\w*x/,
	/^\d+(\.\d*)?$/,
	/pool.{1,80}full/,
	/^(?=\w*$)\w*?x/m,
	/^[a-z]+:[\s\S]*$/,
	/(?<![\w-])[\w-]+$/,
	/(?<!\w)\w*\d\w*/g,
	/^can\S+ \w+ prop/m,
	/^a(?!(.*\n){1,7}b)/m,
	/[ \t]*x/y,
	/"(?:[^"\\]|\\.)*"/y,
	/\bno-store\b/i,
	/^\p{Lu}[^\p{Lu}]*$/u,
]

/** What comes before and after the repeated part: the engine tries everything only if the pattern fails in the end. */
const STARTS = ['', '\u0000']
const ENDS = ['\u0000', '\nb']

/** The greatest number of steps for a text that repeats a part. */
const steps = (pattern: RegExp, part: string, count: number): number =>
	Math.max(
		...STARTS.flatMap((start) =>
			ENDS.map((end) => countSteps(pattern, start + part.repeat(count) + end).steps),
		),
	)

describe('a pattern that takes more than linear time', () => {
	test.each(SLOW)('%s is found: %s', (pattern, growth) => {
		expect(findBlowup(pattern)?.growth).toBe(growth)
	})

	test.each(SLOW.filter(([, growth]) => growth === 'quadratic'))(
		'%s is slow for the text that is reported',
		(pattern) => {
			const text = findBlowup(pattern)?.text ?? ''
			expect(
				steps(pattern, text, 400 / text.length) / steps(pattern, text, 200 / text.length),
			).toBeGreaterThan(3)
		},
	)

	test.each(SLOW.filter(([, growth]) => growth === 'exponential'))(
		'%s is very slow for the text that is reported',
		(pattern) => {
			const text = findBlowup(pattern)?.text ?? ''
			expect(steps(pattern, text, 12 / text.length) / steps(pattern, text, 6 / text.length)).toBeGreaterThan(
				8,
			)
		},
	)
})

describe('a pattern that takes linear time', () => {
	test.each(FAST.map((pattern) => [pattern] as const))('%s is accepted', (pattern) => {
		expect(findBlowup(pattern)).toBeUndefined()
	})

	test.each(FAST.map((pattern) => [pattern] as const))(
		'%s takes steps in proportion to the text',
		(pattern) => {
			const parts = fc.stringMatching(/^[axy01\n\t :;=."\\-]{1,6}$/)
			fc.assert(
				fc.property(parts, (part) => {
					expect(steps(pattern, part, 80)).toBeLessThan(2.5 * steps(pattern, part, 40) + 100)
				}),
				{ numRuns: 20 },
			)
		},
	)
})

test('the counting matcher finds the same matches as the engine', () => {
	const texts = fc.stringMatching(/^[axyb01pol\n\t :;=."\\-]{0,12}$/)
	fc.assert(
		fc.property(fc.constantFrom(...FAST, ...SLOW.map(([pattern]) => pattern)), texts, (pattern, text) => {
			pattern.lastIndex = 0
			expect(countSteps(pattern, text).isMatch).toBe(pattern.test(text))
		}),
		{ numRuns: 2_000 },
	)
})

describe('the check of a file', () => {
	const check = (text: string): string[] => checkFile('src/a.ts', text)

	test('reports the line, the pattern and the text', () => {
		expect(check('// /x+$/\n\nconst trim = (text: string) => text.replace(/x+$/, "")')).toEqual([
			'src/a.ts:3: /x+$/ takes quadratic time for "xx" repeated',
		])
	})

	test('reads patterns that are built from constant strings', () => {
		const template = '`$' + '{A}$' + '{B.source}?`'
		const text = `const A = 'x+'\nconst B = /y/\nconst C = new RegExp(${template} + '$', 'g')`
		expect(check(text)).toEqual(['src/a.ts:3: /x+y?$/g takes quadratic time for "xx" repeated'])
	})

	test('rejects patterns of texts that are not constant', () => {
		expect(check('const find = (name: string) => new RegExp(name)')).toEqual([
			'src/a.ts:1: RegExp of a text that is not constant',
		])
	})

	test.each([
		['/(a)\\1/', 'a backreference; write out the alternatives'],
		['/(?<=a*)b/', 'a lookbehind of varying length'],
		['/(a*)*/', 'a loop whose body can match nothing'],
	])('rejects %s, which cannot be checked', (pattern, reason) => {
		expect(check(`export default ${pattern}`)).toEqual([
			`src/a.ts:1: ${pattern} cannot be checked: it contains ${reason}`,
		])
	})
})
