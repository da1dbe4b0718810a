/** A small program with a command that a test provides. */

import type { CommandEntry, Program } from '../../src/cli/command.ts'
import { type Command, defineCommand } from '../../src/cli/command.ts'
import type { ExitKind } from '../../src/cli/errors.ts'
import type { CommandIo } from '../../src/cli/io.ts'
import { runCli } from '../../src/cli/run.ts'
import { type FakeOptions, FakeTerminal } from './fake-terminal.ts'

type RunCommand = (io: CommandIo) => ExitKind | Promise<ExitKind>

/** `work WHAT --seed N` */
const workCommand = (run: RunCommand): Command =>
	defineCommand({
		examples: [['fake work it', 'work on it']],
		options: {
			seed: { type: 'integer', short: 's', placeholder: 'N', description: 'the seed', default: 1 },
		},
		positionals: { what: { placeholder: 'WHAT', description: 'what to work on', optional: true } },
		run: async (_, io) => run(io),
	})

const namedCommand = (name: string): Command =>
	defineCommand({
		examples: [],
		options: {},
		positionals: {},
		async run(_, io) {
			io.result({ ran: name }, `ran ${name}`)
			return 'ok'
		},
	})

export interface FakeProgram extends Program {
	/** The names of the commands that were loaded. */
	readonly loaded: string[]
}

export function fakeProgram(work: RunCommand = () => 'ok'): FakeProgram {
	const loaded: string[] = []
	const entry = (name: string, summary: string, command: Command): CommandEntry => ({
		name,
		summary,
		load() {
			loaded.push(name)
			return Promise.resolve(command)
		},
	})
	return {
		name: 'fake',
		summary: 'A program for tests.',
		examples: [
			['fake work it', 'start here'],
			['fake box show', 'a command of a group'],
		],
		commands: [
			entry('work', 'run the function of a test', workCommand(work)),
			entry('box show', 'run box show', namedCommand('box show')),
			entry('box list', 'run box list', namedCommand('box list')),
		],
		version: () => '1.2.3',
		loaded,
	}
}

export interface RunResult {
	readonly code: number
	readonly stdout: string
	readonly stderr: string
	readonly loaded: readonly string[]
	readonly terminal: FakeTerminal
}

/** Runs the program in a terminal of its own. */
export async function run(args: string, work?: RunCommand, options: FakeOptions = {}): Promise<RunResult> {
	const terminal = new FakeTerminal(options)
	const program = fakeProgram(work)
	const code = await runCli(args.split(' ').filter(Boolean), terminal, program)
	const { stdout, stderr } = terminal
	return { code, stdout: stdout.text, stderr: stderr.text, loaded: program.loaded, terminal }
}
