import type { BoundLayer, Call } from '../engine/call.ts'
import { Registry } from '../keyed/registry.ts'
import { checkAmount } from '../options/schema.ts'

/** The maximum number of found results, one per `key`. */
const MAX_RESULTS = 1_000

/**
 * An alternative of a fallback: the last good result, unless it is too old. `lastGoodValue` creates it; pass
 * it to `fallback`, or in its option `orElse`.
 */
export class LastGoodValue {
	readonly #maxAgeMs: number
	readonly #results: Registry<{ value: unknown; at: number }>

	/** @internal */
	constructor(maxAgeMs: number) {
		checkAmount('maxAgeMs', maxAgeMs, Infinity)
		this.#maxAgeMs = maxAgeMs
		this.#results = new Registry(MAX_RESULTS, maxAgeMs)
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
		const found = this.#results.find(options?.key ?? '')
		return found && runtime.now() - found.at <= this.#maxAgeMs ? found : undefined
	}
}

/**
 * Creates a fallback alternative: the last good result that is not older than `maxAgeMs` and belongs to a
 * call with the same `key`. Set a key on calls whose results differ, by user or by argument; otherwise one
 * caller gets the result of another.
 *
 * @example
 * const rates = pipeline(fallback(lastGoodValue(60_000)), retry())
 * await rates.execute(() => loadRates('EUR'), { key: 'EUR' })
 */
export function lastGoodValue(maxAgeMs: number): LastGoodValue {
	return new LastGoodValue(maxAgeMs)
}
