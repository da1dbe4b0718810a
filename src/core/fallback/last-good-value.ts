import type { BoundLayer, Call } from '../engine/call.ts'
import { Registry } from '../keyed/registry.ts'
import { checkRange } from '../options/schema.ts'

/** How many results are kept, one for each `key` of calls. */
const MOST_RESULTS = 1_000

/** An alternative of a fallback: the latest result that was good, unless it is too old. Made by `lastGood`. */
export class LastGoodValue {
	readonly #maxAgeMs: number
	readonly #results: Registry<{ value: unknown; at: number }>

	/** @internal */
	constructor(maxAgeMs: number) {
		checkRange('lastGoodValue(maxAgeMs)', maxAgeMs, 0, Infinity)
		this.#maxAgeMs = maxAgeMs
		this.#results = new Registry(MOST_RESULTS, maxAgeMs)
	}

	/** @internal */
	keep({ value, options }: Call, { runtime }: BoundLayer): void {
		const now = runtime.now()
		Object.assign(
			this.#results.get(options?.key ?? '', now, () => ({ value, at: now })),
			{ value, at: now },
		)
	}

	/** @internal */
	find({ options }: Call, { runtime }: BoundLayer): { readonly value: unknown } | undefined {
		const kept = this.#results.find(options?.key ?? '')
		return kept && runtime.now() - kept.at <= this.#maxAgeMs ? kept : undefined
	}
}

/**
 * The latest good result, for a fallback: not older than `maxAgeMs`, and of a call with the same `key`. Give calls a key whenever
 * their results differ, by user or by argument, or one caller is answered with another's result.
 *
 * @example
 * const rates = pipeline(fallback(lastGoodValue(60_000)), retry())
 * await rates.execute(() => loadRates('EUR'), { key: 'EUR' })
 */
export function lastGoodValue(maxAgeMs: number): LastGoodValue {
	return new LastGoodValue(maxAgeMs)
}
