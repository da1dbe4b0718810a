import { expect, expectTypeOf, test } from 'vitest'
import { defineCommand } from '../../src/cli/command.ts'
import { createIo } from '../../src/cli/io.ts'
import { parseArguments, tokenize } from '../../src/cli/parse-arguments.ts'
import { Reporter } from '../../src/cli/reporter.ts'
import { FakeTerminal } from './fake-terminal.ts'

test('run receives values with the types that the tables declare', async () => {
	let seen: unknown
	const command = defineCommand({
		examples: [],
		options: {
			seed: { type: 'integer', placeholder: 'N', description: 'seed', default: 1 },
			rate: { type: 'number', placeholder: 'R', description: 'rate' },
			out: { type: 'string', placeholder: 'FILE', description: 'file' },
			title: { type: 'string', placeholder: 'TEXT', description: 'title', default: 'none' },
			format: {
				type: 'string',
				placeholder: 'KIND',
				description: 'kind',
				choices: ['svg', 'html'],
				default: 'svg',
			},
			check: { type: 'string', placeholder: 'CHECK', description: 'check', multiple: true },
			size: { type: 'integer', placeholder: 'N', description: 'size', multiple: true },
			wide: { type: 'boolean', description: 'wide' },
		},
		positionals: {
			scenario: { placeholder: 'NAME', description: 'scenario' },
			other: { placeholder: 'NAME', description: 'another', optional: true },
			more: { placeholder: 'NAME', description: 'more', optional: true, multiple: true },
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
	const args = ['herd', '--rate', '.5', '--size', '1', '--size', '2', '--wide']
	const terminal = new FakeTerminal()
	const flags = { json: false, quiet: false, noColor: false, debug: false }
	const io = createIo(terminal, new Reporter(terminal, flags), flags, new AbortController().signal)
	const values = parseArguments(tokenize(args, command.options), command.positionals)
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
