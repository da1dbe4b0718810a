/**
 * One table per options object: each line holds an option's test, the words for what it takes, and its default. So
 * the default, the check and the message can not drift apart. A schema library would be a dependency of core and several
 * times its size.
 */
import { InvalidOptionError } from '../errors/errors.ts'

/** One option: is the value allowed, what is allowed in words, and what holds when it is left out. */
export type Rule<T> = readonly [allows: (value: unknown) => boolean, takes: string, fallback: T]

/** What a user may hand in for these settings. */
export type Given<Settings> = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }

export type Rules<Settings> = { readonly [Name in keyof Settings]-?: Rule<Settings[Name]> }

export const isFunction = (value: unknown): value is (...args: never[]) => unknown =>
	typeof value === 'function'

export const isBetween = (least: number, most: number, value: unknown): value is number =>
	typeof value === 'number' && value >= least && value <= most

/** A duration or another amount: finite, 0 or more. */
export const isAmount = (value: unknown): value is number => isBetween(0, Number.MAX_VALUE, value)

export const MILLISECONDS = 'a finite number of milliseconds, 0 or more'

export const milliseconds = <T>(fallback: T): Rule<T> => [isAmount, MILLISECONDS, fallback]
export const hook: Rule<undefined> = [isFunction, 'a function', undefined]
/** Something whose type is all that is asked of it. */
export const anything = <T>(type: string, fallback: T): Rule<T> => [
	(value) => typeof value === type,
	`a value of type ${type}`,
	fallback,
]

/** Fills the defaults in and refuses what a rule does not allow. `undefined` counts as left out, `null` does not. */
export function readOptions<Settings extends object>(
	given: Given<Settings>,
	rules: Rules<Settings>,
): Settings {
	const settings: Partial<Settings> = {}
	for (const name in rules) {
		const [allows, takes, fallback] = rules[name]
		const value = given[name]
		if (value !== undefined && !allows(value)) throw new InvalidOptionError(name, value, takes)
		settings[name] = value === undefined ? fallback : value
	}
	return settings as Settings
}
