/**
 * What was typed, by the tables of a command. Node's parser only cuts it up (`-qs7`, `--seed=7`, `--`): its own messages know
 * nothing of numbers, of defaults or of what was probably meant. Flags can be looked at before anything is checked, since
 * `--help` must help whoever typed the rest wrongly.
 */
import { parseArgs } from 'node:util'
import { CliError } from './errors.ts'
import { didYouMean, nearest } from './nearest.ts'
import {
	flagOf,
	kebab,
	type NumberOption,
	type OptionTable,
	type PositionalTable,
	type TextOption,
	type Values,
} from './options.ts'
import { looksLikeOption, readValue, takes } from './values.ts'

/** An option as it was typed. */
interface Typed {
	/** Its name in the table; undefined when it has no such option. */
	readonly name: string | undefined
	/** `--seed`, `-s`. */
	readonly flag: string
	/** The whole word that it stood in: `-qs7`, `--seed=7`. */
	readonly word: string
	readonly value: string | undefined
	/** Was the value in the same word? */
	readonly isInline: boolean
}

/** What was typed, cut up, and not yet checked. */
export interface Cut {
	readonly table: OptionTable
	readonly typed: readonly Typed[]
	readonly positionals: readonly string[]
}

export function cut(args: readonly string[], table: OptionTable): Cut {
	const names = new Map(Object.keys(table).map((name) => [kebab(name), name]))
	const options = Object.fromEntries(
		Object.entries(table).map(([name, { type, short }]) => [
			kebab(name),
			{
				type: type === 'boolean' ? ('boolean' as const) : ('string' as const),
				...(short !== undefined && { short }),
			},
		]),
	)
	const { tokens } = parseArgs({
		args: [...args],
		options,
		strict: false,
		allowPositionals: true,
		tokens: true,
	})
	const typed: Typed[] = []
	const positionals: string[] = []
	for (const token of tokens) {
		if (token.kind === 'positional') positionals.push(token.value)
		if (token.kind !== 'option') continue
		const { name, rawName: flag, value, inlineValue, index } = token
		const word = args[index] ?? flag
		typed.push({ name: names.get(name), flag, word, value, isInline: inlineValue === true })
	}
	return { table, typed, positionals }
}

/** Was this flag given, whatever else may be wrong? */
export const isGiven = ({ typed }: Cut, flag: string): boolean => typed.some(({ name }) => name === flag)

/** The values of all options and positionals, or an error that says what is wrong with one. */
export function readArguments({ table, typed, positionals }: Cut, places: PositionalTable): Values {
	const values: Record<string, unknown> = {}
	const stranger = typed.find(({ name }) => name === undefined)
	if (stranger) throw unknownOption(stranger, table)
	for (const [name, option] of Object.entries(table)) {
		const given = typed.filter((one) => one.name === name)
		values[name] = option.type === 'boolean' ? readFlag(given) : readOption(flagOf(name), option, given)
	}
	return { ...values, ...readPositionals(positionals, places) }
}

const usage = (message: string): CliError => new CliError('usage', message)

function readFlag(given: readonly Typed[]): boolean {
	for (const { flag, value } of given)
		if (value !== undefined) throw usage(`${flag}: got '${value}'; takes no value`)
	return given.length > 0
}

function readOption(flag: string, option: TextOption | NumberOption, given: readonly Typed[]): unknown {
	const values = given.map(({ value, isInline }) => {
		if (value === undefined) throw usage(`${flag}: got nothing; takes ${takes(option)}`)
		if (!isInline && looksLikeOption(value))
			throw usage(
				`${flag}: got the option ${value}; takes ${takes(option)} (if it is meant: ${flag}=${value})`,
			)
		return readValue(flag, option, value)
	})
	if (option.multiple) return values
	if (values.length > 1) throw usage(`${flag} is given ${values.length} times, and takes one value`)
	return values[0] ?? option.default
}

function unknownOption({ flag, word }: Typed, table: OptionTable): CliError {
	// By the whole word, for `-seed` is a `--seed` with a dash too few and not four letters.
	const meant = nearest(word.replace(/^-+|=.*$/gs, ''), Object.keys(table).map(kebab))
	return usage(`unknown option ${flag}${didYouMean(meant && `--${meant}`)}`)
}

function readPositionals(given: readonly string[], places: PositionalTable): Values {
	const rest = [...given]
	const values: Record<string, unknown> = {}
	for (const [name, { value, does, optional, multiple }] of Object.entries(places)) {
		if (rest.length === 0 && !optional) throw usage(`${value} is missing: ${does}`)
		values[name] = multiple ? rest.splice(0) : rest.shift()
	}
	const [extra] = rest
	if (extra !== undefined) throw usage(`'${extra}' is one argument too many`)
	return values
}
