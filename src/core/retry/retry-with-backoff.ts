import { Call } from '../engine/call.ts'
import type { CallContext } from '../engine/context.ts'
import { run } from '../engine/runner.ts'
import { inside } from '../engine/surroundings.ts'
import { RetryLayer } from './layer.ts'
import { type RetryWithBackoffOptions, readRetryOptions } from './options.ts'

/**
 * Calls `fn` now, and again when it fails in a way that may pass.
 *
 * The last error itself is thrown; `explain(error)` tells what happened on the way.
 *
 * @example
 * const user = await retryWithBackoff(({ signal }) => loadUser(id, signal), { maxRetries: 3 })
 */
export async function retryWithBackoff<T>(
	fn: (context: CallContext) => T,
	options: RetryWithBackoffOptions<Awaited<T>> = {},
): Promise<Awaited<T>> {
	const { signal, deadline, ...rest } = options
	const settings = readRetryOptions(rest)
	const around = inside(settings)
	const seats = [{ layer: new RetryLayer(settings), depth: 1, ...around }]
	const plan = { name: settings.name ?? 'retryWithBackoff', seats, ...around, streak: 0 }
	return run(new Call(plan, { signal, deadline }), fn) as Promise<Awaited<T>>
}
