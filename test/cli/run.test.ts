import { describe, expect, test } from 'vitest'
import { InvalidOptionError, retry } from 'yaoki'
import { CliError } from '../../src/cli/errors.ts'
import { EXIT_CODES, type ExitKind } from '../../src/cli/exit-codes.ts'
import { runCli } from '../../src/cli/run.ts'
import { fakeProgram, run } from './fake-program.ts'
import { FakeTerminal } from './fake-terminal.ts'

const throws = (error: unknown) => () => {
	throw error
}

describe('the exit code', () => {
	test('tells how it ended, by one table', () => {
		const codes = Object.entries(EXIT_CODES).map(([kind, [code]]) => [kind, code])
		expect(Object.fromEntries(codes)).toEqual({
			ok: 0,
			failure: 1,
			usage: 2,
			notFound: 3,
			checkFailed: 4,
			unreachable: 5,
			interrupted: 130,
		})
	})

	const kinds = Object.keys(EXIT_CODES) as ExitKind[]
	test.each(kinds)('is that of %s when a command says or throws so', async (kind) => {
		const [code] = EXIT_CODES[kind]
		expect((await run('work', () => kind)).code).toBe(code)
		expect((await run('work', throws(new CliError(kind, 'because')))).code).toBe(code)
		expect((await run('work', () => Promise.reject(new CliError(kind, 'because')))).code).toBe(code)
	})

	test('is 1 when the answer could not be written, and says why', async () => {
		const lost = new Error('no space left on device')
		const { code, stderr } = await run('work', () => 'ok', { lost })
		expect(code).toBe(1)
		expect(stderr).toContain('fake work: the output could not be written: no space left on device\n')
	})
})

describe('what was typed wrongly is exit code 2, a word about it, and a hint', () => {
	test.each([
		['wrk', "fake: unknown command 'wrk'; did you mean 'work'?", 'fake'],
		['help wrk', "fake: unknown command 'wrk'; did you mean 'work'?", 'fake'],
		['wrk --help', "fake: unknown command 'wrk'; did you mean 'work'?", 'fake'],
		['nonsense', "fake: unknown command 'nonsense'", 'fake'],
		['bix show', "fake: unknown command 'bix'; did you mean 'box'?", 'fake'],
		['box shwo', "fake: unknown command 'box shwo'; did you mean 'box show'?", 'fake'],
		['--jsn', 'fake: unknown option --jsn; did you mean --json?', 'fake'],
		['--seed 7 work', 'fake: unknown option --seed', 'fake'],
		['--jsn work', 'fake: unknown option --jsn; did you mean --json?', 'fake'],
		['- work', "fake: '-' is one argument too many", 'fake'],
		['work --sead 7', 'fake work: unknown option --sead; did you mean --seed?', 'fake work'],
		['work --seed seven', "fake work: --seed: got 'seven'; takes a whole number", 'fake work'],
		['work a b', "fake work: 'b' is one argument too many", 'fake work'],
		['work --version', 'fake work: unknown option --version', 'fake work'],
		['box show --all', 'fake box show: unknown option --all', 'fake box show'],
	])('%s', async (words, message, where) => {
		const { code, stdout, stderr } = await run(words, throws(new Error('ran')))
		expect(stderr).toBe(`${message}\nRun '${where} --help' to see what it takes.\n`)
		expect(stdout).toBe('')
		expect(code).toBe(2)
	})

	test('so is a setting that a policy refuses, also that of another copy of the package', async () => {
		const { code, stderr } = await run('work', () => {
			retry({ baseDelayMs: -1 })
			return 'ok'
		})
		expect(code).toBe(2)
		expect(stderr).toContain('fake work: baseDelayMs: got -1; takes a finite number, 0 or more\nRun ')
		const foreign = Object.assign(new Error('x: got 1; takes 2'), { code: 'YAOKI_INVALID_OPTION' })
		expect(foreign).not.toBeInstanceOf(InvalidOptionError)
		expect((await run('work', throws(foreign))).code).toBe(2)
	})
})

describe('an error', () => {
	test('that a command foresaw is its sentence and its hint', async () => {
		const error = new CliError('notFound', "there is no scenario 'herb'", { hint: 'Try herd.' })
		const { stderr } = await run('work', throws(error))
		expect(stderr).toBe("fake work: there is no scenario 'herb'\nTry herd.\n")
		expect(error).toMatchObject({ kind: 'notFound', exitCode: 3, code: 'YAOKI_CLI', name: 'CliError' })
	})

	test('that nobody foresaw is exit code 1 and its message, without the stack', async () => {
		const { code, stderr } = await run('work', throws(new TypeError('x is not a function')))
		expect(code).toBe(1)
		expect(stderr).toBe('fake work: x is not a function\nAdd --debug to see where it happened.\n')
	})

	test.each<[string, Record<string, string>]>([
		['work --debug', {}],
		['--debug work', {}],
		['work', { DEBUG: 'yaoki' }],
		['work', { DEBUG: 'http,yaoki' }],
		['work', { DEBUG: '*' }],
	])('shows its stack and its cause with %s %j', async (words, env) => {
		const error = new Error('outer', { cause: new Error('inner') })
		const { stderr } = await run(words, throws(error), { env })
		expect(stderr).toContain('fake work: outer\nError: outer\n    at ')
		expect(stderr).toContain('[cause]: Error: inner')
		expect(stderr).not.toContain('Add --debug')
	})

	test("is not debugged by another program's DEBUG", async () => {
		const { stderr } = await run('work', throws(new Error('no')), { env: { DEBUG: 'http,yaokix' } })
		expect(stderr).not.toContain('    at ')
	})

	test.each([
		[undefined, 'a command threw undefined'],
		['text', "a command threw 'text'"],
		[Object.create(null), 'a command threw [Object: null prototype] {}'],
		[new RangeError(''), 'RangeError'],
	])('may be anything: %s', async (thrown, message) => {
		const { code, stderr } = await run('work', throws(thrown))
		expect(code).toBe(1)
		expect(stderr).toContain(`fake work: ${message}\n`)
	})

	test('of a command that can not be loaded is told as any other', async () => {
		const terminal = new FakeTerminal()
		const load = () => Promise.reject(new Error("Cannot find package 'pg'"))
		const program = { ...fakeProgram(), commands: [{ name: 'work', summary: '', load }] }
		expect(await runCli(['work'], terminal, program)).toBe(1)
		expect(terminal.stderr.text).toContain("fake work: Cannot find package 'pg'\n")
	})

	test('is red on a terminal, and the progress bar makes room for it', async () => {
		const { stderr } = await run(
			'work',
			(io) => {
				io.progress('seeds', 2).at(1)
				throw new CliError('failure', 'no')
			},
			{ isTTY: true },
		)
		expect(stderr.endsWith('\r\x1b[K\x1b[31mfake work:\x1b[39m no\n')).toBe(true)
	})
})

describe('the version', () => {
	test.each(['--version', '-v', '--version work', '--quiet -v'])(
		'is what `fake %s` prints',
		async (words) => {
			const { code, stdout, stderr } = await run(words, throws(new Error('ran')))
			expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' })
		},
	)

	test('is a document with --json', async () => {
		expect(JSON.parse((await run('--version --json')).stdout)).toEqual({ version: '1.2.3' })
	})
})

test('a command of a group is found, wherever the flags stand', async () => {
	for (const words of ['box show', '--quiet box show', 'box --quiet show', 'box show --quiet'])
		expect((await run(words)).stdout).toBe('ran box show\n')
})
