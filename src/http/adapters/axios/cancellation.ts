/**
 * The caller's ways to cancel, as one signal: a signal, a signal of a polyfill, or a token from before there were signals. While a request
 * is on the wire axios' adapter hears of them itself; this is for the waits in between, of which it knows nothing.
 */
import type { AxiosConfig } from './axios-module.ts'

export interface Cancellation {
	readonly signal: AbortSignal | undefined
	/** Leaves no listener behind. */
	release(): void
}

export function cancellationOf({ signal, cancelToken }: AxiosConfig): Cancellation {
	const real = signal instanceof AbortSignal ? signal : undefined
	const foreign = real ? undefined : signal
	if (!cancelToken && !foreign) return { signal: real, release: () => {} }
	const controller = new AbortController()
	const cancel = (reason?: unknown) => controller.abort(reason)
	const abort = () => cancel()
	cancelToken?.subscribe?.(cancel)
	foreign?.addEventListener?.('abort', abort)
	return {
		// A real one stays tied to a stream that is handed out; axios' adapter keeps the token tied to it.
		signal: real ? AbortSignal.any([real, controller.signal]) : controller.signal,
		release() {
			cancelToken?.unsubscribe?.(cancel)
			foreign?.removeEventListener?.('abort', abort)
		},
	}
}
