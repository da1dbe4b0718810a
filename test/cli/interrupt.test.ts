import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { CliError } from '../../src/cli/errors.ts'
import type { CommandIo } from '../../src/cli/io.ts'
import { runCli } from '../../src/cli/run.ts'
import { fakeProgram } from './fake-program.ts'
import { FakeTerminal } from './fake-terminal.ts'

/** Starts `fake work`, lets it come to its first wait, and does something to it there. */
async function meanwhile(
	work: (io: CommandIo) => Promise<'ok'>,
	happens: (terminal: FakeTerminal) => void,
	words: readonly string[] = ['work'],
) {
	const terminal = new FakeTerminal()
	let ended: Promise<number> | undefined
	await new Promise<void>((resolve) => {
		const program = fakeProgram((io) => {
			resolve()
			return work(io)
		})
		ended = runCli(words, terminal, program)
	})
	expect(terminal.listeners.size).toBe(1)
	happens(terminal)
	const code = await ended
	expect(terminal.listeners.size).toBe(0)
	return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text }
}

const aborted = ({ signal }: CommandIo): Promise<void> =>
	new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

const interrupt = (terminal: FakeTerminal) => terminal.interrupt()
const close = (terminal: FakeTerminal) => terminal.close()

const tellsWhatIsKnown = async (io: CommandIo) => {
	await aborted(io)
	io.answer({ seeds: 3 }, '3 seeds so far')
	return 'ok' as const
}
const throwsTheReason = async (io: CommandIo) => {
	await aborted(io)
	throw io.signal.reason
}
const waitsWithNode = async ({ signal }: CommandIo) => {
	await wait(2 ** 30, undefined, { signal })
	return 'ok' as const
}

describe('Ctrl-C', () => {
	test('lets a command tell what is known so far, and is exit code 130', async () => {
		expect(await meanwhile(tellsWhatIsKnown, interrupt)).toEqual({
			code: 130,
			stdout: '3 seeds so far\n',
			stderr: 'interrupted; Ctrl-C again ends at once\n',
		})
	})

	test('leaves one document with --json, and says nothing with --quiet', async () => {
		expect(await meanwhile(tellsWhatIsKnown, interrupt, ['work', '--json', '-q'])).toEqual({
			code: 130,
			stdout: '{"seeds":3}\n',
			stderr: '',
		})
	})

	test.each([
		['that throws the reason', throwsTheReason],
		['whose wait was ended by Node', waitsWithNode],
	])('is no error of a command %s', async (_, work) => {
		expect(await meanwhile(work, interrupt, ['work', '-q'])).toEqual({ code: 130, stdout: '', stderr: '' })
	})

	test('does not hide what goes wrong on the way out', async () => {
		const work = async (io: CommandIo) => {
			await aborted(io)
			throw new CliError('failure', 'could not save')
		}
		const { code, stderr } = await meanwhile(work, interrupt)
		expect(code).toBe(130)
		expect(stderr).toContain('fake work: could not save\n')
	})

	test('is heard only while a command runs, also after one that failed', async () => {
		const terminal = new FakeTerminal()
		const program = fakeProgram(() => {
			throw new Error('no')
		})
		await runCli(['work'], terminal, program)
		expect(terminal.listeners.size).toBe(0)
	})
})

describe('an output that nobody reads any more', () => {
	test.each([
		['tells what is known', tellsWhatIsKnown],
		['throws the reason', throwsTheReason],
		['waits in Node', waitsWithNode],
	])('ends a command that %s, quietly and well', async (_, work) => {
		const { code, stderr } = await meanwhile(work, close)
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
	})
})
