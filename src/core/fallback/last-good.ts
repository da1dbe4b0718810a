import type { Call, Seat } from '../engine/call.ts'
import { Registry } from '../keyed/registry.ts'
import { checkRange } from '../options/rules.ts'

/** How many results are kept, one for each `key` of calls. */
const MOST_RESULTS = 1_000

/** An alternative of a fallback: the latest result that was good, unless it is too old. Made by `lastGood`. */
export class LastGood {
	readonly #maxAgeMs: number
	readonly #results: Registry<{ value: unknown; at: number }>

	/** @internal */
	constructor(maxAgeMs: number) {
		checkRange('lastGood(maxAgeMs)', maxAgeMs, 0, Infinity)
		this.#maxAgeMs = maxAgeMs
		this.#results = new Registry(MOST_RESULTS, maxAgeMs)
	}

	/** @internal */
	keep({ value, options }: Call, { runtime }: Seat): void {
		const now = runtime.now()
		Object.assign(
			this.#results.get(options?.key ?? '', now, () => ({ value, at: now })),
			{ value, at: now },
		)
	}

	/** @internal */
	find({ options }: Call, { runtime }: Seat): { readonly value: unknown } | undefined {
		const kept = this.#results.peek(options?.key ?? '')
		return kept && runtime.now() - kept.at <= this.#maxAgeMs ? kept : undefined
	}
}

/**
 * The latest good result, for a fallback: not older than `maxAgeMs`, and of a call with the same `key`. Give calls a key whenever
 * their results differ, by user or by argument, or one caller is answered with another's result.
 *
 * @example
 * const rates = pipeline(fallback(lastGood(60_000)), retry())
 * await rates.execute(() => loadRates('EUR'), { key: 'EUR' })
 */
export function lastGood(maxAgeMs: number): LastGood {
	return new LastGood(maxAgeMs)
}
