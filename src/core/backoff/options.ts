import {
	checkName,
	invalidBound,
	invalidOption,
	isAmount,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../options/schema.ts'
import { type BackoffGrowth, type BackoffSettings, GROWTHS, JITTERS, type JitterStrategy } from './formula.ts'

/**
 * The delay before each retry, and the number of retries. Everything in the package that retries takes these
 * options: `retry`, `calculateDelay`, `schedule`, HTTP clients and the `retry` option of a `Relay`.
 */
export interface BackoffOptions {
	/** The first step in milliseconds. A step is the delay before jitter. Default 1,000. */
	readonly baseDelayMs?: number | undefined
	/** The maximum of every step in milliseconds; jitter is applied after it. Default 30,000. */
	readonly maxDelayMs?: number | undefined
	/** How delays grow: a curve, a list whose last value repeats, or a function. Default `'exponential'`. */
	readonly growth?: BackoffGrowth | undefined
	/** The factor of exponential growth: each step is `factor` times the step before it. Default 2. */
	readonly factor?: number | undefined
	/**
	 * How the delays are randomized, so that clients do not retry at the same time. Default `'full'`;
	 * `'proportional'` with `jitterFactor`, `'additive'` with `jitterRangeMs`.
	 */
	readonly jitterStrategy?: JitterStrategy | undefined
	/**
	 * `'proportional'` jitter adds at most this share of a step, 0 to 1. Default 0.3. Selects that strategy.
	 */
	readonly jitterFactor?: number | undefined
	/** `'additive'` jitter adds at most this many milliseconds. Default 1,000. Selects that strategy. */
	readonly jitterRangeMs?: number | undefined
	/** The number of retries after the first attempt: 3 makes at most 4 attempts. Default 3. */
	readonly maxRetries?: number | undefined
	/** No attempt starts later than this after the first one. Default: no limit. */
	readonly maxElapsedMs?: number | undefined
}

export const BACKOFF_SCHEMA: OptionSchema = {
	baseDelayMs: [0, MAX_NUMBER, 1_000],
	maxDelayMs: [0, MAX_NUMBER, 30_000],
	growth: 'any',
	factor: [1, MAX_NUMBER, 2],
	jitterStrategy: 'any',
	jitterFactor: [0, 1, 0.3],
	jitterRangeMs: [0, MAX_NUMBER, 1_000],
	maxRetries: [0, Infinity, 3, 'integer'],
	maxElapsedMs: [0, MAX_NUMBER, Infinity],
}

/** Validates the options. `read`: the options, read by a larger schema. */
export function readBackoff<Settings extends BackoffSettings = BackoffSettings>(
	options: BackoffOptions,
	read: Settings = readOptions(options, BACKOFF_SCHEMA),
): Settings {
	const { growth = 'exponential' } = options
	const jitterStrategy = selectJitter(options)
	const settings = Object.assign(read, { growth, jitterStrategy })
	const { baseDelayMs, maxDelayMs, maxRetries, maxElapsedMs } = settings
	checkName('jitterStrategy', jitterStrategy, Object.keys(JITTERS))
	if (Array.isArray(growth)) {
		if (!growth.length || !growth.every(isAmount))
			invalidOption('growth', growth, 'a non-empty list of milliseconds')
	} else if (typeof growth !== 'function') {
		checkName('growth', growth, Object.keys(GROWTHS), ', a list of milliseconds, a function')
	}
	if (maxRetries === Infinity && (maxElapsedMs === Infinity || !baseDelayMs))
		invalidOption(
			'maxRetries',
			maxRetries,
			'an integer, or Infinity with maxElapsedMs and a baseDelayMs above 0',
		)
	// A list or a function does not grow from the base, so its cap may be below the default base.
	if (maxDelayMs < baseDelayMs && (typeof growth === 'string' || jitterStrategy.startsWith('decorrelated')))
		invalidBound(options, 'maxDelayMs', maxDelayMs, `at least baseDelayMs (${baseDelayMs})`)
	return settings
}

/** Returns the strategy that the options name or imply by an amount of jitter; else `otherwise`. */
export function selectJitter(
	{ jitterStrategy, jitterFactor, jitterRangeMs }: BackoffOptions,
	otherwise: JitterStrategy = 'full',
): JitterStrategy {
	if (jitterStrategy !== undefined) return jitterStrategy
	if (jitterRangeMs === undefined) return jitterFactor === undefined ? otherwise : 'proportional'
	if (jitterFactor === undefined) return 'additive'
	const expected = "'proportional' or 'additive' beside jitterFactor and jitterRangeMs"
	return invalidOption('jitterStrategy', jitterStrategy, expected)
}
