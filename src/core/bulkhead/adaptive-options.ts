import { checkPolicyOptions } from '../engine/policy-options.ts'
import { checkRange, MOST, type Rules, readOptions, refuse } from '../options/rules.ts'
import { ALGORITHMS, type LimitSettings, within } from './limits.ts'
import { checkWhole, QUEUE_RULES, type QueueOptions, type QueueSettings } from './options.ts'

/** A bulkhead that finds out by itself how many calls may run at once, and within which bounds. */
export interface AdaptiveBulkheadOptions extends QueueOptions {
	/**
	 * What the limit follows: `'gradient'` how much slower answers are than without a queue at the other end, `'aimd'`
	 * only drops (and answers slower than `latencyLimitMs`). Default `'gradient'`.
	 */
	readonly algorithm?: LimitSettings['algorithm'] | undefined
	/** The limit never falls below this. Default 1. */
	readonly minConcurrent?: number | undefined
	/** The limit never rises above this. Default 200. */
	readonly maxConcurrent?: number | undefined
	/** Where the limit starts. Default 20, or the bound that is nearest to it. */
	readonly initialConcurrent?: number | undefined
	/** How many times as slow as without a queue answers may be before `'gradient'` lowers the limit. Default 1.5. */
	readonly latencyTolerance?: number | undefined
	/** A slower answer counts as a drop. Default: none does. */
	readonly latencyLimitMs?: number | undefined
}

/** Adaptive options after the check, with every default filled in. */
export interface AdaptiveBulkheadSettings extends QueueSettings, LimitSettings {}

const ADAPTIVE_RULES: Rules = {
	algorithm: 'any',
	minConcurrent: [1, MOST, 1],
	maxConcurrent: [1, MOST, 200],
	initialConcurrent: [1, MOST, 20],
	latencyTolerance: [1, MOST, 1.5],
	latencyLimitMs: [0, Infinity, Infinity],
	...QUEUE_RULES,
}

export function readAdaptiveBulkheadOptions(options: AdaptiveBulkheadOptions): AdaptiveBulkheadSettings {
	checkPolicyOptions(options, ADAPTIVE_RULES)
	const settings = readOptions<AdaptiveBulkheadSettings>(options, ADAPTIVE_RULES)
	const { minConcurrent, maxConcurrent, maxQueue } = settings
	const { algorithm = 'gradient', initialConcurrent = within(settings, settings.initialConcurrent) } = options
	if (!Object.hasOwn(ALGORITHMS, String(algorithm)))
		refuse('algorithm', algorithm, `one of ${Object.keys(ALGORITHMS).join(', ')}`)
	checkWhole({ minConcurrent, maxConcurrent, initialConcurrent, maxQueue })
	if (maxConcurrent < minConcurrent) {
		refuse(
			'maxConcurrent',
			maxConcurrent,
			`at least minConcurrent (${minConcurrent})${options.maxConcurrent === undefined ? '; that is the default' : ''}`,
		)
	}
	checkRange('initialConcurrent', initialConcurrent, minConcurrent, maxConcurrent)
	return { ...settings, algorithm, initialConcurrent }
}
