import { invalidOption, isAmount, MAX_NUMBER, type OptionSchema, readOptions } from '../options/schema.ts'
import { GROWTHS } from './growth.ts'
import { JITTERS } from './jitter.ts'
import type { BackoffGrowth, BackoffSettings, JitterStrategy } from './settings.ts'

/** How long to wait before each retry. Every part of the toolkit that waits takes these. */
export interface BackoffOptions {
	/** The first step. Default 1,000. */
	readonly baseDelayMs?: number | undefined
	/** The cap of every step, applied before the jitter. Default 30,000. */
	readonly maxDelayMs?: number | undefined
	/** How steps grow: a named curve, a list whose last value repeats, or a function of the attempt. Default `'exponential'`. */
	readonly growth?: BackoffGrowth | undefined
	/** What an exponential step is multiplied by. Default 2. */
	readonly factor?: number | undefined
	/** How chance spreads the delays of a fleet. Default `'full'`. */
	readonly jitterStrategy?: JitterStrategy | undefined
	/** The share of a step that `'proportional'` jitter adds at most, 0 to 1. Default 0.3. */
	readonly jitterFactor?: number | undefined
	/** What `'additive'` jitter adds at most. Default 1,000. */
	readonly jitterRangeMs?: number | undefined
	/** How many retries may follow the first call: 3 makes at most 4 calls. Default 3. */
	readonly maxRetries?: number | undefined
	/** No attempt starts later than this after the first one did. Default: no limit. */
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
	maxRetries: [0, Infinity, 3],
	maxElapsedMs: [0, MAX_NUMBER, Infinity],
}

/** The options with every default filled in, and those that `rules` add to them; throws for what can not work. */
export function readBackoff<Settings extends BackoffSettings = BackoffSettings>(
	options: BackoffOptions,
	rules: OptionSchema = BACKOFF_SCHEMA,
): Settings {
	const { growth = 'exponential', jitterStrategy = 'full' } = options
	const settings = { ...readOptions<Settings>(options, rules), growth, jitterStrategy }
	const { baseDelayMs, maxDelayMs, maxRetries, maxElapsedMs } = settings
	checkName('jitterStrategy', jitterStrategy, JITTERS, '')
	if (Array.isArray(growth)) {
		if (!growth.length || !growth.every(isAmount))
			invalidOption('growth', growth, 'a list of milliseconds, one or more')
	} else if (typeof growth !== 'function') {
		checkName('growth', growth, GROWTHS, ', a list of milliseconds, a function')
	}
	// Nothing retries forever.
	if (maxRetries === Infinity ? maxElapsedMs === Infinity || !baseDelayMs : maxRetries % 1) {
		invalidOption(
			'maxRetries',
			maxRetries,
			'an integer, or Infinity together with maxElapsedMs and baseDelayMs above 0',
		)
	}
	// A list or a function of one's own does not grow from the base, so there the cap may lie below its default.
	if (maxDelayMs < baseDelayMs && (typeof growth === 'string' || jitterStrategy.startsWith('decorrelated'))) {
		invalidOption(
			'maxDelayMs',
			maxDelayMs,
			`at least baseDelayMs (${baseDelayMs})${options.maxDelayMs === undefined ? '; that is the default' : ''}`,
		)
	}
	return settings
}

function checkName(option: string, value: unknown, table: object, more: string): void {
	if (!Object.hasOwn(table, String(value)))
		invalidOption(option, value, `one of ${Object.keys(table).join(', ')}${more}`)
}
