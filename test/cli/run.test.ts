import { describe, expect, test } from 'vitest'
import { InvalidOptionError, retry, timeout } from 'yaoki'
import { CliError, EXIT_CODES, type ExitKind } from '../../src/cli/errors.ts'
import { runCli } from '../../src/cli/run.ts'
import { fakeProgram, run } from './fake-program.ts'
import { FakeTerminal } from './fake-terminal.ts'

const throws = (error: unknown) => () => {
	throw error
}

describe('the exit code', () => {
	test('the exit code is stable for each kind of end', () => {
		const codes = Object.entries(EXIT_CODES).map(([kind, [code]]) => [kind, code])
		expect(Object.fromEntries(codes)).toEqual({
			ok: 0,
			failure: 1,
			usage: 2,
			notFound: 3,
			checkFailed: 4,
			unreachable: 5,
			forbidden: 6,
			interrupted: 130,
		})
	})

	const kinds = Object.keys(EXIT_CODES) as ExitKind[]
	test.each(kinds)('the exit code is that of %s if a command returns or throws it', async (kind) => {
		const [code] = EXIT_CODES[kind]
		expect((await run('work', () => kind)).code).toBe(code)
		expect((await run('work', throws(new CliError(kind, 'because')))).code).toBe(code)
		expect((await run('work', () => Promise.reject(new CliError(kind, 'because')))).code).toBe(code)
	})

	test('the exit code is 1 with a message if the output cannot be written', async () => {
		const writeError = new Error('no space left on device')
		const { code, stderr } = await run('work', () => 'ok', { writeError })
		expect(code).toBe(1)
		expect(stderr).toContain('fake work: Cannot write the output: no space left on device\n')
	})
})

describe('invalid arguments exit with 2, a message and a hint', () => {
	test.each([
		['wrk', 'fake: Unknown command "wrk". Did you mean "work"?', 'fake'],
		['help wrk', 'fake: Unknown command "wrk". Did you mean "work"?', 'fake'],
		['wrk --help', 'fake: Unknown command "wrk". Did you mean "work"?', 'fake'],
		['nonsense', 'fake: Unknown command "nonsense".', 'fake'],
		['bix show', 'fake: Unknown command "bix". Did you mean "box"?', 'fake'],
		['box shwo', 'fake: Unknown command "box shwo". Did you mean "box show"?', 'fake'],
		['--jsn', 'fake: Unknown option --jsn. Did you mean --json?', 'fake'],
		['--seed 7 work', 'fake: Unknown option --seed.', 'fake'],
		['--jsn work', 'fake: Unknown option --jsn. Did you mean --json?', 'fake'],
		['- work', 'fake: Unexpected argument "-".', 'fake'],
		['work --sead 7', 'fake work: Unknown option --sead. Did you mean --seed?', 'fake work'],
		[
			'work --seed seven',
			`fake work: ${new InvalidOptionError('--seed', 'seven', 'an integer').message}`,
			'fake work',
		],
		['work a b', 'fake work: Unexpected argument "b".', 'fake work'],
		['work --version', 'fake work: Unknown option --version.', 'fake work'],
		['box show --all', 'fake box show: Unknown option --all.', 'fake box show'],
	])('%s', async (args, message, command) => {
		const { code, stdout, stderr } = await run(args, throws(new Error('ran')))
		expect(stderr).toBe(`${message}\nRun '${command} --help' for usage.\n`)
		expect(stdout).toBe('')
		expect(code).toBe(2)
	})

	test('an invalid argument of a function of the package exits with 2', async () => {
		const { code, stderr } = await run('work', () => {
			timeout(-1)
			return 'ok'
		})
		expect(code).toBe(2)
		expect(stderr).toMatch(/^fake work: Invalid argument "ms": .*, got -1\nRun /)
	})

	test('an invalid option of a policy exits with 2, also from another copy of the package', async () => {
		const { code, stderr } = await run('work', () => {
			retry({ baseDelayMs: -1 })
			return 'ok'
		})
		expect(code).toBe(2)
		expect(stderr).toMatch(/^fake work: .*baseDelayMs.*\nRun /)
		const foreign = Object.assign(new Error('invalid'), { code: 'YAOKI_INVALID_OPTION' })
		expect(foreign).not.toBeInstanceOf(InvalidOptionError)
		expect((await run('work', throws(foreign))).code).toBe(2)
	})
})

describe('an error', () => {
	test('an error that a command expects is printed with its hint', async () => {
		const error = new CliError('notFound', 'Unknown scenario "herb".', { hint: 'Try herd.' })
		const { stderr } = await run('work', throws(error))
		expect(stderr).toBe('fake work: Unknown scenario "herb".\nTry herd.\n')
		expect(error).toMatchObject({ kind: 'notFound', exitCode: 3, code: 'YAOKI_CLI', name: 'CliError' })
	})

	test('an error that is unexpected exits with 1 and its message, without the stack', async () => {
		const { code, stderr } = await run('work', throws(new TypeError('x is not a function')))
		expect(code).toBe(1)
		expect(stderr).toBe('fake work: x is not a function\nAdd --debug to see the stack trace.\n')
	})

	test.each<[string, Record<string, string>]>([
		['work --debug', {}],
		['--debug work', {}],
		['work', { DEBUG: 'yaoki' }],
		['work', { DEBUG: 'http,yaoki' }],
		['work', { DEBUG: '*' }],
	])('an error is printed with its stack and its cause by %s %j', async (args, env) => {
		const error = new Error('outer', { cause: new Error('inner') })
		const { stderr } = await run(args, throws(error), { env })
		expect(stderr).toContain('fake work: outer\nError: outer\n    at ')
		expect(stderr).toContain('[cause]: Error: inner')
		expect(stderr).not.toContain('Add --debug')
	})

	test("an error is printed without its stack for another program's DEBUG", async () => {
		const { stderr } = await run('work', throws(new Error('no')), { env: { DEBUG: 'http,yaokix' } })
		expect(stderr).not.toContain('    at ')
	})

	test.each([
		[undefined, 'a command threw undefined'],
		['text', "a command threw 'text'"],
		[Object.create(null), 'a command threw [Object: null prototype] {}'],
		[new RangeError(''), 'RangeError'],
	])('can be any value: %s', async (thrown, message) => {
		const { code, stderr } = await run('work', throws(thrown))
		expect(code).toBe(1)
		expect(stderr).toContain(`fake work: ${message}\n`)
	})

	test('an error is printed if a command cannot be loaded', async () => {
		const terminal = new FakeTerminal()
		const load = () => Promise.reject(new Error("Cannot find package 'pg'"))
		const program = { ...fakeProgram(), commands: [{ name: 'work', summary: '', load }] }
		expect(await runCli(['work'], terminal, program)).toBe(1)
		expect(terminal.stderr.text).toContain("fake work: Cannot find package 'pg'\n")
	})

	test('an error is red on a terminal and erases the progress bar', async () => {
		const { stderr } = await run(
			'work',
			(io) => {
				io.progress('seeds', 2).update(1)
				throw new CliError('failure', 'no')
			},
			{ isTTY: true },
		)
		expect(stderr.endsWith('\r\x1b[K\x1b[31mfake work:\x1b[39m no\n')).toBe(true)
	})
})

describe('the version', () => {
	test.each(['--version', '-v', '--version work', '--quiet -v'])(
		'the version is printed by `fake %s`',
		async (args) => {
			const { code, stdout, stderr } = await run(args, throws(new Error('ran')))
			expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' })
		},
	)

	test('the version is a document with --json', async () => {
		expect(JSON.parse((await run('--version --json')).stdout)).toEqual({ version: '1.2.3' })
	})
})

test('global flags can stand before, inside and after the name of a command', async () => {
	for (const args of ['box show', '--quiet box show', 'box --quiet show', 'box show --quiet'])
		expect((await run(args)).stdout).toBe('ran box show\n')
})
