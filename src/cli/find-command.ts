/**
 * Finds the command that the arguments name. A program is a table of commands that are loaded on demand: help and a misspelled
 * name must not wait for the simulator or a database driver. A name of two words makes its first word a group.
 */
import { didYouMean, nearestName } from '../text/nearest.ts'
import type { Command, Example } from './command.ts'
import { CliError } from './errors.ts'

export interface CommandEntry {
	/** What is typed after the program's name; two words for a command of a group: `outbox status`. */
	readonly name: string
	readonly summary: string
	load(): Promise<Command>
}

export interface Program {
	readonly name: string
	readonly summary: string
	readonly examples: readonly Example[]
	readonly commands: readonly CommandEntry[]
	version(): string
}

/**
 * Finds the command. `entry` is undefined if only the program or a group is named, `name` has the words that were found, `flags`
 * the arguments with a dash before the end of the name, `rest` all arguments after it. The error for an unknown name is not thrown
 * here because an invalid flag before the name is reported first.
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
	return new CliError('usage', `Unknown command "${name}".${didYouMean(meant)}`)
}
