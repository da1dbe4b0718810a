import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OptionTable, PositionalTable } from '../../src/cli/option-tables.ts'
import { hasFlag, parseArguments, tokenize } from '../../src/cli/parse-arguments.ts'

const options = {
	seed: { type: 'integer', short: 's', placeholder: 'N', description: 'the seed', default: 1, min: 0 },
	rate: { type: 'number', placeholder: 'R', description: 'the rate' },
	load: { type: 'number', placeholder: 'SHARE', description: 'the load', min: 0, max: 1 },
	atMost: { type: 'number', placeholder: 'N', description: 'a limit', max: 10 },
	out: { type: 'string', short: 'o', placeholder: 'FILE', description: 'output file' },
	format: { type: 'string', placeholder: 'KIND', description: 'format', choices: ['svg', 'html', 'json'] },
	assert: { type: 'string', placeholder: 'CHECK', description: 'a check', multiple: true },
	quiet: { type: 'boolean', short: 'q', description: 'no notes' },
} satisfies OptionTable

const parse = (args: readonly string[], positionals: PositionalTable = {}) =>
	parseArguments(tokenize(args, options), positionals)

const failure = (...args: readonly string[]): Error => {
	try {
		parse(args)
	} catch (error) {
		if (error instanceof Error) return error
	}
	throw new Error(`accepted ${args.join(' ')}`)
}

describe('options', () => {
	test('options that are not given have their default or undefined', () => {
		expect(parse([])).toEqual({
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
		'can be written as %j',
		(args) => {
			expect(parse(args)).toMatchObject({ seed: 7 })
		},
	)

	test('options are written in kebab case', () => {
		expect(parse(['--at-most', '3'])).toMatchObject({ atMost: 3 })
		expect(failure('--atMost', '3').message).toBe('Unknown option --atMost. Did you mean --at-most?')
	})

	test('options that are repeatable return a list in order', () => {
		expect(parse(['--assert', 'a<1', '--assert=b>2'])).toMatchObject({ assert: ['a<1', 'b>2'] })
	})

	test('options with one value are rejected if they are given twice', () => {
		expect(failure('--seed', '1', '-s', '2').message).toBe('--seed is given 2 times, but takes one value.')
	})

	test('options without a value can be given twice', () => {
		expect(parse(['-q', '--quiet'])).toMatchObject({ quiet: true })
	})

	test.each([
		[['--sead', '7'], 'Unknown option --sead. Did you mean --seed?'],
		[['--sead=7'], 'Unknown option --sead. Did you mean --seed?'],
		[['-format'], 'Unknown option -f. Did you mean --format?'],
		[['--nothing-like-it'], 'Unknown option --nothing-like-it.'],
		[['--__proto__', '1'], 'Unknown option --__proto__.'],
		[['-x'], 'Unknown option -x.'],
		[['--quiet=no'], '--quiet does not take a value.'],
		[['--out'], '--out needs a value: FILE.'],
		[['--seed'], '--seed needs a value: an integer >= 0.'],
		[['--out', '--quiet'], '--out needs a value: FILE. To pass "--quiet", write --out=--quiet.'],
		[
			['--format', 'svgg'],
			'Unknown value "svgg" for --format. Did you mean "svg"? Valid values: svg, html, json.',
		],
		[['--format', 'docx'], 'Unknown value "docx" for --format. Valid values: svg, html, json.'],
	])('%j is rejected with a message', (args, message) => {
		expect(failure(...args).message).toBe(message)
	})

	test('accept a single dash as value, and any text after an equals sign', () => {
		expect(parse(['--out', '-'])).toMatchObject({ out: '-' })
		fc.assert(
			fc.property(fc.string(), (text) => {
				expect(parse([`--out=${text}`])).toMatchObject({ out: text })
			}),
		)
	})
})

describe('numbers', () => {
	const invalid = (optionPath: string, received: string, expected: string) => ({
		optionPath,
		received,
		expected,
	})

	test('numbers are parsed exactly, negative ones also after a space', () => {
		fc.assert(
			fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }).map(String), (text) => {
				expect(parse([`--rate=${text}`])['rate']).toBe(Number(text))
				expect(parse(['--rate', text])['rate']).toBe(Number(text))
			}),
		)
	})

	test.each(['abc', '', ' ', '7x', '0x10', 'NaN', 'Infinity', '-Infinity', '1_000', '1,5', '1e999'])(
		'%j is not a number',
		(text) => {
			expect(failure(`--rate=${text}`)).toMatchObject(invalid('--rate', text, 'a number'))
		},
	)

	test.each(['1.5', '1e-3', '9007199254740993'])('%s is not a safe integer', (text) => {
		expect(failure(`--seed=${text}`)).toMatchObject(invalid('--seed', text, 'an integer >= 0'))
	})

	test.each([
		['--seed', '-1', 'an integer >= 0'],
		['--load', '1.1', 'a number from 0 to 1'],
		['--at-most', '11', 'a number <= 10'],
	])('%s %s is out of range', (flag, text, expected) => {
		expect(failure(flag, text)).toMatchObject(invalid(flag, text, expected))
	})

	test.each(['0', '1', '.5', '5e-1', '+1'])('%s is in the range from 0 to 1', (text) => {
		expect(parse([`--load=${text}`])['load']).toBe(Number(text))
	})
})

describe('positionals', () => {
	const one = { placeholder: 'NAME', description: 'a name' }

	test('positionals are assigned in order', () => {
		expect(parse(['a', '--seed', '7', 'b'], { first: one, second: one })).toMatchObject({
			first: 'a',
			second: 'b',
			seed: 7,
		})
	})

	test('can be omitted if they are optional', () => {
		expect(parse([], { name: { ...one, optional: true } })['name']).toBeUndefined()
	})

	test('positionals are required by default', () => {
		expect(() => parse([], { name: one })).toThrow('Missing argument NAME: a name.')
		expect(() => parse([], { names: { ...one, multiple: true } })).toThrow('Missing argument NAME: a name.')
	})

	test('can be a list of all remaining arguments', () => {
		const names = { ...one, multiple: true }
		expect(parse(['a', 'b', 'c'], { first: one, names })).toMatchObject({ first: 'a', names: ['b', 'c'] })
		expect(parse([], { names: { ...names, optional: true } })).toMatchObject({ names: [] })
	})

	test('can look like options after --', () => {
		expect(parse(['--', '--seed'], { name: one })).toMatchObject({ name: '--seed', seed: 1 })
	})

	test('positionals are rejected if there are too many', () => {
		expect(() => parse(['a', 'b'], { name: one })).toThrow('Unexpected argument "b".')
	})
})

describe('hasFlag', () => {
	test.each([[['-q']], [['--quiet']], [['-qs7']], [['--quiet', '--unknown']], [['--seed', 'no', '-q']]])(
		'finds the flag in %j, even if other arguments are invalid',
		(args) => {
			expect(hasFlag(tokenize(args, options), 'quiet')).toBe(true)
		},
	)

	test.each([[['-oq']], [['--out=--quiet']], [['--', '-q']], [['--out', '-q']]])(
		'ignores a value in %j that looks like the flag',
		(args) => {
			expect(hasFlag(tokenize(args, options), 'quiet')).toBe(false)
		},
	)
})
