/**
 * Options that are numbers, as one table per options object: least, greatest, default. So the check, the message and
 * the default can not drift apart, and the linter reads the same table. A schema library would be a dependency of core and
 * several times its size.
 */
import { InvalidOptionError } from '../errors/errors.ts'

/** `fallback` holds when the option is left out. */
type Range<T> = readonly [least: number, greatest: number, fallback: T]

export type Ranges<Settings> = { readonly [Name in keyof Settings]-?: Range<Settings[Name]> }

/** What a user may hand in for these settings. */
export type Given<Settings> = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }

/** The greatest amount of anything; Infinity and NaN are refused by it. */
export const MOST: number = Number.MAX_VALUE

const isWithin = (least: number, greatest: number, value: unknown): value is number =>
	typeof value === 'number' && value >= least && value <= greatest

/** A duration or another amount: finite, 0 or more. */
export const isAmount = (value: unknown): value is number => isWithin(0, MOST, value)

export function refuse(option: string, value: unknown, takes: string): never {
	throw new InvalidOptionError(option, value, takes)
}

/** Refuses a value that is not a number from `least` to `greatest`. */
export function checkRange(option: string, value: unknown, least = 0, greatest: number = MOST): void {
	if (isWithin(least, greatest, value)) return
	refuse(
		option,
		value,
		greatest < MOST ? `a number from ${least} to ${greatest}` : `a finite number, ${least} or more`,
	)
}

/** Refuses names that are no options: a misspelt one would otherwise be a default that nobody chose. */
export function checkNames(given: object, ...names: readonly string[]): void {
	if (Object(given) !== given) refuse('options', given, 'an object')
	for (const [name, value] of Object.entries(given)) {
		if (!names.includes(name))
			refuse(name, value, `nothing, for there is no such option here, only ${names.join(', ')}`)
	}
}

/** Everything given, with the numbers checked and filled in. */
export function readNumbers<Numbers extends object, Options extends Given<Numbers>>(
	given: Options,
	ranges: Ranges<Numbers>,
): Omit<Options, keyof Numbers> & Numbers {
	const settings: Record<string, unknown> = { ...given }
	for (const [name, [least, greatest, fallback]] of Object.entries<Range<unknown>>(ranges)) {
		if (settings[name] === undefined) settings[name] = fallback
		else checkRange(name, settings[name], least, greatest)
	}
	return settings as Omit<Options, keyof Numbers> & Numbers
}

/** Refuses hooks that are not functions. */
export function checkFunctions<Options extends object>(
	given: Options,
	...names: readonly (keyof Options & string)[]
): void {
	for (const name of names) {
		const hook = given[name] ?? refuse
		if (typeof hook !== 'function') refuse(name, hook, 'a function')
	}
}
