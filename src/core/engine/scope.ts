/**
 * The signals that work sees. A scope is a part of a call that can be aborted on its own: the whole of it, what is inside
 * a timeout, a branch of a hedge. Its signal is made when somebody asks for it, and tied to what is around it only while the scope
 * lasts, so that no listener stays on a long-lived signal and nothing is aborted after success. (`AbortSignal.any` would
 * keep the tie for as long as the caller's signal lives.)
 */
import type { CallOptions } from './call-options.ts'

export interface Scope {
	/** The signal, once there is one. */
	link: SignalLink | undefined
	/** What aborts this scope, beside itself; undefined when it is over or nothing does. */
	abortedBy(): CallOptions | undefined
	/** Can it be aborted by itself? If not, a caller's signal is handed through as it is. */
	readonly abortsItself: boolean
}

export interface SignalLink {
	readonly signal: AbortSignal
	abort?(reason: unknown): void
	unlink?(): void
}

export function scopeSignal(scope: Scope): AbortSignal {
	scope.link ??= linkSignal(scope.abortedBy() ?? {}, scope.abortsItself)
	return scope.link.signal
}

/** Aborts what is inside a scope, also for who asks for the signal only later. */
export function abortScope(scope: Scope, reason: unknown): void {
	if (scope.link) scope.link.abort?.(reason)
	else scope.link = abortedLink(reason)
}

/** Made when asked for: work that is over mostly never does, and a signal costs more than the rest of a timeout. */
function abortedLink(reason: unknown): SignalLink {
	let made: AbortSignal | undefined
	return {
		get signal() {
			made ??= AbortSignal.abort(reason)
			return made
		},
	}
}

function linkSignal({ signal, deadline }: CallOptions, needsOwn: boolean): SignalLink {
	if (signal && !deadline && !needsOwn) return { signal }
	const own = new AbortController()
	const abort = (reason: unknown) => own.abort(reason)
	const onAbort = () => abort(signal?.reason)
	if (signal?.aborted) onAbort()
	signal?.addEventListener('abort', onAbort)
	const stopWaiting = deadline?.onExpiry(abort)
	return {
		signal: own.signal,
		abort,
		unlink() {
			stopWaiting?.()
			signal?.removeEventListener('abort', onAbort)
		},
	}
}
