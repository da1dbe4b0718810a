/**
 * Option schemas: one table per options object. A number's row is minimum, maximum, default and, for counts,
 * `'integer'`; a list of names starts with the default; for anything else the row is the type. Validation,
 * error message, default and list of names come from the same row and cannot drift apart, and `lint` reads
 * the same table. A schema library would be a dependency of core and several times its size.
 */
import { InvalidArgumentError, InvalidOptionError } from '../errors/errors.ts'
import { nearestName } from './nearest-name.ts'

/** `'any'` is validated elsewhere, or accepts everything. */
type OptionRule =
	| readonly [min: number, max: number, fallback: number, kind?: 'integer']
	| readonly string[]
	| 'function'
	| 'string'
	| 'boolean'
	| 'any'

export type OptionSchema = Readonly<Record<string, OptionRule>>

/** The options that are numbers. The schema has a default for each. */
export type Numbers<Options> = {
	readonly [Name in keyof Options as Options[Name] extends number | undefined ? Name : never]-?: number
}

/** Options after validation. A limit that is off is Infinity. */
export type Filled<Options> = Omit<Options, keyof Numbers<Options>> & Numbers<Options>

/** The greatest finite number. As a maximum it rejects Infinity and NaN. */
export const MAX_NUMBER: number = Number.MAX_VALUE

const isInRange = (min: number, max: number, value: unknown): value is number =>
	typeof value === 'number' && value >= min && value <= max

/** Returns true for a duration or another amount: a finite number, 0 or more. */
export const isAmount = (value: unknown): value is number => isInRange(0, MAX_NUMBER, value)

/** True for what may hold options. The contents of functions and lists would be ignored. */
export const isObject = (value: unknown): value is object =>
	typeof value === 'object' && value !== null && !Array.isArray(value)

/** Throws an InvalidOptionError. `expected` is a phrase such as `an integer, 0 or more`. */
export function invalidOption(option: string, value: unknown, expected: string): never {
	throw new InvalidOptionError(option, value, expected)
}

/** Like `invalidOption`, for a value that contradicts another option. It may be the default. */
export function invalidBound<Options>(
	given: Options,
	option: keyof Options & string,
	value: unknown,
	expected: string,
): never {
	invalidOption(option, value, expected + (given[option] === undefined ? ' instead of the default' : ''))
}

/** Throws an InvalidArgumentError, for what is not an option. */
export function invalidArgument(argument: string, value: unknown, expected: string): never {
	throw new InvalidArgumentError(argument, value, expected)
}

export function checkRange(
	option: string,
	value: unknown,
	min = 0,
	max: number = MAX_NUMBER,
	kind?: 'integer',
	fail: typeof invalidOption = invalidOption,
): void {
	// Infinity has no remainder, so it passes where the range allows it.
	if (isInRange(min, max, value) && !(kind && value % 1)) return
	const noun = kind ? 'an integer' : max < MAX_NUMBER ? 'a number' : 'a finite number'
	const range = max < MAX_NUMBER ? ` from ${min} to ${max}` : `, ${min} or more`
	fail(option, value, noun + range)
}

/** Throws unless `value`, an argument that is not an option, is a number from 0 to `max`. */
export const checkAmount = (
	argument: string,
	value: unknown,
	max: number = MAX_NUMBER,
	kind?: 'integer',
): void => checkRange(argument, value, 0, max, kind, invalidArgument)

/** Throws unless `value` is one of the names. `more` names what else is valid. */
export function checkName(option: string, value: unknown, names: readonly unknown[], more = ''): void {
	if (!names.includes(value)) invalidOption(option, value, `one of ${names.join(', ')}${more}`)
}

/**
 * Throws for names that the schema does not have. A misspelt name would otherwise silently select the
 * default. `owner` is named in the message: `Unknown option "baseDelay" for retry.`
 */
export function checkNames(given: object, schema: OptionSchema, owner?: string): void {
	if (!isObject(given)) invalidOption('options', given, 'an object')
	for (const name of Object.keys(given)) {
		if (Object.hasOwn(schema, name)) continue
		const names = Object.keys(schema)
		const value: unknown = Reflect.get(given, name)
		// `retry: 3` does not mean `onRetry`.
		const possible = names.filter((one) => schema[one] !== 'function' || typeof value === 'function')
		const suggestion = nearestName(name, possible)
		throw new InvalidOptionError(name, value, names.join(', '), { owner, suggestion })
	}
}

/** Validates `given` and fills in the defaults. `Settings` is the resulting type. */
export function readOptions<Settings>(given: object, schema: OptionSchema): Settings {
	// A copy of the defaults and a loop over what was given: measured, five times as fast as a loop over the
	// schema.
	const settings: Record<string, unknown> = { ...defaultsOf(schema) }
	for (const [name, value] of Object.entries(given)) {
		if (value === undefined) continue
		const rule = schema[name]
		if (rule) checkOption(name, value, rule)
		settings[name] = value
	}
	return settings as Settings
}

/** The defaults of every schema that was used, because policies are created by the thousand. */
const knownDefaults: WeakMap<OptionSchema, object> = /* @__PURE__ */ new WeakMap()

function defaultsOf(schema: OptionSchema): object {
	const known = knownDefaults.get(schema)
	if (known) return known
	const defaults: Record<string, unknown> = {}
	for (const [name, rule] of Object.entries(schema)) {
		// Converted from a string, so that each default is a small integer where it can be: an array that
		// contains a fraction makes V8 box all its numbers, one heap object per policy and option.
		if (isRange(rule)) defaults[name] = Number(`${rule[2]}`)
		else if (typeof rule === 'object') defaults[name] = rule[0]
	}
	knownDefaults.set(schema, defaults)
	return defaults
}

const isRange = (rule: OptionRule): rule is Extract<OptionRule, readonly [number, ...unknown[]]> =>
	typeof rule[0] === 'number'

function checkOption(name: string, value: unknown, rule: OptionRule): void {
	if (isRange(rule)) checkRange(name, value, rule[0], rule[1], rule[3])
	else if (typeof rule === 'object') checkName(name, value, rule)
	else if (rule !== 'any' && typeof value !== rule) invalidOption(name, value, `a ${rule}`)
}

/** Merges `given` into `options`, for `update`. Undefined values keep the old setting. */
export function mergeOptions<Options extends object>(options: Options, given: object): Options {
	const changes = Object.entries(given).filter(([, value]) => value !== undefined)
	for (const [name, value] of changes)
		if (FIXED.has(name)) invalidOption(name, value, 'no value: it cannot be changed after creation')
	return { ...options, ...Object.fromEntries(changes) }
}

/** Other policies of a pipeline rely on these options. */
const FIXED: ReadonlySet<string> = /* @__PURE__ */ new Set(['name', 'runtime', 'classify', 'onEvent'])

/** Returns the options of a policy that can be switched on and off; undefined means the default. */
export function readSwitchable<Options extends object>(
	name: string,
	given: Options | boolean | undefined,
	defaults: Options | undefined,
): Options | undefined {
	if (given === undefined) return defaults
	if (typeof given === 'boolean') return given ? (defaults ?? ({} as Options)) : undefined
	if (!isObject(given)) invalidOption(name, given, 'an options object, true or false')
	// All origins or methods would share the policy, and the outage of one would block the others.
	if ('execute' in given) invalidOption(name, given, 'an options object, not a policy')
	return given
}
