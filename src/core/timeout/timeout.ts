import { LeafPolicy } from '../engine/policy.ts'
import { checkPolicyOptions, type PolicyOptions } from '../engine/policy-options.ts'
import { checkRange } from '../options/schema.ts'
import { TimeoutLayer } from './layer.ts'

/** What a timeout takes beside its length. */
export type TimeoutOptions = PolicyOptions

/**
 * Gives work a time to answer in: each attempt when it stands inside a retry, the whole when it stands outside. The work
 * hears of it by its signal; the caller is answered with a TimeoutError even when the work does not listen.
 *
 * @example
 * const policy = pipeline(new Timeout(10_000), retry(), new Timeout(2_000))
 */
export class Timeout extends LeafPolicy {
	readonly #layer: TimeoutLayer
	constructor(ms: number, options: TimeoutOptions = {}) {
		checkPolicyOptions(options, undefined, 'timeout')
		const layer = new TimeoutLayer(checked(ms))
		super('timeout', options, layer)
		layer.name = this.name
		this.#layer = layer
	}

	/** Another length for the calls to come. */
	update(ms: number): void {
		this.#layer.ms = checked(ms)
	}
}

function checked(ms: number): number {
	checkRange('timeout(ms)', ms)
	return ms
}

/**
 * A timeout policy: `new Timeout(ms, options)`.
 *
 * @example
 * const answer = await timeout(5_000).execute(({ signal }) => fetch(url, { signal }))
 */
export function timeout(ms: number, options?: TimeoutOptions): Timeout {
	return new Timeout(ms, options)
}
