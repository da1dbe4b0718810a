/**
 * The signals that operations see. A scope is a part of a call that can be aborted separately: the whole
 * call, the part inside a timeout, a branch of a hedge. Its signal is created on first read, and linked to
 * the outer signals only while the scope lasts, so that no listener stays on a long-lived signal and nothing
 * is aborted after success. (`AbortSignal.any` would keep the link for as long as the caller's signal lives.)
 */
import type { CallOptions } from './call-options.ts'

export interface Scope {
	/** The signal, once it was read. */
	link: SignalLink | undefined
	/** What else aborts this scope; undefined if it is over or nothing does. */
	abortedBy(): CallOptions | undefined
	/** True if the scope can be aborted separately. If not, the caller's signal is passed through unchanged. */
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

/** Aborts a scope, also for a signal that is read only later. */
export function abortScope(scope: Scope, reason: unknown): void {
	if (scope.link) scope.link.abort?.(reason)
	else scope.link = new AbortedLink(reason)
}

/**
 * The signal is created when it is read: an operation that has settled rarely reads it, and a signal costs
 * more than the rest of a timeout. A class, because each object literal with a getter costs as much as the
 * signal.
 */
class AbortedLink implements SignalLink {
	readonly reason: unknown

	constructor(reason: unknown) {
		this.reason = reason
	}

	get signal(): AbortSignal {
		return AbortSignal.abort(this.reason)
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
