/**
 * A command is data and one function. The function receives values of the types that the tables declare, without a written
 * generic. A builder with chained calls would read as well, but could not be listed, checked or printed as help.
 */
import type { ExitKind } from './errors.ts'
import type { CommandIo } from './io.ts'
import type { Arguments, OptionTable, PositionalTable, Values } from './option-tables.ts'

/** A line to paste into a shell, and what it does. */
export type Example = readonly [command: string, description: string]

export interface Command<Args = Values> {
	/** Help starts with them. */
	readonly examples: readonly Example[]
	readonly options: OptionTable
	readonly positionals: PositionalTable
	/** Runs the command and returns how it ended. Errors are printed; a `CliError` sets the exit code. */
	run(args: Args, io: CommandIo): Promise<ExitKind>
}

/** Defines a command. Its name and summary are in commands.ts, so that help for the program does not load it. */
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
