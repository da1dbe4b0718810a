import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { CliError } from '../../src/cli/errors.ts'
import type { CommandIo } from '../../src/cli/io.ts'
import { runCli } from '../../src/cli/run.ts'
import { fakeProgram } from './fake-program.ts'
import { FakeTerminal } from './fake-terminal.ts'

/** Starts `fake work`, and calls `act` when the command has started. */
async function runUntil(
	work: (io: CommandIo) => Promise<'ok'>,
	act: (terminal: FakeTerminal) => void,
	args: readonly string[] = ['work'],
) {
	const terminal = new FakeTerminal()
	let ended: Promise<number> | undefined
	await new Promise<void>((resolve) => {
		const program = fakeProgram((io) => {
			resolve()
			return work(io)
		})
		ended = runCli(args, terminal, program)
	})
	expect(terminal.listeners.size).toBe(1)
	act(terminal)
	const code = await ended
	expect(terminal.listeners.size).toBe(0)
	return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text }
}

const aborted = ({ signal }: CommandIo): Promise<void> =>
	new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

const interrupt = (terminal: FakeTerminal) => terminal.interrupt()
const close = (terminal: FakeTerminal) => terminal.close()

const printsResult = async (io: CommandIo) => {
	await aborted(io)
	io.result({ seeds: 3 }, '3 seeds so far')
	return 'ok' as const
}
const throwsReason = async (io: CommandIo) => {
	await aborted(io)
	throw io.signal.reason
}
const waitsInNode = async ({ signal }: CommandIo) => {
	await wait(2 ** 30, undefined, { signal })
	return 'ok' as const
}

describe('Ctrl-C', () => {
	test('lets the command print its result so far, with exit code 130', async () => {
		expect(await runUntil(printsResult, interrupt)).toEqual({
			code: 130,
			stdout: '3 seeds so far\n',
			stderr: 'Interrupted. Press Ctrl-C again to quit immediately.\n',
		})
	})

	test('leaves one document with --json, and prints no note with --quiet', async () => {
		expect(await runUntil(printsResult, interrupt, ['work', '--json', '-q'])).toEqual({
			code: 130,
			stdout: '{"seeds":3}\n',
			stderr: '',
		})
	})

	test.each([
		['throws the reason', throwsReason],
		['waits in Node', waitsInNode],
	])('Ctrl-C is not an error of a command that %s', async (_, work) => {
		expect(await runUntil(work, interrupt, ['work', '-q'])).toEqual({ code: 130, stdout: '', stderr: '' })
	})

	test('does not hide an error while the command stops', async () => {
		const work = async (io: CommandIo) => {
			await aborted(io)
			throw new CliError('failure', 'cannot save')
		}
		const { code, stderr } = await runUntil(work, interrupt)
		expect(code).toBe(130)
		expect(stderr).toContain('fake work: cannot save\n')
	})

	test('Ctrl-C is listened to only while a command runs, also if it fails', async () => {
		const terminal = new FakeTerminal()
		const program = fakeProgram(() => {
			throw new Error('no')
		})
		await runCli(['work'], terminal, program)
		expect(terminal.listeners.size).toBe(0)
	})
})

describe('a closed standard output', () => {
	test.each([
		['prints its result', printsResult],
		['throws the reason', throwsReason],
		['waits in Node', waitsInNode],
	])('ends a command that %s with exit code 0 and no message', async (_, work) => {
		const { code, stderr } = await runUntil(work, close)
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
	})
})
