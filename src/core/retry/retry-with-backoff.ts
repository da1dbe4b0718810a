import { Call } from '../engine/call.ts'
import type { CallContext } from '../engine/call-options.ts'
import { compilePipeline, inheritEnv } from '../engine/compile.ts'
import { run } from '../engine/runner.ts'
import { invalidOption, isObject } from '../options/schema.ts'
import { RetryLayer } from './layer.ts'
import { type RetryWithBackoffOptions, readRetryOptions } from './options.ts'

/**
 * Calls `fn`, and retries it with backoff and jitter while it fails with an error that may be temporary.
 *
 * The last error itself is thrown; `explain(error)` returns its history.
 *
 * @example
 * const user = await retryWithBackoff(({ signal }) => loadUser(id, signal), { maxRetries: 3 })
 */
export async function retryWithBackoff<T>(
	fn: (context: CallContext) => T,
	options: RetryWithBackoffOptions<Awaited<T>> = {},
): Promise<Awaited<T>> {
	if (!isObject(options)) invalidOption('options', options, 'an object')
	const { signal, deadline, ...rest } = options
	const settings = readRetryOptions(rest, 'retryWithBackoff')
	const env = inheritEnv(settings)
	const layers = [{ layer: new RetryLayer(settings), ...env }]
	const pipeline = compilePipeline(settings.name ?? 'retryWithBackoff', layers, env)
	return run(new Call(pipeline, { signal, deadline }, fn)) as Promise<Awaited<T>>
}
