/**
 * Parses arguments by the tables of a command. Node's `parseArgs` splits them into tokens (`-qs7`,
 * `--seed=7`, `--`) in its lax mode: its strict mode throws before it returns a token, so `--help` after a
 * mistake would not help, and its messages know neither numbers nor the option that was probably meant.
 * Values are checked here.
 */
import { parseArgs } from 'node:util'
import { InvalidOptionError } from '../core/errors/errors.ts'
import { didYouMean, nearestName } from '../text/nearest.ts'
import { type CliError, usageError } from './errors.ts'
import {
	type NumberOption,
	type OptionTable,
	type PositionalTable,
	type TextOption,
	toFlag,
	toKebabCase,
	type Values,
} from './option-tables.ts'

/** Arguments that are split but not checked. */
export type Tokens = ReturnType<typeof tokenize>
type OptionToken = Tokens['options'][number]

/**
 * Splits arguments. An option has its name in the table, or undefined if it is unknown, its flag (`--seed`,
 * `-s`), the whole argument (`-qs7`, `--seed=7`) and its value, which is inline in both of these.
 */
export function tokenize(args: readonly string[], table: OptionTable) {
	const names = new Map(Object.keys(table).map((name) => [toKebabCase(name), name]))
	const config = Object.entries(table).map(([name, { type, short }]) => {
		const kind = type === 'boolean' ? ('boolean' as const) : ('string' as const)
		return [toKebabCase(name), short === undefined ? { type: kind } : { type: kind, short }] as const
	})
	const { tokens } = parseArgs({
		args: [...args],
		options: Object.fromEntries(config),
		strict: false,
		allowPositionals: true,
		tokens: true,
	})
	const options = tokens.flatMap((token) => {
		if (token.kind !== 'option') return []
		const { name, rawName: flag, value, inlineValue, index } = token
		const argument = args[index] ?? flag
		return [{ name: names.get(name), flag, argument, value, isInline: inlineValue === true }]
	})
	const positionals = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []))
	return { table, options, positionals }
}

/** Returns whether a flag is given, even if other arguments are invalid. */
export const hasFlag = ({ options }: Tokens, name: string): boolean =>
	options.some((option) => option.name === name)

/** Returns the values of all options and positionals. Throws for the first argument that is invalid. */
export function parseArguments(
	{ table, options, positionals }: Tokens,
	positionalTable: PositionalTable,
): Values {
	const values: Record<string, unknown> = {}
	const unknown = options.find(({ name }) => name === undefined)
	if (unknown) throw unknownOption(unknown, table)
	for (const [name, option] of Object.entries(table)) {
		const given = options.filter((one) => one.name === name)
		values[name] = option.type === 'boolean' ? parseFlag(given) : parseOption(toFlag(name), option, given)
	}
	return { ...values, ...parsePositionals(positionals, positionalTable) }
}

function parseFlag(given: readonly OptionToken[]): boolean {
	for (const { flag, value } of given)
		if (value !== undefined) throw usageError(`${flag} does not take a value.`)
	return given.length > 0
}

function parseOption(
	flag: string,
	option: TextOption | NumberOption,
	given: readonly OptionToken[],
): unknown {
	const values = given.map(({ value, isInline }) => {
		if (value === undefined) throw usageError(`${flag} needs a value: ${describeExpected(option)}.`)
		if (!isInline && looksLikeOption(value))
			throw usageError(
				`${flag} needs a value: ${describeExpected(option)}. To pass "${value}", write ${flag}=${value}.`,
			)
		return parseValue(flag, option, value)
	})
	if (option.multiple) return values
	if (values.length > 1) throw usageError(`${flag} is given ${values.length} times, but takes one value.`)
	return values[0] ?? option.default
}

/** A number as people write it. An empty string, `0x10` and `Infinity` are mistakes of scripts. */
const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

function parseValue(flag: string, option: TextOption | NumberOption, text: string): string | number {
	if (option.type !== 'string') {
		const value = DECIMAL.test(text) ? Number(text) : Number.NaN
		if (isInRange(value, option)) return value
		throw new InvalidOptionError(flag, text, describeExpected(option))
	}
	const { choices } = option
	if (!choices || choices.includes(text)) return text
	throw unknownName(flag, text, choices)
}

/** The error for a value that is not one of the given names, with the nearest of them. */
export function unknownName(flag: string, text: string, names: readonly string[]): CliError {
	const meant = didYouMean(nearestName(text, names))
	return usageError(`Unknown value "${text}" for ${flag}.${meant} Valid values: ${names.join(', ')}.`)
}

/** Throws if one of these options is given, which would be ignored without something else. */
export function rejectWithout(needed: string, given: Values): void {
	for (const [name, value] of Object.entries(given)) {
		const isMissing = value === undefined || value === false || (Array.isArray(value) && value.length === 0)
		if (!isMissing) throw usageError(`${toFlag(name)} requires ${needed}.`)
	}
}

function isInRange(value: number, { type, min = -Infinity, max = Infinity }: NumberOption): boolean {
	const isOfType = type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)
	return isOfType && value >= min && value <= max
}

/** Returns the values that an option takes, for messages and help: `an integer >= 1`. */
export function describeExpected(option: TextOption | NumberOption): string {
	if (option.type === 'string')
		return option.choices ? `one of ${option.choices.join(', ')}` : option.placeholder
	const { type, min, max } = option
	const kind = type === 'integer' ? 'an integer' : 'a number'
	if (min !== undefined && max !== undefined) return `${kind} from ${min} to ${max}`
	if (min !== undefined) return `${kind} >= ${min}`
	return max === undefined ? kind : `${kind} <= ${max}`
}

const looksLikeOption = (text: string): boolean =>
	text.startsWith('-') && text.length > 1 && !DECIMAL.test(text)

function unknownOption({ flag, argument }: OptionToken, table: OptionTable): CliError {
	// The whole argument is compared: `-seed` is `--seed` with a missing dash, not four short options.
	const meant = nearestName(argument.replace(/^-+|=.*/gs, ''), Object.keys(table).map(toKebabCase))
	return usageError(`Unknown option ${flag}.${meant === undefined ? '' : ` Did you mean --${meant}?`}`)
}

function parsePositionals(given: readonly string[], table: PositionalTable): Values {
	const rest = [...given]
	const values: Record<string, unknown> = {}
	for (const [name, { placeholder, description, optional, multiple }] of Object.entries(table)) {
		if (rest.length === 0 && !optional) throw usageError(`Missing argument ${placeholder}: ${description}.`)
		values[name] = multiple ? rest.splice(0) : rest.shift()
	}
	const [extra] = rest
	if (extra !== undefined) throw usageError(`Unexpected argument "${extra}".`)
	return values
}
