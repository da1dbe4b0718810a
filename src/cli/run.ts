/**
 * One run of the command line, from arguments to an exit code. It never ends the process: the caller does that when all output
 * is written. JSON output, standard error, Ctrl-C and exit codes are handled here for all commands.
 */
import type { Command } from './command.ts'
import { CliError, type ExitKind, exitCode } from './errors.ts'
import { findCommand, type Program } from './find-command.ts'
import { commandHelp, type HelpFormat, programHelp } from './help.ts'
import { createIo } from './io.ts'
import { GLOBAL_OPTIONS, PROGRAM_OPTIONS, type Values } from './option-tables.ts'
import { hasFlag, parseArguments, type Tokens, tokenize } from './parse-arguments.ts'
import { type GlobalFlags, Reporter } from './reporter.ts'
import type { Terminal } from './terminal.ts'

/** Runs a program with the given arguments and returns the exit code. */
export async function runCli(args: readonly string[], terminal: Terminal, program: Program): Promise<number> {
	const run = new Run(args, terminal, program)
	const kind = await run.execute()
	const error = await terminal.flush()
	if (error === undefined) return exitCode(kind)
	return exitCode(run.fail(new CliError('failure', `Cannot write the output: ${error.message}`)))
}

class Run {
	readonly #args: readonly string[]
	readonly #terminal: Terminal
	readonly #program: Program
	/** For error messages: `yaoki`, and `yaoki simulate` once the command is known. */
	#commandName: string
	#reporter: Reporter
	#flags: GlobalFlags

	constructor(args: readonly string[], terminal: Terminal, program: Program) {
		this.#args = args
		this.#terminal = terminal
		this.#program = program
		this.#commandName = program.name
		// Preliminary, for errors before the command and its options are known.
		this.#flags = globalFlags([tokenize(args, PROGRAM_OPTIONS)])
		this.#reporter = new Reporter(terminal, this.#flags)
	}

	async execute(): Promise<ExitKind> {
		try {
			return await this.#dispatch()
		} catch (error) {
			return this.fail(error)
		}
	}

	fail(error: unknown): ExitKind {
		return this.#reporter.fail(this.#commandName, error)
	}

	async #dispatch(): Promise<ExitKind> {
		const {
			entry,
			name,
			flags: before,
			rest,
			isHelp: hasHelp,
			unknown,
		} = findCommand(this.#args, this.#program.commands)
		const flags = tokenize(before, PROGRAM_OPTIONS)
		const isHelp = hasHelp || hasFlag(flags, 'help')
		if (!isHelp) parseArguments(flags, {})
		if (unknown) throw unknown
		if (!isHelp && hasFlag(flags, 'version')) return this.#version()
		if (!entry) return this.#help((format) => programHelp(this.#program, name, format))

		this.#commandName = `${this.#program.name} ${name}`
		const command = await entry.load()
		const tokens = tokenize(rest, { ...GLOBAL_OPTIONS, ...command.options })
		this.#flags = globalFlags([flags, tokens])
		this.#reporter = new Reporter(this.#terminal, this.#flags)
		if (isHelp || hasFlag(tokens, 'help'))
			return this.#help((format) => commandHelp(this.#program.name, entry, command, format))
		return this.#runCommand(command, parseArguments(tokens, command.positionals))
	}

	#help(render: (format: HelpFormat) => string): ExitKind {
		const { stdout } = this.#terminal
		stdout.write(render({ columns: stdout.columns, style: this.#reporter.styleFor(stdout) }))
		return 'ok'
	}

	#version(): ExitKind {
		const version = this.#program.version()
		this.#terminal.stdout.write(`${this.#flags.json ? JSON.stringify({ version }) : version}\n`)
		return 'ok'
	}

	async #runCommand(command: Command, values: Values): Promise<ExitKind> {
		const stop = new AbortController()
		const { signal } = stop
		let isInterrupted = false
		const unlisten = this.#terminal.listen({
			interrupted: () => {
				isInterrupted = true
				this.#reporter.note('Interrupted. Press Ctrl-C again to quit immediately.')
				stop.abort(new CliError('interrupted', 'interrupted'))
			},
			closed: () => stop.abort(new CliError('ok', 'standard output is closed')),
		})
		const io = createIo(this.#terminal, this.#reporter, this.#flags, signal)
		try {
			const kind = await command.run(values, io)
			io.finish()
			return isInterrupted ? 'interrupted' : kind
		} catch (error) {
			const kind = isAbortError(error, signal) ? 'ok' : this.fail(error)
			return isInterrupted ? 'interrupted' : kind
		} finally {
			this.#reporter.endProgress()
			unlisten()
		}
	}
}

function globalFlags(tokens: readonly Tokens[]): GlobalFlags {
	const has = (flag: keyof typeof GLOBAL_OPTIONS) => tokens.some((some) => hasFlag(some, flag))
	return { json: has('json'), quiet: has('quiet'), noColor: has('noColor'), debug: has('debug') }
}

/** Returns whether the error is the abort itself. Node's functions wrap the reason in an AbortError. */
function isAbortError(error: unknown, { aborted, reason }: AbortSignal): boolean {
	return aborted && (error === reason || (error instanceof Error && error.name === 'AbortError'))
}
