import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { defineCommand } from '../../src/cli/command.ts'
import { EXIT_CODES } from '../../src/cli/exit-codes.ts'
import { commandHelp } from '../../src/cli/help.ts'
import { palette } from '../../src/cli/palette.ts'
import { run } from './fake-program.ts'

describe('help for the program', () => {
	test.each(['', 'help', '--help', '-h', 'help help', '--quiet --help', '--help --unknown'])(
		'is what `fake %s` prints, on standard output and with exit code 0',
		async (words) => {
			const { code, stdout, stderr } = await run(words)
			expect(code).toBe(0)
			expect(stderr).toBe('')
			expect(stdout).toContain('Usage: fake COMMAND [options]\nA program for tests.\n')
		},
	)

	test('starts with examples', async () => {
		const { stdout } = await run('--help')
		expect(stdout.startsWith('Examples:\n  # to begin with\n  fake work it\n')).toBe(true)
	})

	test('lists every command with its line, every option and every exit code', async () => {
		const { stdout } = await run('--help')
		expect(stdout).toMatch(/^ {2}work {7}does as it is told$/m)
		expect(stdout).toMatch(/^ {2}box list {3}does box list$/m)
		expect(stdout).toMatch(/^ {2}-v, --version {4}shows the version$/m)
		for (const [code, means] of Object.values(EXIT_CODES))
			expect(stdout).toMatch(new RegExp(`^ {2}${code} +${means}$`, 'm'))
	})

	test('loads no command', async () => {
		expect((await run('--help')).loaded).toEqual([])
		expect((await run('help')).loaded).toEqual([])
		expect((await run('box')).loaded).toEqual([])
		expect((await run('--version')).loaded).toEqual([])
		expect((await run('wrk')).loaded).toEqual([])
	})
})

describe('help for a group', () => {
	test.each(['box', 'box --help', 'help box', 'box help', '--json box'])(
		'is what `fake %s` prints',
		async (words) => {
			const { code, stdout } = await run(words)
			expect(code).toBe(0)
			expect(stdout).toContain('Usage: fake box COMMAND [options]')
			expect(stdout).toContain('box show')
			expect(stdout).not.toContain('does as it is told')
			expect(stdout.startsWith('Examples:\n  # of a group\n  fake box show\n\n')).toBe(true)
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
	])('is what `fake %s` prints, whatever else is wrong', async (words) => {
		const { code, stdout, stderr, loaded } = await run(words, () => {
			throw new Error('ran')
		})
		expect({ code, stderr, loaded }).toEqual({ code: 0, stderr: '', loaded: ['work'] })
		expect(
			stdout.startsWith('Examples:\n  # how it is done\n  fake work it\n\nUsage: fake work [WHAT]'),
		).toBe(true)
	})

	test('tells of every option what it takes and what it is by default', () => {
		const value = 'N'
		const command = defineCommand({
			name: 'all',
			summary: 'has one of each',
			examples: [],
			options: {
				maxEvents: { type: 'integer', short: 'm', value, does: 'an end', default: 9, least: 1 },
				load: { type: 'number', value, does: 'a load', least: 0, most: 1, default: 0 },
				format: { type: 'string', value: 'KIND', does: 'a kind', choices: ['svg', 'html'] },
				check: { type: 'string', value: 'CHECK', does: 'a check', multiple: true },
				wide: { type: 'boolean', does: 'a flag' },
			},
			positionals: {
				one: { value: 'ONE', does: 'the first' },
				more: { value: 'MORE', does: 'the others', optional: true, multiple: true },
			},
			run: async () => 'ok',
		})
		const help = commandHelp('fake', command, { columns: 100, paint: palette(false) })
		expect(help.split('\n').slice(0, 14)).toEqual([
			'Usage: fake all ONE [MORE...] [options]',
			'has one of each',
			'',
			'Arguments:',
			'  ONE    the first',
			'  MORE   the others',
			'',
			'Options:',
			'  -m, --max-events N   an end; a whole number, 1 or more; default 9',
			'      --load N         a load; a number from 0 to 1; default 0',
			'      --format KIND    a kind; one of svg, html',
			'      --check CHECK    a check; may be given more than once',
			'      --wide           a flag',
			'',
		])
		expect(help).toContain('Options of every command:\n  -h, --help       shows this\n')
	})
})

test('help has colours on a terminal and fits into it', async () => {
	const narrow = await run('--help', undefined, { isTTY: true, columns: 50 })
	expect(narrow.stdout).toContain('\x1b[1mExamples:\x1b[22m')
	const lines = stripVTControlCharacters(narrow.stdout).split('\n')
	expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(50)
	const plain = await run('--help --no-color', undefined, { isTTY: true })
	expect(plain.stdout).not.toContain('\x1b')
})
