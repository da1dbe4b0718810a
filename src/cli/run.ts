/**
 * One run of the command line, from arguments to an exit code. It never ends the process: the caller does
 * that when all output is written. JSON output, standard error, Ctrl-C and exit codes are handled here for
 * all commands.
 */
import { type Command, findCommand, type Program } from './command.ts'
import { CliError, type ExitKind, exitCode } from './errors.ts'
import { commandHelp, programHelp } from './help.ts'
import { createIo } from './io.ts'
import { GLOBAL_OPTIONS, PROGRAM_OPTIONS, type Values } from './option-tables.ts'
import { hasFlag, parseArguments, type Tokens, tokenize } from './parse-arguments.ts'
import { type GlobalFlags, Reporter } from './reporter.ts'
import type { Terminal } from './terminal.ts'

/** Runs a program with the given arguments and returns the exit code. */
export async function runCli(args: readonly string[], terminal: Terminal, program: Program): Promise<number> {
	const { stdout } = terminal
	/** The command in error messages: `yaoki`, and `yaoki simulate` once the command is known. */
	let commandName = program.name
	// Preliminary, for errors before the command and its options are known.
	let globals = globalFlags([tokenize(args, PROGRAM_OPTIONS)])
	let reporter = new Reporter(terminal, globals)

	const dispatch = async (): Promise<ExitKind> => {
		const { entry, name, flags: before, rest, isHelp: hasHelp, unknown } = findCommand(args, program.commands)
		const flags = tokenize(before, PROGRAM_OPTIONS)
		const isHelp = hasHelp || hasFlag(flags, 'help')
		if (!isHelp) parseArguments(flags, {})
		if (unknown) throw unknown
		if (!isHelp && hasFlag(flags, 'version')) {
			const version = program.version()
			stdout.write(`${globals.json ? JSON.stringify({ version }) : version}\n`)
			return 'ok'
		}
		const format = { columns: stdout.columns, style: reporter.styleFor(stdout) }
		if (!entry) {
			stdout.write(programHelp(program, name, format))
			return 'ok'
		}
		commandName = `${program.name} ${name}`
		const command = await entry.load()
		const tokens = tokenize(rest, { ...GLOBAL_OPTIONS, ...command.options })
		globals = globalFlags([flags, tokens])
		reporter = new Reporter(terminal, globals)
		if (isHelp || hasFlag(tokens, 'help')) {
			const style = reporter.styleFor(stdout)
			stdout.write(commandHelp(program.name, entry, command, { ...format, style }))
			return 'ok'
		}
		return runCommand(command, parseArguments(tokens, command.positionals))
	}

	const runCommand = async (command: Command, values: Values): Promise<ExitKind> => {
		const stop = new AbortController()
		let isInterrupted = false
		const unlisten = terminal.listen({
			interrupted: () => {
				isInterrupted = true
				reporter.note('Interrupted. Press Ctrl-C again to quit immediately.')
				stop.abort(new CliError('interrupted', 'interrupted'))
			},
			closed: () => stop.abort(new CliError('ok', 'standard output is closed')),
		})
		const io = createIo(terminal, reporter, globals, stop.signal)
		try {
			const kind = (await command.run(values, io)) ?? 'ok'
			io.finish()
			return isInterrupted ? 'interrupted' : kind
		} catch (error) {
			const kind = isAbortError(error, stop.signal) ? 'ok' : reporter.fail(commandName, error)
			return isInterrupted ? 'interrupted' : kind
		} finally {
			reporter.endProgress()
			unlisten()
		}
	}

	const kind = await dispatch().catch((error: unknown) => reporter.fail(commandName, error))
	const error = await terminal.flush()
	if (error === undefined) return exitCode(kind)
	const failure = new CliError('failure', `Cannot write the output: ${error.message}`)
	return exitCode(reporter.fail(commandName, failure))
}

function globalFlags(tokens: readonly Tokens[]): GlobalFlags {
	const has = (flag: keyof typeof GLOBAL_OPTIONS) => tokens.some((some) => hasFlag(some, flag))
	return { json: has('json'), quiet: has('quiet'), noColor: has('noColor'), debug: has('debug') }
}

/** Returns whether the error is the abort itself. Node's functions wrap the reason in an AbortError. */
function isAbortError(error: unknown, { aborted, reason }: AbortSignal): boolean {
	return aborted && (error === reason || (error instanceof Error && error.name === 'AbortError'))
}
