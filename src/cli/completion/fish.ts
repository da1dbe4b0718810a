import { quoteFish as quote } from './quote.ts'
import type { CompletedCommand, CompletedOption, CompletedProgram } from './words.ts'

/** Returns a script for fish. `__fish_seen_subcommand_from` tests one word, so a command of a group needs two tests. */
export function fishScript({ name, commands }: CompletedProgram): string {
	const lines = commands.flatMap((command) => {
		const condition = `-n ${quote(conditionOf(command, commands))}`
		return [
			...command.words.map(
				([word, description]) =>
					`complete -c ${name} -f ${condition} -a ${quote(word)} -d ${quote(description)}`,
			),
			...(command.takesFile ? [`complete -c ${name} -F ${condition}`] : []),
			...command.options.map((option) => `complete -c ${name} ${condition} ${optionText(option)}`),
		]
	})
	return [
		`# Completion of ${name} for fish. Load it with: ${name} completion fish | source`,
		`complete -c ${name} -f`,
		...lines,
		'',
	].join('\n')
}

function conditionOf({ name }: CompletedCommand, commands: readonly CompletedCommand[]): string {
	if (name === '') return '__fish_use_subcommand'
	const seen = name.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
	const inside = commands.filter((other) => other.name.startsWith(`${name} `))
	if (inside.length === 0) return seen.join('; and ')
	const words = inside.map((other) => other.name.slice(name.length + 1)).join(' ')
	return `${seen.join('; and ')}; and not __fish_seen_subcommand_from ${words}`
}

function optionText({ flags, description, value, choices }: CompletedOption): string {
	const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
	const values = { none: '', text: ' -x', file: ' -r -F', choice: ` -x -a ${quote(choices.join(' '))}` }
	return `${names.join(' ')}${values[value]} -d ${quote(description)}`
}
