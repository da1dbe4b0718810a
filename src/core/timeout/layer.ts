import type { BoundLayer, Call } from '../engine/call.ts'
import type { CallOptions } from '../engine/call-options.ts'
import { interrupt } from '../engine/interrupt.ts'
import { runInterruptibly } from '../engine/interruptible-runner.ts'
import type { Step } from '../engine/layer.ts'
import type { Emit, ObservableLayer } from '../engine/policy.ts'
import { type Scope, type SignalLink, scopeSignal } from '../engine/scope.ts'
import { TimeoutError } from '../errors/errors.ts'
import { findTimeoutList, type TimeoutEntry, type TimeoutList } from '../runtime/timeout-list.ts'

export class TimeoutLayer implements ObservableLayer {
	declare readonly callState: TimeoutScope
	readonly runner: typeof runInterruptibly = runInterruptibly
	ms: number
	readonly name: string
	emit: Emit | undefined
	list: TimeoutList | undefined

	constructor(ms: number, name: string) {
		this.ms = ms
		this.name = name
	}

	enter(call: Call, bound: BoundLayer<TimeoutLayer>): Step {
		const scope = new TimeoutScope(call.scope, this.ms)
		call.scope = scope
		return call.enterLayer(bound, scope)
	}

	/** An operation that settles immediately needs no timeout entry and no clock read. */
	onPending(call: Call, bound: BoundLayer<TimeoutLayer>): void {
		const scope = call.layerState(bound)
		if (scope.limit) return
		const { runtime } = bound
		scope.limit = new TimeoutLimit(call, bound, scope)
		this.list = findTimeoutList(runtime, scope.ms, this.list)
		this.list.add(scope.limit, call.now(runtime))
		if (call.options) scope.limit.watch(call.options)
	}

	leave(call: Call, bound: BoundLayer<TimeoutLayer>): Step {
		const scope = call.layerState(bound)
		const { limit, link, within } = scope
		limit?.list?.remove(limit)
		limit?.unwatch?.()
		link?.unlink?.()
		if (within) call.scope = within
		scope.within = undefined
		return 'continue'
	}
}

/** The part inside a timeout, which can be aborted separately. */
class TimeoutScope implements Scope {
	/** The scope around it; undefined when this one is over. */
	within: Scope | undefined
	link: SignalLink | undefined
	readonly ms: number
	/** Created when the call does not complete synchronously. */
	limit: TimeoutLimit | undefined

	constructor(within: Scope, ms: number) {
		this.within = within
		this.ms = ms
	}

	get abortsItself(): boolean {
		return true
	}

	abortedBy(): CallOptions | undefined {
		return this.within && { signal: scopeSignal(this.within) }
	}
}

class TimeoutLimit implements TimeoutEntry {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	startedAt: number | undefined
	list: TimeoutList | undefined
	readonly call: Call
	readonly bound: BoundLayer<TimeoutLayer>
	readonly scope: TimeoutScope
	unwatch: (() => void) | undefined

	constructor(call: Call, bound: BoundLayer<TimeoutLayer>, scope: TimeoutScope) {
		this.call = call
		this.bound = bound
		this.scope = scope
	}

	expire(): void {
		const { call, bound, scope } = this
		const { name, emit } = bound.layer
		const timeoutMs = scope.ms
		interrupt(call, bound, scope, new TimeoutError(name, timeoutMs, call.pipeline.name), 'timeout')
		emit?.(call, bound, { type: 'timeout', timeoutMs })
	}

	/**
	 * Ends the part inside at the caller's abort and at the deadline too, as if the operation had failed at
	 * that moment: a caller that has left must not wait for an operation that ignores its signal.
	 */
	watch({ signal, deadline }: CallOptions): void {
		const { call, bound, scope } = this
		// The outer timeout watches for both.
		if (scope.within instanceof TimeoutScope) return
		const onAbort = () => interrupt(call, bound, scope, signal?.reason, 'abort')
		// A deadline after the timeout needs no timer.
		const stopWaiting =
			deadline && deadline.remainingMs < scope.ms
				? deadline.onExpiry((error) => interrupt(call, bound, scope, error, 'deadline'))
				: undefined
		if (!signal && !stopWaiting) return
		this.unwatch = () => {
			stopWaiting?.()
			signal?.removeEventListener('abort', onAbort)
		}
		signal?.addEventListener('abort', onAbort)
		// A signal emits `abort` only once.
		if (signal?.aborted) onAbort()
	}
}
