import type { Call, Seat } from '../engine/call.ts'
import type { CallOptions } from '../engine/call-options.ts'
import { drive } from '../engine/drive.ts'
import { interrupt } from '../engine/interrupt.ts'
import { GO, type Step } from '../engine/layer.ts'
import type { Tell, TellingLayer } from '../engine/leaf-policy.ts'
import { type Scope, signalOf, type Tie } from '../engine/scope.ts'
import { TimeoutError } from '../errors/errors.ts'
import { type Limit, type LimitList, limitList } from '../runtime/limit-list.ts'

export class TimeoutLayer implements TellingLayer {
	readonly drive: typeof drive = drive
	ms: number
	name = ''
	tell: Tell | undefined
	list: LimitList | undefined

	constructor(ms: number) {
		this.ms = ms
	}

	enter(call: Call, seat: Seat<TimeoutLayer>): Step {
		const scope = new TimeoutScope(call.scope, this.ms)
		call.scope = scope
		return call.visit(seat, scope)
	}

	/** Work that answers at once needs no limit, and is spared the clock. */
	linger(call: Call, seat: Seat<TimeoutLayer>): void {
		const scope = call.kept(seat) as TimeoutScope
		if (scope.limit) return
		const { runtime } = seat
		scope.limit = new TimeoutLimit(call, seat, scope)
		this.list = limitList(runtime, scope.ms, this.list)
		this.list.add(scope.limit, call.now(runtime))
	}

	leave(call: Call, seat: Seat): Step {
		const scope = call.kept(seat) as TimeoutScope
		const { limit, tie, within } = scope
		limit?.list?.remove(limit)
		tie?.untie?.()
		if (within) call.scope = within
		scope.within = undefined
		return GO
	}
}

/** What is inside a timeout, and can be aborted on its own. */
class TimeoutScope implements Scope {
	/** The scope around it; undefined when this one is over. */
	within: Scope | undefined
	tie: Tie | undefined
	readonly ms: number
	/** Made when it takes a while. */
	limit: TimeoutLimit | undefined

	constructor(within: Scope, ms: number) {
		this.within = within
		this.ms = ms
	}

	get abortsItself(): boolean {
		return true
	}

	abortedBy(): CallOptions | undefined {
		return this.within && { signal: signalOf(this.within) }
	}
}

class TimeoutLimit implements Limit {
	before: Limit | undefined
	after: Limit | undefined
	startedAt: number | undefined
	list: LimitList | undefined
	readonly call: Call
	readonly seat: Seat<TimeoutLayer>
	readonly scope: TimeoutScope

	constructor(call: Call, seat: Seat<TimeoutLayer>, scope: TimeoutScope) {
		this.call = call
		this.seat = seat
		this.scope = scope
	}

	expire(): void {
		const { call, seat, scope } = this
		const { name, tell } = seat.layer
		const timeoutMs = scope.ms
		interrupt(call, seat, scope, new TimeoutError(name, timeoutMs), 'timeout')
		tell?.(call, seat, { type: 'timeout', timeoutMs })
	}
}
