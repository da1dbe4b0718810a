import type { BoundLayer, Call } from '../engine/call.ts'
import { requireSync } from '../engine/hooks.ts'
import { GO, PARK, type Step } from '../engine/layer.ts'
import type { Emit, ObservableLayer } from '../engine/policy.ts'
import { BulkheadRejectedError, DeadlineExceededError } from '../errors/errors.ts'
import { checkRange, MAX_NUMBER } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type TimeoutEntry, type TimeoutList, timeoutList } from '../runtime/timeout-list.ts'
import type { QueueSettings } from './options.ts'
import { Slots, type Waiter, type WaiterState } from './slots.ts'

/** How much one call's time in its slot changes what is expected of the next. */
const HOLD_TIME_WEIGHT = 0.2

export class BulkheadLayer implements ObservableLayer {
	readonly slots: Slots<QueuedCall>
	settings: QueueSettings
	limit: number
	name = ''
	emit: Emit | undefined
	/** Told of every call that had a slot, and since when: the self-tuning form learns from it. */
	onRelease: ((call: Call, bound: BoundLayer, since: number) => void) | undefined
	/** How long a call keeps its slot, as far as it was measured. */
	holdMs = 0
	#list: TimeoutList | undefined

	constructor(settings: QueueSettings, limit: number) {
		this.settings = settings
		this.limit = limit
		this.slots = new Slots(limit, settings.maxQueue)
	}

	enter(call: Call, bound: BoundLayer): Step {
		const { slots } = this
		// Who gets a slot at once leaves nothing behind but the turn since which the slot is its own.
		if (!slots.enter()) return this.#queue(call, bound)
		const needsTime = this.onRelease || call.options?.deadline
		return call.enterLayer(
			bound,
			needsTime ? new QueuedCall(call, 0, call.now(bound.runtime), 'inside') : call.run,
		)
	}

	resume(call: Call, bound: BoundLayer): Step {
		const waiting = call.layerState(bound) as QueuedCall
		const { runtime } = bound
		if (waiting.state !== 'inside') {
			call.options?.deadline?.throwIfExpired()
			const why = `no free slot within ${waiting.limit?.ms} ms in the queue`
			return this.#reject(call, bound, 'queue-timeout', why)
		}
		const now = runtime.now()
		call.rareState.queuedMs = (call.rareState.queuedMs ?? 0) + now - waiting.since
		call.startedAt = call.pipeline.runtime.now()
		waiting.since = now
		waiting.isRunning = true
		waiting.limit?.list?.remove(waiting.limit)
		return GO
	}

	leave(call: Call, bound: BoundLayer): Step {
		const state = call.layerState(bound)
		if (state instanceof QueuedCall) this.#leave(call, bound, state)
		else if (call.rare?.orphans?.length) this.#release(call, bound, state as number)
		else this.slots.exit()?.call.wake?.()
		return GO
	}

	#leave(call: Call, bound: BoundLayer, state: QueuedCall): void {
		const { limit, since, turn, isRunning } = state
		limit?.list?.remove(limit)
		// Who was given a slot and left before its turn came has shown nothing of how long work takes. And it is measured once: a
		// classifier that throws has the call leave a second time, and then the slot is given back.
		state.isRunning = false
		if (isRunning) {
			const heldMs = bound.runtime.now() - since
			this.holdMs += (heldMs - this.holdMs) * HOLD_TIME_WEIGHT
			this.onRelease?.(call, bound, heldMs)
		}
		this.#release(call, bound, turn, state)
	}

	/** Lets those in who hold a slot now and do not know it yet. */
	resize(limit: number): void {
		this.limit = limit
		for (const { call } of this.slots.resize(limit, this.settings.maxQueue)) call.wake?.()
	}

	#queue(call: Call, bound: BoundLayer): Step {
		const { slots, settings, limit } = this
		const { maxQueue, queueTimeoutMs, priority } = settings
		const { runtime } = bound
		// Nobody is let queue for what will come too late.
		const waitMs = (this.holdMs * (slots.queued + 1)) / limit
		if (slots.queued < maxQueue && call.options?.deadline?.shouldRetry(waitMs) === false) {
			this.emit?.(call, bound, { type: 'rejected', reason: 'deadline' })
			const why = `queueing takes about ${Math.round(waitMs)} ms, longer than the deadline allows`
			return call.reject(new DeadlineExceededError(why, this.name))
		}
		const now = call.now(runtime)
		const waiting = new QueuedCall(call, priority ? priorityOf(call, priority) : 0, now)
		if (slots.arrive(waiting) === 'outside') {
			const why = `bulkhead full: ${limit} concurrent calls, ${maxQueue} queued`
			return this.#reject(call, bound, 'bulkhead-full', why)
		}
		call.enterLayer(bound, waiting)
		if (queueTimeoutMs < Infinity) {
			waiting.limit = new QueueTimeout(call, queueTimeoutMs)
			this.#list = timeoutList(runtime, queueTimeoutMs, this.#list)
			this.#list.add(waiting.limit, now)
		}
		return PARK
	}

	#reject(call: Call, bound: BoundLayer, reason: BulkheadRejectedError['reason'], why: string): Step {
		this.emit?.(call, bound, { type: 'rejected', reason })
		return call.reject(new BulkheadRejectedError(this.name, reason, why))
	}

	/** Gives a slot back: now or, where work of this call goes on although the call did not wait for it, when that ends. */
	#release(call: Call, bound: BoundLayer, since: number, waiting?: QueuedCall): void {
		const { slots } = this
		const late = call.rare?.orphans?.filter(({ run, index }) => run > since && index > bound.index)
		const free = () => (waiting ? slots.leave(waiting) : slots.exit())?.call.wake?.()
		if (late?.length) releaseAfterOrphans(late, free, bound.runtime, this.settings.abandonAfterMs)
		else free()
	}
}

/** Calls `free` once: when all of these have ended, or after so long. */
function releaseAfterOrphans(
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
	const answer = requireSync('priority', priority(call.options ?? {}))
	checkRange('priority(call)', answer, -MAX_NUMBER)
	return answer
}

/** A call in the queue or, for who wants to know the time, in a slot. */
export class QueuedCall implements Waiter<QueuedCall> {
	before: QueuedCall | undefined
	after: QueuedCall | undefined
	readonly call: Call
	readonly priority: number
	readonly turn: number
	/** When it came into the queue, and then when it got its slot. */
	since: number
	state: WaiterState
	/** Has its turn come? Between that and the slot there is a moment in which it may still be aborted. */
	isRunning: boolean
	limit: QueueTimeout | undefined

	constructor(call: Call, priority: number, since: number, place: WaiterState = 'outside') {
		this.call = call
		this.priority = priority
		this.turn = call.run
		this.since = since
		this.state = place
		this.isRunning = place === 'inside'
	}
}

/** How long a call stays in the queue. */
class QueueTimeout implements TimeoutEntry {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	startedAt: number | undefined
	list: TimeoutList | undefined
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
