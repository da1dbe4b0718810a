/** What a server asks of clients whose call it has rejected, in `grpc-retry-pushback-ms`. */
import { notify } from '../../core/options/hooks.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { MAX_PUSHBACK_MS, NO_RETRY } from '../status/retry-metadata.ts'
import type { StatusCode } from '../status/status.ts'
import type { GrpcServerSettings, RejectedCall } from './options.ts'
import type { GrpcServerContext } from './server-context.ts'

/** The value that forbids retries. */
export const DO_NOT_RETRY: string = String(NO_RETRY)

/** The clients that were rejected together must not return together. gRPC varies its backoff by as much. */
const JITTER = 0.2

/** Returns the value of the header; undefined for none. */
export function pushbackFor(
	{ pushbackMs }: GrpcServerSettings,
	call: RejectedCall,
	runtime: Runtime,
): string | undefined {
	if (pushbackMs === false) return undefined
	if (typeof pushbackMs === 'number') return format(pushbackMs * (1 + JITTER * (2 * runtime.random() - 1)))
	let value: string | undefined
	notify('pushbackMs', () => {
		const ms = pushbackMs(call)
		if (typeof ms !== 'number' || Number.isNaN(ms))
			throw new TypeError(`expected a number, got ${String(ms)}`)
		value = format(ms)
	})
	return value
}

/** Retryable: CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE. */
const RETRYABLE: ReadonlySet<StatusCode> = new Set([1, 2, 4, 8, 10, 13, 14])

/** Returns true if a failed handler has exhausted its retries: the client's retries would multiply them. */
export const forbidsRetry = (
	{ pushbackMs }: GrpcServerSettings,
	context: GrpcServerContext | undefined,
	code: StatusCode,
): boolean => pushbackMs !== false && context?.retriesExhausted === true && RETRYABLE.has(code)

/** Values that the header cannot express forbid retries: they are longer than any client would wait. */
const format = (ms: number): string =>
	ms < 0 || ms > MAX_PUSHBACK_MS ? DO_NOT_RETRY : String(Math.round(ms))
