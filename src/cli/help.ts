/**
 * Help texts, made from the tables. They start with examples: most readers want a line that works and then
 * change it; the reference follows.
 */
import { formatPairs } from '../text/table.ts'
import { type Command, type CommandEntry, commandsInGroup, type Example, type Program } from './command.ts'
import { EXIT_CODES } from './errors.ts'
import type { CommandIo } from './io.ts'
import {
	GLOBAL_OPTIONS,
	type Option,
	type OptionTable,
	type Positional,
	PROGRAM_OPTIONS,
	toFlag,
} from './option-tables.ts'
import { describeExpected } from './parse-arguments.ts'

type HelpFormat = Pick<CommandIo, 'columns' | 'style'>

type Pair = readonly [left: string, right: string]

export function programHelp(program: Program, group: string, format: HelpFormat): string {
	const { name, summary, examples, commands } = program
	const isGroup = group !== ''
	const prefix = isGroup ? `${name} ${group}` : name
	const shown = isGroup ? examples.filter(([command]) => command.startsWith(`${prefix} `)) : examples
	const rows = commandsInGroup(group, commands).map((one): Pair => [one.name, one.summary])
	return join([
		...exampleSection(shown, format),
		[`${format.style.bold('Usage:')} ${prefix} COMMAND [options]`, ...(isGroup ? [] : [summary])],
		...section('Commands', rows, format),
		...section('Options', optionRows(PROGRAM_OPTIONS), format),
		...(isGroup ? [] : section('Exit codes', exitCodeRows(), format)),
		[`See '${name} help COMMAND' for its options.`],
	])
}

export function commandHelp(
	program: string,
	{ name, summary }: Pick<CommandEntry, 'name' | 'summary'>,
	{ examples, options, positionals }: Command,
	format: HelpFormat,
): string {
	const table = Object.values(positionals)
	const usage = [program, name, ...table.map(positionalUsage), '[options]']
	const rows = table.map(({ placeholder, description }): Pair => [placeholder, description])
	return join([
		...exampleSection(examples, format),
		[`${format.style.bold('Usage:')} ${usage.join(' ')}`, summary],
		...section('Arguments', rows, format),
		...section('Options', optionRows(options), format),
		...section('Global options', optionRows(GLOBAL_OPTIONS), format),
	])
}

type Section = readonly string[]

const join = (sections: readonly Section[]): string =>
	sections.map((lines) => `${lines.join('\n')}\n`).join('\n')

const section = (title: string, rows: readonly Pair[], { columns, style }: HelpFormat): Section[] =>
	rows.length === 0 ? [] : [[style.bold(`${title}:`), ...formatPairs(rows, columns)]]

function exampleSection(examples: readonly Example[], { style }: HelpFormat): Section[] {
	if (examples.length === 0) return []
	const lines = examples.flatMap(([command, description]) => [
		`  ${style.dim(`# ${description}`)}`,
		`  ${command}`,
	])
	return [[style.bold('Examples:'), ...lines]]
}

function positionalUsage({ placeholder, optional, multiple }: Positional): string {
	const text = multiple ? `${placeholder}...` : placeholder
	return optional ? `[${text}]` : text
}

const optionRows = (options: OptionTable): Pair[] =>
	Object.entries(options).map(([name, option]) => {
		const short = option.short === undefined ? '    ' : `-${option.short}, `
		const value = option.type === 'boolean' ? '' : ` ${option.placeholder}`
		return [short + toFlag(name) + value, [option.description, ...optionDetails(option)].join('; ')]
	})

function optionDetails(option: Option): string[] {
	if (option.type === 'boolean') return []
	const isAnyText = option.type === 'string' && !option.choices
	return [
		...(isAnyText ? [] : [describeExpected(option)]),
		...(option.multiple ? ['repeatable'] : []),
		...(option.default === undefined ? [] : [`default ${option.default}`]),
	]
}

const exitCodeRows = (): Pair[] => Object.values(EXIT_CODES).map(([code, meaning]) => [String(code), meaning])
