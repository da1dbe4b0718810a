import { LeafPolicy } from '../engine/policy.ts'
import { NO_OPTIONS, type PolicyOptions, readPolicyOptions } from '../engine/policy-options.ts'
import { checkAmount } from '../options/schema.ts'
import { TimeoutLayer } from './layer.ts'

/** Options of a timeout besides its length. */
export type TimeoutOptions = PolicyOptions

/**
 * A policy that limits the duration of an operation: of each attempt inside a retry, of the whole call
 * outside. `timeout()` creates it. The operation's signal is aborted. The caller gets a `TimeoutError` even
 * if the operation ignores its signal. The caller's abort and the deadline end the call in the same way, with
 * the caller's reason.
 *
 * @example
 * const policy = pipeline(timeout(10_000), retry(), timeout(2_000))
 */
export class Timeout extends LeafPolicy {
	/** @internal */
	declare protected readonly layer: TimeoutLayer

	constructor(ms: number, options: TimeoutOptions = NO_OPTIONS) {
		readPolicyOptions(options, 'timeout')
		checkAmount('ms', ms)
		super('timeout', options, new TimeoutLayer(ms, options.name ?? 'timeout'))
	}

	/** Changes the timeout for later calls. */
	update(ms: number): void {
		checkAmount('ms', ms)
		this.layer.ms = ms
	}
}

/**
 * Creates a policy that ends an operation, or a whole call, after `ms` milliseconds.
 *
 * @example
 * const answer = await timeout(5_000).execute(({ signal }) => fetch(url, { signal }))
 */
export function timeout(ms: number, options?: TimeoutOptions): Timeout {
	return new Timeout(ms, options)
}
