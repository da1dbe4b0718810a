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
		const visit = new TimeoutVisit(call, seat)
		call.scope = visit
		return call.visit(seat, visit)
	}

	/** Work that answers at once needs no limit, and is spared the clock. */
	linger(call: Call, seat: Seat): void {
		const visit = call.kept(seat) as TimeoutVisit
		if (visit.startedAt !== undefined) return
		const { runtime } = seat
		this.list = limitList(runtime, visit.ms, this.list)
		this.list.add(visit, call.now(runtime))
	}

	leave(call: Call, seat: Seat): Step {
		const visit = call.kept(seat) as TimeoutVisit
		visit.list?.remove(visit)
		visit.tie?.untie?.()
		if (visit.within) call.scope = visit.within
		visit.within = undefined
		return GO
	}
}

/** One call inside a timeout: a scope of its own with a limit. */
class TimeoutVisit implements Scope, Limit {
	readonly seat: Seat<TimeoutLayer>
	readonly call: Call
	readonly ms: number
	/** The scope around it; undefined when this one is over. */
	within: Scope | undefined
	tie: Tie | undefined
	before: Limit | undefined
	after: Limit | undefined
	startedAt: number | undefined
	list: LimitList | undefined

	constructor(call: Call, seat: Seat<TimeoutLayer>) {
		this.call = call
		this.seat = seat
		this.ms = seat.layer.ms
		this.within = call.scope
	}

	get abortsItself(): boolean {
		return true
	}

	abortedBy(): CallOptions | undefined {
		return this.within && { signal: signalOf(this.within) }
	}

	expire(): void {
		const { call, seat, ms } = this
		const { name, tell } = seat.layer
		const error = new TimeoutError(name, ms)
		interrupt(call, seat, this, error, 'timeout')
		tell?.(call, seat, { type: 'timeout', timeoutMs: ms })
	}
}
