/**
 * What options take, as one table per options object. A number's line is least, greatest and default; of anything else
 * the type is named. So the check, the message, the default and the list of names can not drift apart, and the linter
 * reads the same table. A schema library would be a dependency of core and several times its size.
 */
import { InvalidOptionError } from '../errors/errors.ts'

/** `'any'` is checked elsewhere, or not at all. */
type OptionRule = readonly [least: number, greatest: number, fallback: number] | 'function' | 'string' | 'any'

export type OptionSchema = Readonly<Record<string, OptionRule>>

/** The greatest amount of anything; Infinity and NaN are refused by it. */
export const MAX_NUMBER: number = Number.MAX_VALUE

const isInRange = (least: number, greatest: number, value: unknown): value is number =>
	typeof value === 'number' && value >= least && value <= greatest

/** A duration or another amount: finite, 0 or more. */
export const isAmount = (value: unknown): value is number => isInRange(0, MAX_NUMBER, value)

export function invalidOption(option: string, value: unknown, takes: string): never {
	throw new InvalidOptionError(option, value, takes)
}

/** Refuses a value that is not a number from `least` to `greatest`. */
export function checkRange(option: string, value: unknown, least = 0, greatest: number = MAX_NUMBER): void {
	if (isInRange(least, greatest, value)) return
	const takes =
		greatest < MAX_NUMBER ? `a number from ${least} to ${greatest}` : `a finite number, ${least} or more`
	invalidOption(option, value, takes)
}

/** Refuses names that are no options: a misspelt one would otherwise be a default that nobody chose. */
export function checkNames(given: object, rules: OptionSchema): void {
	if (Object(given) !== given) invalidOption('options', given, 'an object')
	for (const [name, value] of Object.entries(given)) {
		if (!Object.hasOwn(rules, name)) {
			const names = Object.keys(rules).join(', ')
			invalidOption(name, value, `nothing, for there is no such option, only ${names}`)
		}
	}
}

/** All that was given, checked, with the defaults of numbers filled in. `Settings` is what the rules make of `given`. */
export function readOptions<Settings>(given: object, rules: OptionSchema): Settings {
	const settings: Record<string, unknown> = { ...given }
	for (const [name, rule] of Object.entries(rules)) {
		const value = settings[name]
		if (typeof rule === 'object') {
			// By way of a text, or each default would be a box of its own in every policy: a list that has a fraction in it makes
			// V8 take all its numbers for fractions.
			if (value === undefined) settings[name] = Number(`${rule[2]}`)
			else checkRange(name, value, rule[0], rule[1])
		} else if (value !== undefined && rule !== 'any' && typeof value !== rule)
			invalidOption(name, value, `a ${rule}`)
	}
	return settings as Settings
}

/** Options with others in their place; what is undefined there stays as it is. For policies that are given other settings. */
export function mergeOptions<Options extends object>(options: Options, given: object): Options {
	const news = Object.entries(given).filter(([, value]) => value !== undefined)
	for (const [name, value] of news)
		if (FIXED.test(name)) invalidOption(name, value, 'nothing here, for it stays as it was made')
	return { ...options, ...Object.fromEntries(news) }
}

/** What the rest of a pipeline relies on. */
const FIXED = /^(name|runtime|classify|onEvent)$/
