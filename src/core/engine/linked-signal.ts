/**
 * The signal that the work sees. The caller's own is handed through when nothing else can abort the call. Beside a
 * deadline a signal of the call's own is needed; it is tied to both only while the call runs, so that no listener stays
 * on a long-lived signal and nothing is aborted after success. (`AbortSignal.any` would keep the tie for as long as the
 * caller's signal lives.)
 */
import type { CallOptions } from './call-options.ts'

/** The signal, and what ends its ties. */
export type LinkedSignal = readonly [signal: AbortSignal, untie?: () => void]

export function linkSignal({ signal, deadline }: CallOptions): LinkedSignal {
	if (signal && !deadline) return [signal]
	const own = new AbortController()
	const onAbort = () => own.abort(signal?.reason)
	if (signal?.aborted) onAbort()
	signal?.addEventListener('abort', onAbort)
	const stopWaiting = deadline?.onExpiry((error) => own.abort(error))
	const untie = () => {
		stopWaiting?.()
		signal?.removeEventListener('abort', onAbort)
	}
	return [own.signal, untie]
}
