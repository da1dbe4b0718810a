/** A small program of which a test says what a command does, and a way to run it. */
import { type Command, defineCommand } from '../../src/cli/command.ts'
import type { ExitKind } from '../../src/cli/exit-codes.ts'
import type { CommandIo } from '../../src/cli/io.ts'
import type { CommandEntry, Program } from '../../src/cli/program.ts'
import { runCli } from '../../src/cli/run.ts'
import { type FakeOptions, FakeTerminal } from './fake-terminal.ts'

type Work = (io: CommandIo) => ExitKind | Promise<ExitKind>

/** `work NAME --seed N`, which does as it is told. */
const working = (work: Work): Command =>
	defineCommand({
		name: 'work',
		summary: 'does as it is told',
		examples: [{ run: 'fake work it', shows: 'how it is done' }],
		options: { seed: { type: 'integer', short: 's', value: 'N', does: 'the seed', default: 1 } },
		positionals: { what: { value: 'WHAT', does: 'what to work on', optional: true } },
		run: async (_, io) => work(io),
	})

const quick = (name: string): Command =>
	defineCommand({
		name,
		summary: `does ${name}`,
		examples: [],
		options: {},
		positionals: {},
		async run(_, io) {
			io.answer({ ran: name }, `ran ${name}`)
			return 'ok'
		},
	})

export interface FakeProgram extends Program {
	/** The names of the commands that were loaded. */
	readonly loaded: string[]
}

export function fakeProgram(work: Work = () => 'ok'): FakeProgram {
	const loaded: string[] = []
	const entry = (command: Command): CommandEntry => ({
		name: command.name,
		summary: command.summary,
		load() {
			loaded.push(command.name)
			return Promise.resolve({ command })
		},
	})
	return {
		name: 'fake',
		summary: 'A program for tests.',
		examples: [
			{ run: 'fake work it', shows: 'to begin with' },
			{ run: 'fake box show', shows: 'of a group' },
		],
		commands: [working(work), quick('box show'), quick('box list')].map(entry),
		version: () => '1.2.3',
		loaded,
	}
}

export interface Ended {
	readonly code: number
	readonly stdout: string
	readonly stderr: string
	readonly loaded: readonly string[]
	readonly terminal: FakeTerminal
}

/** Runs the words, in a terminal of their own, to their end. */
export async function run(words: string, work?: Work, options: FakeOptions = {}): Promise<Ended> {
	const terminal = new FakeTerminal(options)
	const program = fakeProgram(work)
	const code = await runCli(words.split(' ').filter(Boolean), terminal, program)
	const { stdout, stderr } = terminal
	return { code, stdout: stdout.text, stderr: stderr.text, loaded: program.loaded, terminal }
}
