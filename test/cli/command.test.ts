import { describe, expect, expectTypeOf, test } from 'vitest'
import { cut, readArguments } from '../../src/cli/arguments.ts'
import { defineCommand } from '../../src/cli/command.ts'
import { Io } from '../../src/cli/io.ts'
import type { OptionTable, PositionalTable } from '../../src/cli/options.ts'
import { Talk } from '../../src/cli/talk.ts'
import { FakeTerminal } from './fake-terminal.ts'

const text = { name: 'draw', summary: 'draws', examples: [] }

test('a command gets its values in the types that its tables say, and nobody writes them down', async () => {
	let seen: unknown
	const command = defineCommand({
		...text,
		options: {
			seed: { type: 'integer', value: 'N', does: 'seed', default: 1 },
			rate: { type: 'number', value: 'R', does: 'rate' },
			out: { type: 'string', value: 'FILE', does: 'file' },
			title: { type: 'string', value: 'TEXT', does: 'title', default: 'none' },
			format: { type: 'string', value: 'KIND', does: 'kind', choices: ['svg', 'html'], default: 'svg' },
			check: { type: 'string', value: 'CHECK', does: 'check', multiple: true },
			size: { type: 'integer', value: 'N', does: 'size', multiple: true },
			wide: { type: 'boolean', does: 'wide' },
		},
		positionals: {
			scenario: { value: 'NAME', does: 'scenario' },
			other: { value: 'NAME', does: 'another', optional: true },
			more: { value: 'NAME', does: 'more', optional: true, multiple: true },
		},
		async run(args, io) {
			expectTypeOf(args.seed).toEqualTypeOf<number>()
			expectTypeOf(args.rate).toEqualTypeOf<number | undefined>()
			expectTypeOf(args.out).toEqualTypeOf<string | undefined>()
			expectTypeOf(args.title).toEqualTypeOf<string>()
			expectTypeOf(args.format).toEqualTypeOf<'svg' | 'html'>()
			expectTypeOf(args.check).toEqualTypeOf<readonly string[]>()
			expectTypeOf(args.size).toEqualTypeOf<readonly number[]>()
			expectTypeOf(args.wide).toEqualTypeOf<boolean>()
			expectTypeOf(args.scenario).toEqualTypeOf<string>()
			expectTypeOf(args.other).toEqualTypeOf<string | undefined>()
			expectTypeOf(args.more).toEqualTypeOf<readonly string[]>()
			// @ts-expect-error there is no such option
			expect(args.sead).toBeUndefined()
			seen = args
			return io.signal.aborted ? 'interrupted' : 'ok'
		},
	})
	const words = ['herd', '--rate', '.5', '--size', '1', '--size', '2', '--wide']
	const terminal = new FakeTerminal()
	const settings = { json: false, quiet: false, noColor: false, debug: false }
	const io = new Io(terminal, new Talk(terminal, settings), settings, new AbortController().signal)
	const values = readArguments(cut(words, command.options), command.positionals)
	expect(await command.run(values, io)).toBe('ok')
	expect(seen).toEqual({
		seed: 1,
		rate: 0.5,
		out: undefined,
		title: 'none',
		format: 'svg',
		check: [],
		size: [1, 2],
		wide: true,
		scenario: 'herd',
		other: undefined,
		more: [],
	})
})

describe('a table that contradicts itself is found when the command is made', () => {
	const flag = (short?: string) => ({ type: 'boolean' as const, does: '', ...(short && { short }) })
	const place = { value: 'X', does: '' }
	const declare = (options: OptionTable, positionals: PositionalTable = {}) =>
		defineCommand({ ...text, options, positionals, run: async () => 'ok' })

	test.each<[string, OptionTable, PositionalTable]>([
		['json is there twice', { json: flag() }, {}],
		['-h is there twice', { high: flag('h') }, {}],
		['-a is there twice', { apple: flag('a'), ape: flag('a') }, {}],
		['name is there twice', { name: flag() }, { name: place }],
		['a takes all that follow', {}, { a: { ...place, multiple: true }, b: place }],
		['a is optional, so b must be as well', {}, { a: { ...place, optional: true }, b: place }],
		['a is a list', { a: { type: 'string', value: 'A', does: '', multiple: true, default: 'x' } }, {}],
	])('%s', (why, options, positionals) => {
		expect(() => declare(options, positionals)).toThrow(`command draw: ${why}`)
	})

	test('one that does not is left in peace', () => {
		expect(declare({ apple: flag('a') }, { name: place, more: { ...place, multiple: true } }).name).toBe(
			'draw',
		)
	})
})
