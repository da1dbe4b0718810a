import { describe, expect, test } from 'vitest'
import type { ExitKind } from '../../src/cli/exit-codes.ts'
import type { CommandIo } from '../../src/cli/io.ts'
import { run } from './fake-program.ts'

const data = { scenario: 'herd', seeds: [1, 2] }

const talkative = (io: CommandIo): ExitKind => {
	io.note('by the way')
	io.warn('careful')
	const progress = io.progress('seeds', 2)
	progress.at(1)
	io.answer(data, 'herd: fine')
	progress.end()
	return 'ok'
}

describe('data goes to standard output and talk to standard error', () => {
	test('as text', async () => {
		const { stdout, stderr } = await run('work', talkative)
		expect(stdout).toBe('herd: fine\n')
		expect(stderr).toBe('by the way\nwarning: careful\nseeds: 50 %\n')
	})

	test.each(['work --json', '--json work'])('as one JSON document: %s', async (words) => {
		const { stdout, stderr } = await run(words, talkative)
		expect(stdout).toBe('{"scenario":"herd","seeds":[1,2]}\n')
		expect(stderr).toBe('by the way\nwarning: careful\nseeds: 50 %\n')
	})

	test('the document is in lines for a person who looks at it', async () => {
		const { stdout } = await run('work --json', talkative, { isTTY: true })
		expect(stdout).toBe(`${JSON.stringify(data, undefined, 2)}\n`)
	})

	test.each(['-q', '--quiet'])('%s leaves notes and progress out, and keeps warnings', async (flag) => {
		const { stdout, stderr } = await run(`work ${flag}`, talkative)
		expect(stdout).toBe('herd: fine\n')
		expect(stderr).toBe('warning: careful\n')
	})

	test('with --json an error is still text on standard error, and standard output is empty', async () => {
		const { code, stdout, stderr } = await run('work --json', () => {
			throw new Error('no')
		})
		expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
		expect(stderr).toContain('fake work: no\n')
	})

	test('so is a mistake in what was typed', async () => {
		const { code, stdout, stderr } = await run('work --json --sead 7')
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain('did you mean --seed?')
	})

	test('a check that failed has answered all the same', async () => {
		const { code, stdout } = await run('work --json', (io) => {
			io.answer({ held: false }, 'it did not hold')
			return 'checkFailed'
		})
		expect({ code, stdout }).toEqual({ code: 4, stdout: '{"held":false}\n' })
	})
})

describe('an answer', () => {
	test.each([
		['line', 'line\n'],
		['line\n', 'line\n'],
		['', ''],
		['two\nlines', 'two\nlines\n'],
	])('%j ends with its line', async (text, printed) => {
		const { stdout } = await run('work', (io) => {
			io.answer(undefined, text)
			return 'ok'
		})
		expect(stdout).toBe(printed)
	})

	test('is given once, or the output would be two documents', async () => {
		const { code, stdout, stderr } = await run('work --json', (io) => {
			io.answer(1, '')
			io.answer(2, '')
			return 'ok'
		})
		expect({ code, stdout }).toEqual({ code: 1, stdout: '1\n' })
		expect(stderr).toContain('answers once')
	})

	test('that was not given, or is undefined, is null as a document and nothing as text', async () => {
		expect((await run('work --json', () => 'ok')).stdout).toBe('null\n')
		expect((await run('work', () => 'ok')).stdout).toBe('')
		const { stdout } = await run('work --json', (io) => {
			io.answer(undefined, '')
			return 'ok'
		})
		expect(stdout).toBe('null\n')
	})

	test('makes its text only when it is wanted', async () => {
		const { stdout } = await run('work --json', (io) => {
			io.answer(1, () => {
				throw new Error('made in vain')
			})
			return 'ok'
		})
		expect(stdout).toBe('1\n')
		const text = await run('work', (io) => {
			io.answer(1, () => 'made')
			return 'ok'
		})
		expect(text.stdout).toBe('made\n')
	})

	test('takes the place of the progress bar', async () => {
		const { stderr } = await run('work', talkative, { isTTY: true })
		expect(stderr.endsWith('50 %\r\x1b[K')).toBe(true)
	})
})

describe('a command sees', () => {
	test('where its answer goes, in which colours, at what time, in which surroundings', async () => {
		let seen: Partial<CommandIo> = {}
		const env = { DATABASE_URL: 'x', FORCE_COLOR: '1' }
		const { terminal } = await run(
			'work --json',
			(io) => {
				seen = { isTTY: io.isTTY, columns: io.columns, json: io.json, env: io.env, runtime: io.runtime }
				expect(io.paint.bold('b')).toBe('\x1b[1mb\x1b[22m')
				return 'ok'
			},
			{ columns: 33, env },
		)
		expect(seen).toEqual({ isTTY: false, columns: 33, json: true, env, runtime: terminal.runtime })
	})

	test('no colours where there are none', async () => {
		const plain = (io: CommandIo): ExitKind => {
			io.answer(0, io.paint.red('r'))
			return 'ok'
		}
		expect((await run('work', plain)).stdout).toBe('r\n')
		expect((await run('work --no-color', plain, { isTTY: true })).stdout).toBe('r\n')
		expect((await run('work', plain, { isTTY: true, env: { NO_COLOR: '1' } })).stdout).toBe('r\n')
		expect((await run('work', plain, { isTTY: true })).stdout).toBe('\x1b[31mr\x1b[39m\n')
	})
})

test('a progress bar that a command forgot is gone at the end', async () => {
	const { stderr } = await run(
		'work',
		(io) => {
			io.progress('seeds', 2).at(1)
			return 'ok'
		},
		{ isTTY: true },
	)
	expect(stderr.endsWith('\r\x1b[K')).toBe(true)
})
