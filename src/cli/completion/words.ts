/** Collects the words to complete from the tables of all commands: only existing options are offered. */
import type { Program } from '../command.ts'
import { GLOBAL_OPTIONS, type Option, type OptionTable, PROGRAM_OPTIONS, toFlag } from '../option-tables.ts'

export interface CompletedOption {
	/** `--out` and `-o`. */
	readonly flags: readonly string[]
	readonly description: string
	/** What follows the flag: nothing, one of `choices`, a file, or a text that cannot be completed. */
	readonly value: 'none' | 'choice' | 'file' | 'text'
	readonly choices: readonly string[]
}

export interface CompletedCommand {
	/** Empty for the program itself. */
	readonly name: string
	readonly words: readonly (readonly [word: string, description: string])[]
	readonly options: readonly CompletedOption[]
	readonly takesFile: boolean
}

export interface CompletedProgram {
	readonly name: string
	readonly commands: readonly CompletedCommand[]
}

/** Loads every command. The first entry is the program; groups come before their commands. */
export async function completionWords({ name, commands }: Program): Promise<CompletedProgram> {
	const loaded = await Promise.all(
		commands.map(async (entry): Promise<CompletedCommand> => {
			const { options, positionals } = await entry.load()
			const placeholders = Object.values(positionals).map(({ placeholder }) => placeholder)
			const words = Object.values(positionals).flatMap(({ choices = [] }) => choices)
			return {
				name: entry.name,
				words: words.map((word) => [word, ''] as const),
				options: toOptions({ ...options, ...GLOBAL_OPTIONS }),
				takesFile: placeholders.some(isFile),
			}
		}),
	)
	const first = ({ name: full, summary }: { name: string; summary: string }): [string, string] => {
		const [word = '', ...rest] = full.split(' ')
		return [word, rest.length > 0 ? `commands of ${word}` : summary]
	}
	const groups = new Map<string, [string, string][]>()
	for (const { name: full, summary } of commands) {
		const [group = '', word] = full.split(' ')
		if (word !== undefined) groups.set(group, [...(groups.get(group) ?? []), [word, summary]])
	}
	const top = [...new Map(commands.map(first)), ['help', 'options and examples of a command'] as const]
	const options = toOptions(PROGRAM_OPTIONS)
	return {
		name,
		commands: [
			{ name: '', words: top, options, takesFile: false },
			...[...groups].map(([group, words]) => ({ name: group, words, options, takesFile: false })),
			...loaded,
		],
	}
}

const isFile = (placeholder: string): boolean => placeholder.split('|').includes('FILE')

const toOptions = (table: OptionTable): CompletedOption[] =>
	Object.entries<Option>(table).map(([name, option]) => {
		const choices = option.type === 'string' ? (option.choices ?? []) : []
		const short = option.short === undefined ? [] : [`-${option.short}`]
		return { flags: [toFlag(name), ...short], description: option.description, value: kind(option), choices }
	})

function kind(option: Option): CompletedOption['value'] {
	if (option.type === 'boolean') return 'none'
	if (option.type === 'string' && option.choices) return 'choice'
	return isFile(option.placeholder) ? 'file' : 'text'
}
