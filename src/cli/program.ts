/**
 * A program is a table of commands, each loaded when it is asked for: help and a mistyped name must not wait for a simulator or
 * a database driver to load. A name of two words makes its first one a group, with no more machinery than that.
 */
import type { Command, Example } from './command.ts'
import { CliError } from './errors.ts'
import { didYouMean, nearest } from './nearest.ts'

/** A line of the registry. Name and summary are here as well as in the command, so that help need not load it. */
export interface CommandEntry {
	readonly name: string
	readonly summary: string
	load(): Promise<{ readonly command: Command }>
}

export interface Program {
	readonly name: string
	/** One line. */
	readonly summary: string
	readonly examples: readonly Example[]
	readonly commands: readonly CommandEntry[]
	version(): string
}

/** Which command was meant, and which words are its own. */
export interface Route {
	/** Undefined when only the program or a group was named. */
	readonly entry: CommandEntry | undefined
	/** The words that were understood: `''`, `outbox`, `outbox status`. */
	readonly name: string
	/** The words with a dash that stood before the name was complete. */
	readonly flags: readonly string[]
	/** All that follows the name. */
	readonly rest: readonly string[]
	/** Was `help` one of the words? */
	readonly isHelp: boolean
	/** What to say of a word that is no command's. It is not thrown, for what stands before that word may be the mistake. */
	readonly unknown: CliError | undefined
}

export function findRoute(args: readonly string[], commands: readonly CommandEntry[]): Route {
	const flags: string[] = []
	let name = ''
	let isHelp = false
	for (const [index, word] of args.entries()) {
		if (word === 'help') isHelp = true
		else if (word.startsWith('-')) flags.push(word)
		else {
			name = name === '' ? word : `${name} ${word}`
			const entry = commands.find((one) => one.name === name)
			const isGroup = membersOf(name, commands).length > 0
			if (isGroup) continue
			const unknown = entry ? undefined : unknownCommand(name, commands)
			return { entry, name, flags, rest: args.slice(index + 1), isHelp, unknown }
		}
	}
	return { entry: undefined, name, flags, rest: [], isHelp, unknown: undefined }
}

/** The commands of a group; of no group, all. */
export const membersOf = (group: string, commands: readonly CommandEntry[]): readonly CommandEntry[] =>
	commands.filter(({ name }) => group === '' || name.startsWith(`${group} `))

function unknownCommand(name: string, commands: readonly CommandEntry[]): CliError {
	const groups = commands.map((one) => one.name.replace(/ [^ ]*$/, ''))
	const meant = nearest(name, [...commands.map((one) => one.name), ...groups])
	return new CliError('usage', `unknown command '${name}'${didYouMean(meant && `'${meant}'`)}`)
}
