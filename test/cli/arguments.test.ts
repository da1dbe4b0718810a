import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cut, isGiven, readArguments } from '../../src/cli/arguments.ts'
import type { OptionTable, PositionalTable } from '../../src/cli/options.ts'

const options = {
	seed: { type: 'integer', short: 's', value: 'N', does: 'the seed', default: 1, least: 0 },
	rate: { type: 'number', value: 'R', does: 'the rate' },
	load: { type: 'number', value: 'SHARE', does: 'the load', least: 0, most: 1 },
	atMost: { type: 'number', value: 'N', does: 'a limit', most: 10 },
	out: { type: 'string', short: 'o', value: 'FILE', does: 'where to' },
	format: { type: 'string', value: 'KIND', does: 'what kind', choices: ['svg', 'html', 'json'] },
	assert: { type: 'string', value: 'CHECK', does: 'a check', multiple: true },
	quiet: { type: 'boolean', short: 'q', does: 'no talk' },
} satisfies OptionTable

const read = (words: readonly string[], places: PositionalTable = {}) =>
	readArguments(cut(words, options), places)

const refused = (...words: readonly string[]): string => {
	try {
		read(words)
	} catch (error) {
		return error instanceof Error ? error.message : String(error)
	}
	throw new Error(`accepted ${words.join(' ')}`)
}

describe('options', () => {
	test('that are not given have their default, or none', () => {
		expect(read([])).toEqual({
			seed: 1,
			rate: undefined,
			load: undefined,
			atMost: undefined,
			out: undefined,
			format: undefined,
			assert: [],
			quiet: false,
		})
	})

	test.each([[['--seed', '7']], [['--seed=7']], [['-s', '7']], [['-s7']], [['-qs7']], [['-qs', '7']]])(
		'may be written as %j',
		(words) => {
			expect(read(words)).toMatchObject({ seed: 7 })
		},
	)

	test('are written with dashes where their names have capitals', () => {
		expect(read(['--at-most', '3'])).toMatchObject({ atMost: 3 })
		expect(refused('--atMost', '3')).toBe('unknown option --atMost; did you mean --at-most?')
	})

	test('that may be given more than once come as a list, in their order', () => {
		expect(read(['--assert', 'a<1', '--assert=b>2'])).toMatchObject({ assert: ['a<1', 'b>2'] })
	})

	test('that take one value are not given twice, for one of the two would be lost', () => {
		expect(refused('--seed', '1', '-s', '2')).toBe('--seed is given 2 times, and takes one value')
	})

	test('that are only given or not may be given twice', () => {
		expect(read(['-q', '--quiet'])).toMatchObject({ quiet: true })
	})

	test.each([
		[['--sead', '7'], 'unknown option --sead; did you mean --seed?'],
		[['--sead=7'], 'unknown option --sead; did you mean --seed?'],
		[['-format'], 'unknown option -f; did you mean --format?'],
		[['--nothing-like-it'], 'unknown option --nothing-like-it'],
		[['--__proto__', '1'], 'unknown option --__proto__'],
		[['-x'], 'unknown option -x'],
		[['--quiet=no'], "--quiet: got 'no'; takes no value"],
		[['--out'], '--out: got nothing; takes FILE'],
		[['--seed'], '--seed: got nothing; takes a whole number, 0 or more'],
		[['--out', '--quiet'], '--out: got the option --quiet; takes FILE (if it is meant: --out=--quiet)'],
		[['--format', 'svgg'], "--format: got 'svgg'; takes one of svg, html, json; did you mean svg?"],
		[['--format', 'docx'], "--format: got 'docx'; takes one of svg, html, json"],
	])('%j is refused with a word about it', (words, message) => {
		expect(refused(...words)).toBe(message)
	})

	test('may have a dash alone as their value, and anything after an equals sign', () => {
		expect(read(['--out', '-'])).toMatchObject({ out: '-' })
		fc.assert(
			fc.property(fc.string(), (text) => {
				expect(read([`--out=${text}`])).toMatchObject({ out: text })
			}),
		)
	})
})

describe('a number', () => {
	test('is read as it was written, whatever it is', () => {
		fc.assert(
			fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }).map(String), (text) => {
				expect(read([`--rate=${text}`])['rate']).toBe(Number(text))
				expect(read(['--rate', text])['rate']).toBe(Number(text))
			}),
		)
	})

	test.each(['abc', '', ' ', '7x', '0x10', 'NaN', 'Infinity', '-Infinity', '1_000', '1,5', '1e999'])(
		'%j is none',
		(text) => {
			expect(refused(`--rate=${text}`)).toBe(`--rate: got '${text}'; takes a number`)
		},
	)

	test.each(['1.5', '1e-3', '9007199254740993'])('%s is no whole one that is safe to count with', (text) => {
		expect(refused(`--seed=${text}`)).toBe(`--seed: got '${text}'; takes a whole number, 0 or more`)
	})

	test.each([
		[['--seed', '-1'], "--seed: got '-1'; takes a whole number, 0 or more"],
		[['--load', '1.1'], "--load: got '1.1'; takes a number from 0 to 1"],
		[['--at-most', '11'], "--at-most: got '11'; takes a number, 10 or less"],
	])('%j is out of its range', (words, message) => {
		expect(refused(...words)).toBe(message)
	})

	test.each(['0', '1', '.5', '5e-1', '+1'])('%s is within its range, ends included', (text) => {
		expect(read([`--load=${text}`])['load']).toBe(Number(text))
	})
})

describe('what has no dash', () => {
	const one = { value: 'NAME', does: 'whom' }

	test('is taken by its place', () => {
		expect(read(['a', '--seed', '7', 'b'], { first: one, second: one })).toMatchObject({
			first: 'a',
			second: 'b',
			seed: 7,
		})
	})

	test('may be left out where it is optional', () => {
		expect(read([], { name: { ...one, optional: true } })['name']).toBeUndefined()
	})

	test('is asked for by its name where it is not', () => {
		expect(() => read([], { name: one })).toThrow('NAME is missing: whom')
		expect(() => read([], { names: { ...one, multiple: true } })).toThrow('NAME is missing: whom')
	})

	test('may be a list of all that follow', () => {
		const names = { ...one, multiple: true }
		expect(read(['a', 'b', 'c'], { first: one, names })).toMatchObject({ first: 'a', names: ['b', 'c'] })
		expect(read([], { names: { ...names, optional: true } })).toMatchObject({ names: [] })
	})

	test('may look like an option after two dashes', () => {
		expect(read(['--', '--seed'], { name: one })).toMatchObject({ name: '--seed', seed: 1 })
	})

	test('is refused when nobody takes it', () => {
		expect(() => read(['a', 'b'], { name: one })).toThrow("'b' is one argument too many")
	})
})

describe('a flag can be seen', () => {
	test.each([[['-q']], [['--quiet']], [['-qs7']], [['--quiet', '--unknown']], [['--seed', 'no', '-q']]])(
		'in %j, whatever else is wrong',
		(words) => {
			expect(isGiven(cut(words, options), 'quiet')).toBe(true)
		},
	)

	test.each([[['-oq']], [['--out=--quiet']], [['--', '-q']], [['--out', '-q']]])(
		'but %j has none, only a value that looks like it',
		(words) => {
			expect(isGiven(cut(words, options), 'quiet')).toBe(false)
		},
	)
})
