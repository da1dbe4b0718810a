/**
 * A command is data and one function. Its tables are written once and the function gets values of the types that they say;
 * nobody writes a generic. A builder with chained calls would read as well, but could not be listed, checked or printed.
 */
import type { ExitKind } from './exit-codes.ts'
import { GLOBAL_OPTIONS } from './global-options.ts'
import type { CommandIo } from './io.ts'
import type { Arguments, OptionTable, PositionalTable, Values } from './options.ts'

/** A line to paste, and what it is good for. */
export interface Example {
	readonly run: string
	readonly shows: string
}

interface CommandText {
	/** As it is typed after the program's name; of several words when it belongs to a group: `outbox status`. */
	readonly name: string
	/** One line. */
	readonly summary: string
	/** Help starts with them. */
	readonly examples: readonly Example[]
}

/** What `defineCommand` takes. */
export interface Declaration<Options extends OptionTable, Positionals extends PositionalTable>
	extends CommandText {
	readonly options: Options
	readonly positionals: Positionals
	/** Does the work and says how it ended. What it throws is told to the user: a `CliError` carries its exit code. */
	run(args: Arguments<Options, Positionals>, io: CommandIo): Promise<ExitKind>
}

/** A command as the frame sees it. */
export interface Command extends CommandText {
	readonly options: OptionTable
	readonly positionals: PositionalTable
	run(values: Values, io: CommandIo): Promise<ExitKind>
}

/**
 * Declares a command. A module that the registry loads exports the result as `command`.
 *
 * @example
 * export const command: Command = defineCommand({
 * 	name: 'greet',
 * 	summary: 'says hello',
 * 	examples: [{ run: 'yaoki greet Ada --times 2', shows: 'twice' }],
 * 	options: { times: { type: 'integer', value: 'N', does: 'how often', default: 1, least: 1 } },
 * 	positionals: { who: { value: 'NAME', does: 'whom to greet' } },
 * 	async run({ who, times }, io) {
 * 		io.answer({ who, times }, `hello ${who} `.repeat(times))
 * 		return 'ok'
 * 	},
 * })
 */
export function defineCommand<const Options extends OptionTable, const Positionals extends PositionalTable>(
	declaration: Declaration<Options, Positionals>,
): Command {
	const { name, summary, examples, options, positionals } = declaration
	checkTables(declaration)
	return {
		...{ name, summary, examples, options, positionals },
		// The values were read by these very tables, which is more than the compiler can follow.
		run: (values, io) => declaration.run(values as Arguments<Options, Positionals>, io),
	}
}

/** A mistake in a table would otherwise be a value that silently is another's. */
function checkTables({
	name,
	options,
	positionals,
}: Pick<Command, 'name' | 'options' | 'positionals'>): void {
	const refuse = (what: string, why: string): never => {
		throw new TypeError(`command ${name}: ${what} ${why}`)
	}
	const taken = new Set<string>()
	const take = (what: string) => (taken.has(what) ? refuse(what, 'is there twice') : taken.add(what))
	for (const [option, { short }] of [...Object.entries(GLOBAL_OPTIONS), ...Object.entries(options)]) {
		take(option)
		if (short !== undefined) take(`-${short}`)
	}
	for (const [option, spec] of Object.entries(options)) {
		if (spec.type !== 'boolean' && spec.multiple && spec.default !== undefined)
			refuse(option, 'is a list, and a list has no default but the empty one')
	}
	const places = Object.entries(positionals)
	for (const [index, [place, { multiple, optional }]] of places.entries()) {
		take(place)
		const next = places[index + 1]
		if (next && multiple) refuse(place, 'takes all that follow, so nothing can follow it')
		if (next && optional && !next[1].optional) refuse(place, `is optional, so ${next[0]} must be as well`)
	}
}
