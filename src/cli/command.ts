/**
 * A command is data and one function. The function receives values of the types that the tables declare, without a written
 * generic. A builder with chained calls would read as well, but could not be listed, checked or printed as help.
 */
import type { ExitKind } from './errors.ts'
import type { CommandIo } from './io.ts'
import {
	type Arguments,
	GLOBAL_OPTIONS,
	type OptionTable,
	type PositionalTable,
	type Values,
} from './option-tables.ts'

/** A line to paste into a shell, and what it does. */
export type Example = readonly [command: string, description: string]

/** What `defineCommand` takes. */
export interface CommandDefinition<Options extends OptionTable, Positionals extends PositionalTable> {
	/** Help starts with them. */
	readonly examples: readonly Example[]
	readonly options: Options
	readonly positionals: Positionals
	/** Runs the command and returns how it ended. Errors are printed; a `CliError` sets the exit code. */
	run(args: Arguments<Options, Positionals>, io: CommandIo): Promise<ExitKind>
}

/** A command with any tables. */
export interface Command {
	readonly examples: readonly Example[]
	readonly options: OptionTable
	readonly positionals: PositionalTable
	run(values: Values, io: CommandIo): Promise<ExitKind>
}

/**
 * Defines a command. Its name and summary are in commands.ts, so that help for the program does not load it.
 *
 * @example
 * export const greet: Command = defineCommand({
 * 	examples: [['yaoki greet Ada --times 2', 'greet twice']],
 * 	options: { times: { type: 'integer', placeholder: 'N', description: 'how often', default: 1, min: 1 } },
 * 	positionals: { name: { placeholder: 'NAME', description: 'whom to greet' } },
 * 	async run({ name, times }, io) {
 * 		io.result({ name, times }, `hello ${name} `.repeat(times))
 * 		return 'ok'
 * 	},
 * })
 */
export function defineCommand<const Options extends OptionTable, const Positionals extends PositionalTable>(
	definition: CommandDefinition<Options, Positionals>,
): Command {
	const { examples, options, positionals } = definition
	checkTables(options, positionals)
	return {
		...{ examples, options, positionals },
		// The values are parsed by these tables; the compiler cannot follow that.
		run: (values, io) => definition.run(values as Arguments<Options, Positionals>, io),
	}
}

/** Throws for tables in which one value would silently replace another. */
function checkTables(options: OptionTable, positionals: PositionalTable): void {
	const fail = (message: string): never => {
		throw new TypeError(`Invalid command: ${message}`)
	}
	const names = new Set<string>()
	const add = (name: string) => (names.has(name) ? fail(`"${name}" is declared twice`) : names.add(name))
	for (const [name, { short }] of [...Object.entries(GLOBAL_OPTIONS), ...Object.entries(options)]) {
		add(name)
		if (short !== undefined) add(`-${short}`)
	}
	for (const [name, option] of Object.entries(options))
		if (option.type !== 'boolean' && option.multiple && option.default !== undefined)
			fail(`"${name}" is a list and cannot have a default`)
	const entries = Object.entries(positionals)
	for (const [index, [name, { multiple, optional }]] of entries.entries()) {
		add(name)
		const next = entries[index + 1]
		if (next && multiple) fail(`"${name}" takes all remaining arguments, so "${next[0]}" cannot follow`)
		if (next && optional && !next[1].optional)
			fail(`"${name}" is optional, so "${next[0]}" must be optional too`)
	}
}
