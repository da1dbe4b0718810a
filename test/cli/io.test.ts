import { describe, expect, test } from 'vitest'
import type { ExitKind } from '../../src/cli/errors.ts'
import type { CommandIo } from '../../src/cli/io.ts'
import { run } from './fake-program.ts'

const data = { scenario: 'herd', seeds: [1, 2] }

const printsEverything = (io: CommandIo): ExitKind => {
	io.note('a note')
	io.warn('a warning')
	const progress = io.progress('seeds', 2)
	progress.update(1)
	io.result(data, 'herd: fine')
	progress.end()
	return 'ok'
}

describe('results go to standard output, notes and errors to standard error', () => {
	test('results are printed as text', async () => {
		const { stdout, stderr } = await run('work', printsEverything)
		expect(stdout).toBe('herd: fine\n')
		expect(stderr).toBe('a note\nwarning: a warning\nseeds: 50 %\n')
	})

	test.each(['work --json', '--json work'])('results are printed as one JSON document: %s', async (args) => {
		const { stdout, stderr } = await run(args, printsEverything)
		expect(stdout).toBe('{"scenario":"herd","seeds":[1,2]}\n')
		expect(stderr).toBe('a note\nwarning: a warning\nseeds: 50 %\n')
	})

	test('the document is indented on a terminal', async () => {
		const { stdout } = await run('work --json', printsEverything, { isTTY: true })
		expect(stdout).toBe(`${JSON.stringify(data, undefined, 2)}\n`)
	})

	test.each(['-q', '--quiet'])('%s suppresses notes and progress, but not warnings', async (flag) => {
		const { stdout, stderr } = await run(`work ${flag}`, printsEverything)
		expect(stdout).toBe('herd: fine\n')
		expect(stderr).toBe('warning: a warning\n')
	})

	test('with --json an error is a text on standard error, and standard output is empty', async () => {
		const { code, stdout, stderr } = await run('work --json', () => {
			throw new Error('no')
		})
		expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
		expect(stderr).toContain('fake work: no\n')
	})

	test('with --json invalid arguments are a text on standard error', async () => {
		const { code, stdout, stderr } = await run('work --json --sead 7')
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain('Did you mean --seed?')
	})

	test('a failed check still prints its result', async () => {
		const { code, stdout } = await run('work --json', (io) => {
			io.result({ held: false }, 'it failed')
			return 'checkFailed'
		})
		expect({ code, stdout }).toEqual({ code: 4, stdout: '{"held":false}\n' })
	})
})

describe('a result', () => {
	test.each([
		['line', 'line\n'],
		['line\n', 'line\n'],
		['', ''],
		['two\nlines', 'two\nlines\n'],
	])('%j ends with a line break', async (text, printed) => {
		const { stdout } = await run('work', (io) => {
			io.result(undefined, text)
			return 'ok'
		})
		expect(stdout).toBe(printed)
	})

	test('must not be given twice: the output would be two documents', async () => {
		const { code, stdout, stderr } = await run('work --json', (io) => {
			io.result(1, '')
			io.result(2, '')
			return 'ok'
		})
		expect({ code, stdout }).toEqual({ code: 1, stdout: '1\n' })
		expect(stderr).toContain('must call io.result once')
	})

	test('a result that is missing or undefined is null as a document and empty as text', async () => {
		expect((await run('work --json', () => 'ok')).stdout).toBe('null\n')
		expect((await run('work', () => 'ok')).stdout).toBe('')
		const { stdout } = await run('work --json', (io) => {
			io.result(undefined, '')
			return 'ok'
		})
		expect(stdout).toBe('null\n')
	})

	test('renders its text only if it is printed', async () => {
		const { stdout } = await run('work --json', (io) => {
			io.result(1, () => {
				throw new Error('rendered unnecessarily')
			})
			return 'ok'
		})
		expect(stdout).toBe('1\n')
		const text = await run('work', (io) => {
			io.result(1, () => 'rendered')
			return 'ok'
		})
		expect(text.stdout).toBe('rendered\n')
	})

	test('erases the progress bar', async () => {
		const { stderr } = await run('work', printsEverything, { isTTY: true })
		expect(stderr.endsWith('50 %\r\x1b[K')).toBe(true)
	})
})

describe('a command', () => {
	test('receives the output, the style, the runtime and the environment', async () => {
		let seen: Partial<CommandIo> = {}
		const env = { DATABASE_URL: 'x', FORCE_COLOR: '1' }
		const { terminal } = await run(
			'work --json',
			(io) => {
				seen = { isTTY: io.isTTY, columns: io.columns, json: io.json, env: io.env, runtime: io.runtime }
				expect(io.style.bold('b')).toBe('\x1b[1mb\x1b[22m')
				return 'ok'
			},
			{ columns: 33, env },
		)
		expect(seen).toEqual({ isTTY: false, columns: 33, json: true, env, runtime: terminal.runtime })
	})

	test('receives a plain style if the output is not colored', async () => {
		const plain = (io: CommandIo): ExitKind => {
			io.result(0, io.style.red('r'))
			return 'ok'
		}
		expect((await run('work', plain)).stdout).toBe('r\n')
		expect((await run('work --no-color', plain, { isTTY: true })).stdout).toBe('r\n')
		expect((await run('work', plain, { isTTY: true, env: { NO_COLOR: '1' } })).stdout).toBe('r\n')
		expect((await run('work', plain, { isTTY: true })).stdout).toBe('\x1b[31mr\x1b[39m\n')
	})
})

test('a progress bar that a command does not end is erased', async () => {
	const { stderr } = await run(
		'work',
		(io) => {
			io.progress('seeds', 2).update(1)
			return 'ok'
		},
		{ isTTY: true },
	)
	expect(stderr.endsWith('\r\x1b[K')).toBe(true)
})
