import { InvalidOptionError } from '../errors/errors.ts'
import {
	isAmount,
	isBetween,
	isFunction,
	milliseconds,
	type Rule,
	type Rules,
	readOptions,
} from '../options/rules.ts'
import { GROWTHS } from './growth.ts'
import { JITTERS } from './jitter.ts'
import type { BackoffSettings, Growth, JitterStrategy } from './settings.ts'

/** How long to wait before each retry. Every part of the toolkit that waits takes these. */
export interface BackoffOptions {
	/** The first step. Default 1,000. */
	readonly baseDelayMs?: number | undefined
	/** The cap of every step, applied before the jitter. Default 30,000. */
	readonly maxDelayMs?: number | undefined
	/** How steps grow: a named curve, a list whose last value repeats, or a function of the attempt. Default `'exponential'`. */
	readonly growth?: Growth | undefined
	/** What an exponential step is multiplied by. Default 2. */
	readonly factor?: number | undefined
	/** How chance spreads the delays of a fleet. Default `'full'`. */
	readonly jitterStrategy?: JitterStrategy | undefined
	/** The share of a step that `'proportional'` jitter adds at most, 0 to 1. Default 0.3. */
	readonly jitterFactor?: number | undefined
	/** What `'additive'` jitter adds at most. Default 1,000. */
	readonly jitterRangeMs?: number | undefined
}

const isGrowth = (value: unknown): boolean =>
	isFunction(value) ||
	(Array.isArray(value) ? value.length > 0 && value.every(isAmount) : Object.hasOwn(GROWTHS, value as string))

const oneOf = (table: object): string => `one of ${Object.keys(table).join(', ')}`

export const BACKOFF_RULES: Rules<BackoffSettings> = {
	baseDelayMs: milliseconds(1_000),
	maxDelayMs: milliseconds(30_000),
	growth: [
		isGrowth,
		`${oneOf(GROWTHS)}, a list of milliseconds, or a function of the attempt`,
		'exponential',
	],
	factor: [(value) => isBetween(1, Number.MAX_VALUE, value), 'a finite number, 1 or more', 2],
	jitterStrategy: [(value) => Object.hasOwn(JITTERS, value as string), oneOf(JITTERS), 'full'],
	jitterFactor: [(value) => isBetween(0, 1, value), 'a number from 0 to 1', 0.3],
	jitterRangeMs: milliseconds(1_000),
}

export const MAX_RETRIES: Rule<number> = [
	(value) => value === Infinity || (isAmount(value) && value % 1 === 0),
	'a whole number, 0 or more; Infinity only beside maxElapsedMs',
	3,
]

export function readBackoff(options: BackoffOptions): BackoffSettings {
	const settings = readOptions<BackoffSettings>(options, BACKOFF_RULES)
	checkCap(settings)
	return settings
}

/** A list or a function of one's own does not grow from the base, so there the cap may lie below its default. */
export function checkCap({ baseDelayMs, maxDelayMs, growth, jitterStrategy }: BackoffSettings): void {
	const baseCounts = typeof growth === 'string' || jitterStrategy.startsWith('decorrelated')
	if (baseCounts && maxDelayMs < baseDelayMs) {
		throw new InvalidOptionError('maxDelayMs', maxDelayMs, `at least baseDelayMs (${baseDelayMs})`)
	}
}
