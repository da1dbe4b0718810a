/**
 * What a command takes, as tables: one for its options, one for what stands without a dash. Help, parsing, messages and the
 * types of the values are all read from them, so that none can say something else than the others.
 */

interface OptionBase {
	/** One letter: `-s`. */
	readonly short?: string
	/** What it does, for help: `the seed of chance`. */
	readonly does: string
}

/** Given or not: `--json`. */
export interface FlagOption extends OptionBase {
	readonly type: 'boolean'
}

interface ValueOption extends OptionBase {
	/** What stands for the value in help: `FILE`. */
	readonly value: string
	/** May it be given more than once? Then its value is a list, and an empty one if it is not given. */
	readonly multiple?: boolean
}

export interface TextOption extends ValueOption {
	readonly type: 'string'
	readonly default?: string
	/** Only these. */
	readonly choices?: readonly string[]
}

/** `'integer'` takes whole numbers only. */
export interface NumberOption extends ValueOption {
	readonly type: 'number' | 'integer'
	readonly default?: number
	readonly least?: number
	readonly most?: number
}

export type Option = FlagOption | TextOption | NumberOption

/** Options by their names; `maxEvents` is `--max-events` on the command line. */
export type OptionTable = Readonly<Record<string, Option>>

/** What is given by its place. */
export interface Positional {
	/** What stands for it in help: `NAME|FILE`. */
	readonly value: string
	readonly does: string
	readonly optional?: boolean
	/** All that follow, as a list. Only the last may. */
	readonly multiple?: boolean
}

/** Positionals by their names, in their order. */
export type PositionalTable = Readonly<Record<string, Positional>>

type One<O extends Option> = O extends FlagOption
	? boolean
	: O extends NumberOption
		? number
		: O extends { readonly choices: readonly (infer Choice)[] }
			? Choice
			: string

type OptionValue<O extends Option> = O extends { readonly multiple: true }
	? readonly One<O>[]
	: O extends FlagOption | { readonly default: string | number }
		? One<O>
		: One<O> | undefined

type PositionalValue<P extends Positional> = P extends { readonly multiple: true }
	? readonly string[]
	: P extends { readonly optional: true }
		? string | undefined
		: string

/** What a command's tables make of what was typed. */
export type Arguments<Options extends OptionTable, Positionals extends PositionalTable> = {
	readonly [Name in keyof Options]: OptionValue<Options[Name]>
} & {
	readonly [Name in keyof Positionals]: PositionalValue<Positionals[Name]>
}

/** The same where the tables are not known by name. */
export type Values = Readonly<Record<string, unknown>>

/** `maxEvents` as it is typed: `--max-events`. */
export const flagOf = (name: string): string => `--${kebab(name)}`

export const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
