/**
 * Help, made from the tables. It starts with examples: most who ask for help want a line that works and a word on what to
 * change in it, and the reference is for the rest.
 */
import type { Command, Example } from './command.ts'
import { EXIT_CODES } from './exit-codes.ts'
import { GLOBAL_OPTIONS, PROGRAM_OPTIONS } from './global-options.ts'
import { type Row, twoColumns } from './layout.ts'
import { flagOf, type Option, type OptionTable, type Positional } from './options.ts'
import type { Palette } from './palette.ts'
import { membersOf, type Program } from './program.ts'
import { takes } from './values.ts'

/** How wide help may be, and how it is coloured. */
export interface Page {
	readonly columns: number
	readonly paint: Palette
}

/** Help for the whole program, or for a group of its commands. */
export function programHelp(program: Program, group: string, page: Page): string {
	const { name, summary, examples, commands } = program
	const members = membersOf(group, commands).map((one): Row => [one.name, one.summary])
	const isGroup = group !== ''
	const prefix = isGroup ? `${name} ${group}` : name
	return join([
		...examplesOf(isGroup ? examples.filter(({ run }) => run.startsWith(`${prefix} `)) : examples, page),
		[`${page.paint.bold('Usage:')} ${prefix} COMMAND [options]`, ...(isGroup ? [] : [summary])],
		...section('Commands', members, page),
		...section('Options', optionRows(PROGRAM_OPTIONS), page),
		...(isGroup ? [] : section('Exit codes', exitRows(), page)),
		[`${name} help COMMAND says more about one.`],
	])
}

export function commandHelp(program: string, command: Command, page: Page): string {
	const { name, summary, examples, options, positionals } = command
	const places = Object.values(positionals)
	const words = [program, name, ...places.map(placeOf), '[options]']
	return join([
		...examplesOf(examples, page),
		[`${page.paint.bold('Usage:')} ${words.join(' ')}`, summary],
		...section(
			'Arguments',
			places.map(({ value, does }): Row => [value, does]),
			page,
		),
		...section('Options', optionRows(options), page),
		...section('Options of every command', optionRows(GLOBAL_OPTIONS), page),
	])
}

type Block = readonly string[]

const join = (blocks: readonly Block[]): string => blocks.map((lines) => `${lines.join('\n')}\n`).join('\n')

function section(title: string, rows: readonly Row[], { columns, paint }: Page): Block[] {
	return rows.length === 0 ? [] : [[paint.bold(`${title}:`), ...twoColumns(rows, columns)]]
}

function examplesOf(examples: readonly Example[], { paint }: Page): Block[] {
	if (examples.length === 0) return []
	const lines = examples.flatMap(({ run, shows }) => [`  ${paint.dim(`# ${shows}`)}`, `  ${run}`])
	return [[paint.bold('Examples:'), ...lines]]
}

function placeOf({ value, optional, multiple }: Positional): string {
	const words = multiple ? `${value}...` : value
	return optional ? `[${words}]` : words
}

function optionRows(options: OptionTable): Row[] {
	return Object.entries(options).map(([name, option]) => {
		const short = option.short === undefined ? '    ' : `-${option.short}, `
		const value = option.type === 'boolean' ? '' : ` ${option.value}`
		return [short + flagOf(name) + value, [option.does, ...remarks(option)].join('; ')]
	})
}

function remarks(option: Option): string[] {
	if (option.type === 'boolean') return []
	const isPlain = option.type === 'string' && !option.choices
	return [
		...(isPlain ? [] : [takes(option)]),
		...(option.multiple ? ['may be given more than once'] : []),
		...(option.default === undefined ? [] : [`default ${option.default}`]),
	]
}

const exitRows = (): Row[] => Object.values(EXIT_CODES).map(([code, means]) => [String(code), means])
