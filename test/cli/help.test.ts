import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { defineCommand } from '../../src/cli/command.ts'
import { EXIT_CODES } from '../../src/cli/errors.ts'
import { commandHelp } from '../../src/cli/help.ts'
import { PLAIN } from '../../src/text/style.ts'
import { run } from './fake-program.ts'

describe('help for the program', () => {
	test.each(['', 'help', '--help', '-h', 'help help', '--quiet --help', '--help --unknown'])(
		'help for the program is printed by `fake %s` on standard output with exit code 0',
		async (args) => {
			const { code, stdout, stderr } = await run(args)
			expect(code).toBe(0)
			expect(stderr).toBe('')
			expect(stdout).toContain('Usage: fake COMMAND [options]\nA program for tests.\n')
		},
	)

	test('starts with examples', async () => {
		const { stdout } = await run('--help')
		expect(stdout.startsWith('Examples:\n  # start here\n  fake work it\n')).toBe(true)
	})

	test('lists all commands, options and exit codes', async () => {
		const { stdout } = await run('--help')
		expect(stdout).toMatch(/^ {2}work {7}run the function of a test$/m)
		expect(stdout).toMatch(/^ {2}box list {3}run box list$/m)
		expect(stdout).toMatch(/^ {2}-v, --version {4}show the version$/m)
		for (const [code, meaning] of Object.values(EXIT_CODES))
			expect(stdout).toMatch(new RegExp(`^ {2}${code} +${meaning}$`, 'm'))
	})

	test('does not load a command', async () => {
		expect((await run('--help')).loaded).toEqual([])
		expect((await run('help')).loaded).toEqual([])
		expect((await run('box')).loaded).toEqual([])
		expect((await run('--version')).loaded).toEqual([])
		expect((await run('wrk')).loaded).toEqual([])
	})
})

describe('help for a group', () => {
	test.each(['box', 'box --help', 'help box', 'box help', '--json box'])(
		'help for a group is printed by `fake %s`',
		async (args) => {
			const { code, stdout } = await run(args)
			expect(code).toBe(0)
			expect(stdout).toContain('Usage: fake box COMMAND [options]')
			expect(stdout).toContain('box show')
			expect(stdout).not.toContain('run the function of a test')
			expect(stdout.startsWith('Examples:\n  # a command of a group\n  fake box show\n\n')).toBe(true)
		},
	)
})

describe('help for a command', () => {
	test.each([
		'work --help',
		'work -h',
		'help work',
		'--help work',
		'work it --help',
		'work --help --sead 7',
		'work -qh a b c',
	])('help for a command is printed by `fake %s`, even if other arguments are invalid', async (args) => {
		const { code, stdout, stderr, loaded } = await run(args, () => {
			throw new Error('ran')
		})
		expect({ code, stderr, loaded }).toEqual({ code: 0, stderr: '', loaded: ['work'] })
		expect(stdout.startsWith('Examples:\n  # work on it\n  fake work it\n\nUsage: fake work [WHAT]')).toBe(
			true,
		)
	})

	test('shows the expected values and the default of each option', () => {
		const placeholder = 'N'
		const command = defineCommand({
			examples: [],
			options: {
				maxEvents: { type: 'integer', short: 'm', placeholder, description: 'an end', default: 9, min: 1 },
				load: { type: 'number', placeholder, description: 'a load', min: 0, max: 1, default: 0 },
				format: { type: 'string', placeholder: 'KIND', description: 'a kind', choices: ['svg', 'html'] },
				check: { type: 'string', placeholder: 'CHECK', description: 'a check', multiple: true },
				wide: { type: 'boolean', description: 'a flag' },
			},
			positionals: {
				one: { placeholder: 'ONE', description: 'the first' },
				more: { placeholder: 'MORE', description: 'the others', optional: true, multiple: true },
			},
			run: async () => 'ok',
		})
		const help = commandHelp('fake', { name: 'all', summary: 'has one of each' }, command, {
			columns: 100,
			style: PLAIN,
		})
		expect(help.split('\n').slice(0, 14)).toEqual([
			'Usage: fake all ONE [MORE...] [options]',
			'has one of each',
			'',
			'Arguments:',
			'  ONE    the first',
			'  MORE   the others',
			'',
			'Options:',
			'  -m, --max-events N   an end; an integer >= 1; default 9',
			'      --load N         a load; a number from 0 to 1; default 0',
			'      --format KIND    a kind; one of svg, html',
			'      --check CHECK    a check; repeatable',
			'      --wide           a flag',
			'',
		])
		expect(help).toContain('Global options:\n  -h, --help       show this help\n')
	})
})

test('help is colored on a terminal and fits into its width', async () => {
	const narrow = await run('--help', undefined, { isTTY: true, columns: 50 })
	expect(narrow.stdout).toContain('\x1b[1mExamples:\x1b[22m')
	const lines = stripVTControlCharacters(narrow.stdout).split('\n')
	expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(50)
	const plain = await run('--help --no-color', undefined, { isTTY: true })
	expect(plain.stdout).not.toContain('\x1b')
})
