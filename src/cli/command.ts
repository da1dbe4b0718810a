/**
 * A command is data and one function. The function receives values of the types that the tables declare,
 * without a written generic. A builder with chained calls would read as well, but could not be listed,
 * checked or printed as help.
 */
import { didYouMean, nearestName } from '../text/nearest.ts'
import { type CliError, type ExitKind, usageError } from './errors.ts'
import type { CommandIo } from './io.ts'
import type { Arguments, OptionTable, PositionalTable, Values } from './option-tables.ts'

/** A line to paste into a shell, and what it does. */
export type Example = readonly [command: string, description: string]

/** The kind of exit code; undefined for `ok`. */
export type CommandResult = Promise<ExitKind | undefined>

export interface Command<Args = Values> {
	/** Help starts with them. */
	readonly examples: readonly Example[]
	readonly options: OptionTable
	readonly positionals: PositionalTable
	/** Runs the command. Errors are printed; a `CliError` sets the exit code. */
	run(args: Args, io: CommandIo): CommandResult
}

/** Defines a command. Name and summary are in commands.ts: help of the program does not load it. */
export function defineCommand<
	const Options extends OptionTable,
	const Positionals extends PositionalTable = Record<never, never>,
>(
	command: Omit<Command<Arguments<Options, Positionals>>, 'positionals'> & {
		readonly options: Options
		readonly positionals?: Positionals
	},
): Command {
	// The values are parsed by these tables; the compiler cannot follow that.
	return { positionals: {}, ...command } as Command
}

export interface CommandEntry {
	/** What is typed after the program's name; two words for a command of a group: `outbox status`. */
	readonly name: string
	readonly summary: string
	load(): Promise<Command>
}

/** Commands are loaded on demand: help must not wait for the simulator or a database driver. */
export interface Program {
	readonly name: string
	readonly summary: string
	readonly examples: readonly Example[]
	readonly commands: readonly CommandEntry[]
	version(): string
}

/**
 * Finds the command. `entry` is undefined if only the program or a group is named, `name` has the words that
 * were found, `flags` the arguments with a dash before the end of the name, `rest` all arguments after it.
 * The error for an unknown name is not thrown here because an invalid flag before the name is reported first.
 */
export function findCommand(args: readonly string[], commands: readonly CommandEntry[]) {
	const flags: string[] = []
	let name = ''
	let isHelp = false
	for (const [index, word] of args.entries()) {
		if (word === 'help') isHelp = true
		else if (word.startsWith('-')) flags.push(word)
		else {
			name = name === '' ? word : `${name} ${word}`
			if (commandsInGroup(name, commands).length > 0) continue
			const entry = commands.find((one) => one.name === name)
			const unknown = entry ? undefined : unknownCommand(name, commands)
			return { entry, name, flags, rest: args.slice(index + 1), isHelp, unknown }
		}
	}
	return { entry: undefined, name, flags, rest: [], isHelp, unknown: undefined }
}

/** Returns the commands of a group, or all commands for an empty name. */
export const commandsInGroup = (group: string, commands: readonly CommandEntry[]): readonly CommandEntry[] =>
	commands.filter(({ name }) => group === '' || name.startsWith(`${group} `))

function unknownCommand(name: string, commands: readonly CommandEntry[]): CliError {
	const groups = commands.map((one) => one.name.replace(/ [^ ]*$/, ''))
	const meant = nearestName(name, [...commands.map((one) => one.name), ...groups])
	return usageError(`Unknown command "${name}".${didYouMean(meant)}`)
}
