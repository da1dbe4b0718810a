/**
 * One run of the command line, from words to an exit code. It never ends the process: that is left to who
 * calls it, when all is written. A command only works, answers and throws; that the answer is one document, that talk goes
 * elsewhere, that Ctrl-C is heard and what the code is, is settled here for all of them.
 */
import { type Cut, cut, isGiven, readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { CliError } from './errors.ts'
import { type ExitKind, exitCode } from './exit-codes.ts'
import { GLOBAL_OPTIONS, PROGRAM_OPTIONS } from './global-options.ts'
import { commandHelp, type Page, programHelp } from './help.ts'
import { Io } from './io.ts'
import type { Values } from './options.ts'
import { findRoute, type Program } from './program.ts'
import { type Settings, Talk } from './talk.ts'
import type { Terminal } from './terminal.ts'

/**
 * Runs what the words ask for and answers the exit code.
 *
 * @example
 * process.exitCode = await runCli(process.argv.slice(2), processTerminal(process), yaoki)
 */
export async function runCli(args: readonly string[], terminal: Terminal, program: Program): Promise<number> {
	const run = new Run(args, terminal, program)
	const kind = await run.toItsEnd()
	const lost = await terminal.written()
	if (lost === undefined) return exitCode(kind)
	return exitCode(run.fail(new CliError('failure', `the output could not be written: ${lost.message}`)))
}

class Run {
	readonly #args: readonly string[]
	readonly #terminal: Terminal
	readonly #program: Program
	/** As far as it is known whom the words are for: `yaoki`, then `yaoki simulate`. */
	#where: string
	#talk: Talk
	#settings: Settings

	constructor(args: readonly string[], terminal: Terminal, program: Program) {
		this.#args = args
		this.#terminal = terminal
		this.#program = program
		this.#where = program.name
		// A guess, for what goes wrong before it is known whose options these are.
		this.#settings = settingsOf([cut(args, PROGRAM_OPTIONS)])
		this.#talk = new Talk(terminal, this.#settings)
	}

	async toItsEnd(): Promise<ExitKind> {
		try {
			return await this.#dispatch()
		} catch (error) {
			return this.fail(error)
		}
	}

	fail(error: unknown): ExitKind {
		return this.#talk.fail(this.#where, error)
	}

	async #dispatch(): Promise<ExitKind> {
		const route = findRoute(this.#args, this.#program.commands)
		const flags = cut(route.flags, PROGRAM_OPTIONS)
		const isHelp = route.isHelp || isGiven(flags, 'help')
		if (!isHelp) readArguments(flags, {})
		if (route.unknown) throw route.unknown
		if (!isHelp && isGiven(flags, 'version')) return this.#version()
		if (!route.entry) return this.#help((page) => programHelp(this.#program, route.name, page))

		this.#where = `${this.#program.name} ${route.name}`
		const { command } = await route.entry.load()
		const words = cut(route.rest, { ...GLOBAL_OPTIONS, ...command.options })
		this.#settings = settingsOf([flags, words])
		this.#talk = new Talk(this.#terminal, this.#settings)
		if (isHelp || isGiven(words, 'help'))
			return this.#help((page) => commandHelp(this.#program.name, command, page))
		return this.#command(command, readArguments(words, command.positionals))
	}

	#help(text: (page: Page) => string): ExitKind {
		const { stdout } = this.#terminal
		stdout.write(text({ columns: stdout.columns, paint: this.#talk.paletteFor(stdout) }))
		return 'ok'
	}

	#version(): ExitKind {
		const version = this.#program.version()
		this.#terminal.stdout.write(`${this.#settings.json ? JSON.stringify({ version }) : version}\n`)
		return 'ok'
	}

	async #command(command: Command, values: Values): Promise<ExitKind> {
		const stop = new AbortController()
		const { signal } = stop
		let isInterrupted = false
		const unlisten = this.#terminal.listen({
			interrupted: () => {
				isInterrupted = true
				this.#talk.note('interrupted; Ctrl-C again ends at once')
				stop.abort(new CliError('interrupted', 'interrupted'))
			},
			closed: () => stop.abort(new CliError('ok', 'nobody reads the output any more')),
		})
		const io = new Io(this.#terminal, this.#talk, this.#settings, signal)
		try {
			const kind = await command.run(values, io)
			io.finish()
			return isInterrupted ? 'interrupted' : kind
		} catch (error) {
			const kind = isAbort(error, signal) ? 'ok' : this.fail(error)
			return isInterrupted ? 'interrupted' : kind
		} finally {
			this.#talk.endProgress()
			unlisten()
		}
	}
}

function settingsOf(words: readonly Cut[]): Settings {
	const isOn = (flag: keyof typeof GLOBAL_OPTIONS) => words.some((cut) => isGiven(cut, flag))
	return { json: isOn('json'), quiet: isOn('quiet'), noColor: isOn('noColor'), debug: isOn('debug') }
}

/** Did the command end because it was told to? Node's own functions wrap the reason in an error of their own. */
function isAbort(error: unknown, { aborted, reason }: AbortSignal): boolean {
	return aborted && (error === reason || (error instanceof Error && error.name === 'AbortError'))
}
