import type { Call, Seat } from '../engine/call.ts'
import { decided } from '../engine/hooks.ts'
import { GO, PARK, type Step } from '../engine/layer.ts'
import type { Tell, TellingLayer } from '../engine/leaf-policy.ts'
import { BulkheadRejectedError, DeadlineExceededError } from '../errors/errors.ts'
import type { RejectedEvent } from '../events/events.ts'
import { checkRange, MOST } from '../options/rules.ts'
import { type Limit, type LimitList, limitList } from '../runtime/limit-list.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { QueueSettings } from './options.ts'
import { type Place, Slots, type Waiter } from './slots.ts'

/** How much one call's time in its slot changes what is expected of the next. */
const WEIGHT = 0.2

export class BulkheadLayer implements TellingLayer {
	readonly slots: Slots<Waiting>
	settings: QueueSettings
	limit: number
	name = ''
	tell: Tell | undefined
	/** Told of every call that had a slot, and since when: the self-tuning form learns from it. */
	learn: ((call: Call, seat: Seat, since: number) => void) | undefined
	/** How long a call keeps its slot, as far as it was measured. */
	holdMs = 0
	#list: LimitList | undefined

	constructor(settings: QueueSettings, limit: number) {
		this.settings = settings
		this.limit = limit
		this.slots = new Slots(limit, settings.maxQueue)
	}

	enter(call: Call, seat: Seat): Step {
		const { slots } = this
		// Who gets a slot at once leaves nothing behind but the turn since which the slot is its own.
		if (!slots.enter()) return this.#queue(call, seat)
		const needsTime = this.learn || call.options?.deadline
		return call.visit(seat, needsTime ? new Waiting(call, 0, call.now(seat.runtime), 'inside') : call.turn)
	}

	resume(call: Call, seat: Seat): Step {
		const waiting = call.kept(seat) as Waiting
		const { runtime } = seat
		if (waiting.place !== 'inside') {
			call.options?.deadline?.throwIfExpired()
			const why = `no slot became free within ${waiting.limit?.ms} ms`
			return this.#reject(call, seat, 'queue-timeout', why)
		}
		const now = runtime.now()
		call.extra.queuedMs = (call.extra.queuedMs ?? 0) + now - waiting.since
		call.startedAt = call.plan.runtime.now()
		waiting.since = now
		waiting.isRunning = true
		waiting.limit?.list?.remove(waiting.limit)
		return GO
	}

	leave(call: Call, seat: Seat): Step {
		const state = call.kept(seat)
		if (state instanceof Waiting) this.#leave(call, seat, state)
		else if (call.aside?.late?.length) this.#release(call, seat, state as number)
		else this.slots.exit()?.call.wake?.()
		return GO
	}

	#leave(call: Call, seat: Seat, state: Waiting): void {
		const { limit, since, turn, isRunning } = state
		limit?.list?.remove(limit)
		// Who was given a slot and left before its turn came has shown nothing of how long work takes. And it is measured once: a
		// classifier that throws has the call leave a second time, and then the slot is given back.
		state.isRunning = false
		if (isRunning) {
			const heldMs = seat.runtime.now() - since
			this.holdMs += (heldMs - this.holdMs) * WEIGHT
			this.learn?.(call, seat, heldMs)
		}
		this.#release(call, seat, turn, state)
	}

	/** Lets those in who hold a slot now and do not know it yet. */
	resize(limit: number): void {
		this.limit = limit
		for (const { call } of this.slots.resize(limit, this.settings.maxQueue)) call.wake?.()
	}

	#queue(call: Call, seat: Seat): Step {
		const { slots, settings, limit } = this
		const { maxQueue, queueTimeoutMs, priority } = settings
		const { runtime } = seat
		// Nobody is let queue for what will come too late.
		const waitMs = (this.holdMs * (slots.queued + 1)) / limit
		if (slots.queued < maxQueue && call.options?.deadline?.shouldRetry(waitMs) === false) {
			this.tell?.(call, seat, { type: 'rejected', reason: 'deadline' })
			const why = `the queue takes about ${Math.round(waitMs)} ms, longer than the deadline`
			return call.refuse(new DeadlineExceededError(`${this.name}: ${why}`))
		}
		const now = call.now(runtime)
		const waiting = new Waiting(call, priority ? priorityOf(call, priority) : 0, now)
		if (slots.arrive(waiting) === 'outside') {
			const why = `all ${limit} slots and all ${maxQueue} places in the queue are taken`
			return this.#reject(call, seat, 'bulkhead-full', why)
		}
		call.visit(seat, waiting)
		if (queueTimeoutMs < Infinity) {
			waiting.limit = new Patience(call, queueTimeoutMs)
			this.#list = limitList(runtime, queueTimeoutMs, this.#list)
			this.#list.add(waiting.limit, now)
		}
		return PARK
	}

	#reject(call: Call, seat: Seat, reason: RejectedEvent['reason'], why: string): Step {
		this.tell?.(call, seat, { type: 'rejected', reason })
		return call.refuse(new BulkheadRejectedError(this.name, why))
	}

	/** Gives a slot back: now or, where work of this call goes on although the call did not wait for it, when that ends. */
	#release(call: Call, seat: Seat, since: number, waiting?: Waiting): void {
		const { slots } = this
		const late = call.aside?.late?.filter(({ turn, place }) => turn > since && place > seat.place)
		const free = () => (waiting ? slots.leave(waiting) : slots.exit())?.call.wake?.()
		if (late?.length) keepFor(late, free, seat.runtime, this.settings.abandonAfterMs)
		else free()
	}
}

/** Calls `free` once: when all of these have ended, or after so long. */
function keepFor(
	late: readonly { readonly onEnd: (() => void)[] }[],
	free: () => void,
	runtime: Runtime,
	abandonAfterMs: number,
): void {
	let left = late.length
	const end = () => {
		left = -1
		cancel?.()
		free()
	}
	const cancel =
		abandonAfterMs < Infinity
			? runtime.setTimer(abandonAfterMs, () => left > 0 && end(), 'housekeeping')
			: undefined
	for (const { onEnd } of late) onEnd.push(() => --left === 0 && end())
}

function priorityOf(call: Call, priority: NonNullable<QueueSettings['priority']>): number {
	const answer = decided('priority', priority(call.options ?? {}))
	checkRange('priority(call)', answer, -MOST)
	return answer
}

/** A call in the queue or, for who wants to know the time, in a slot. */
export class Waiting implements Waiter<Waiting> {
	before: Waiting | undefined
	after: Waiting | undefined
	readonly call: Call
	readonly priority: number
	readonly turn: number
	/** When it came into the queue, and then when it got its slot. */
	since: number
	place: Place
	/** Has its turn come? Between that and the slot there is a moment in which it may still be aborted. */
	isRunning: boolean
	limit: Patience | undefined

	constructor(call: Call, priority: number, since: number, place: Place = 'outside') {
		this.call = call
		this.priority = priority
		this.turn = call.turn
		this.since = since
		this.place = place
		this.isRunning = place === 'inside'
	}
}

/** How long a call stays in the queue. */
class Patience implements Limit {
	before: Limit | undefined
	after: Limit | undefined
	startedAt: number | undefined
	list: LimitList | undefined
	readonly call: Call
	readonly ms: number

	constructor(call: Call, ms: number) {
		this.call = call
		this.ms = ms
	}

	expire(): void {
		this.call.wake?.()
	}
}
