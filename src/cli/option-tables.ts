/**
 * The options and positional arguments of a command, as tables. Help, parsing, error messages and the types
 * of the values all come from these tables, so they cannot contradict each other.
 */

interface OptionBase {
	/** One letter: `s` for `-s`. */
	readonly short?: string
	/** For help: `seed of the first run`. */
	readonly description: string
}

/** An option without a value: `--json`. */
export interface FlagOption extends OptionBase {
	readonly type: 'boolean'
}

interface ValueOption extends OptionBase {
	/** Stands for the value in help: `FILE`. */
	readonly placeholder: string
	/** Allows the option several times. Its value is then a list, empty by default. */
	readonly multiple?: boolean
}

export interface TextOption extends ValueOption {
	readonly type: 'string'
	readonly default?: string
	readonly choices?: readonly string[]
}

export interface NumberOption extends ValueOption {
	readonly type: 'number' | 'integer'
	readonly default?: number
	readonly min?: number
	readonly max?: number
}

export type Option = FlagOption | TextOption | NumberOption

/** Options by name; `maxEvents` is `--max-events` on the command line. */
export type OptionTable = Readonly<Record<string, Option>>

export interface Positional {
	/** Stands for the value in help: `NAME|FILE`. */
	readonly placeholder: string
	readonly description: string
	/** Values that shells complete. The command checks the value. */
	readonly choices?: readonly string[]
	readonly optional?: boolean
	/** Takes all remaining arguments as a list. Only the last positional can be multiple. */
	readonly multiple?: boolean
}

/** Positionals by name, in order. */
export type PositionalTable = Readonly<Record<string, Positional>>

type SingleValue<O extends Option> = O extends FlagOption
	? boolean
	: O extends NumberOption
		? number
		: O extends { readonly choices: readonly (infer Choice)[] }
			? Choice
			: string

type OptionValue<O extends Option> = O extends { readonly multiple: true }
	? readonly SingleValue<O>[]
	: O extends FlagOption | { readonly default: string | number }
		? SingleValue<O>
		: SingleValue<O> | undefined

type PositionalValue<P extends Positional> = P extends { readonly multiple: true }
	? readonly string[]
	: P extends { readonly optional: true }
		? string | undefined
		: string

export type Arguments<
	Options extends OptionTable,
	Positionals extends PositionalTable = Record<never, never>,
> = {
	readonly [Name in keyof Options]: OptionValue<Options[Name]>
} & {
	readonly [Name in keyof Positionals]: PositionalValue<Positionals[Name]>
}

export type Values = Readonly<Record<string, unknown>>

export const toKebabCase = (name: string): string =>
	name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** Returns the flag of an option: `--max-events` for `maxEvents`. */
export const toFlag = (name: string): string => `--${toKebabCase(name)}`

export const flag = (description: string, short?: string): FlagOption => ({
	type: 'boolean',
	description,
	...(short !== undefined && { short }),
})

type Details<O extends Option> = Partial<Omit<O, 'type' | 'placeholder' | 'description'>>
type Defined<O extends Option, D> = Pick<O, 'type' | 'description'> & { readonly placeholder: string } & D

const valueOption =
	<O extends TextOption | NumberOption>(type: O['type']) =>
	<const D extends Details<O> = Record<never, never>>(
		placeholder: string,
		description: string,
		details?: D,
	): Defined<O, D> =>
		({ type, placeholder, description, ...details }) as Defined<O, D>

export const text = valueOption<TextOption>('string')

export const integer = valueOption<NumberOption>('integer')
export const number = valueOption<NumberOption>('number')

/** The options of every command. All are flags, so they can also stand before the command's name. */
export const GLOBAL_OPTIONS: Readonly<Record<'help' | 'json' | 'quiet' | 'noColor' | 'debug', FlagOption>> = {
	help: flag('show this help', 'h'),
	json: flag('print the result as one JSON document'),
	quiet: flag('print no notes and no progress', 'q'),
	noColor: flag('print without colors, like NO_COLOR'),
	debug: flag('print the stack of an error, like DEBUG=yaoki'),
}

export const PROGRAM_OPTIONS: Readonly<Record<keyof typeof GLOBAL_OPTIONS | 'version', FlagOption>> = {
	...GLOBAL_OPTIONS,
	version: flag('show the version', 'v'),
}
