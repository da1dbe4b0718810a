import type { BoundLayer, Call } from '../engine/call.ts'
import type { Step } from '../engine/layer.ts'
import type { Emit, ObservableLayer } from '../engine/policy.ts'
import { BulkheadRejectedError, DeadlineExceededError } from '../errors/errors.ts'
import { requireSync } from '../options/hooks.ts'
import { invalidOption } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { findTimeoutList, type TimeoutEntry, type TimeoutList } from '../runtime/timeout-list.ts'
import type { QueueSettings } from './options.ts'
import { Slots, type Waiter, type WaiterState } from './slots.ts'

export const DEFAULT_NAME = 'bulkhead'

/** The weight of one call's hold time in the moving average. */
const HOLD_TIME_WEIGHT = 0.2

/** One in this many of the queued calls that need no times is measured. */
const RESUMED_PER_CLOCK_READ = 64

export class BulkheadLayer implements ObservableLayer {
	/** A call that gets a slot immediately stores only the run since which it holds the slot. */
	declare readonly callState: number | QueuedCall
	readonly slots: Slots<QueuedCall>
	settings: QueueSettings
	limit: number
	readonly name: string
	emit: Emit | undefined
	/** Called for every call that held a slot, with its hold time. The adaptive bulkhead learns from it. */
	onRelease: ((call: Call, bound: BoundLayer, since: number) => void) | undefined
	/** The moving average of how long a call holds its slot. */
	holdMs = 0
	#list: TimeoutList | undefined
	/** Queued calls that got a slot without needing times. */
	#resumed = 0

	constructor(settings: QueueSettings, limit: number) {
		this.name = settings.name ?? DEFAULT_NAME
		this.settings = settings
		this.limit = limit
		this.slots = new Slots(limit, settings.maxQueue)
	}

	enter(call: Call, bound: BoundLayer<BulkheadLayer>): Step {
		const { slots } = this
		if (!slots.enter()) return this.#queue(call, bound)
		const needsTime = this.onRelease || call.options?.deadline
		return call.enterLayer(
			bound,
			needsTime ? new QueuedCall(call, 0, call.now(bound.runtime), 'inside') : call.run,
		)
	}

	resume(call: Call, bound: BoundLayer<BulkheadLayer>): Step {
		const waiting = call.layerState(bound) as QueuedCall
		const { runtime } = bound
		if (waiting.state !== 'inside') {
			call.options?.deadline?.throwIfExpired()
			const why = `no free slot within queueTimeoutMs (${waiting.timeoutMs} ms)`
			return this.#reject(call, bound, 'queue-timeout', why)
		}
		waiting.list?.remove(waiting)
		// The attempt starts now.
		call.startedAt = undefined
		// Without times only some calls are measured, because the clock costs as much as the rest of the queue.
		if (this.onRelease || call.needsTimes || !(this.#resumed++ % RESUMED_PER_CLOCK_READ)) {
			const now = call.now(runtime)
			call.startedAt ??= call.pipeline.runtime.now()
			call.queuedMs = (call.queuedMs ?? 0) + now - (waiting.startedAt ?? now)
			waiting.since = now
		}
		return 'continue'
	}

	leave(call: Call, bound: BoundLayer<BulkheadLayer>): Step {
		const state = call.layerState(bound)
		if (state instanceof QueuedCall) this.#leave(call, bound, state)
		else if (call.rare?.orphans?.length) this.#release(call, bound, state)
		else this.slots.exit()?.call.wake?.()
		return 'continue'
	}

	#leave(call: Call, bound: BoundLayer, state: QueuedCall): void {
		const { since, turn } = state
		state.list?.remove(state)
		// A call that left between getting its slot and running says nothing about latency. And it is measured
		// once: if a classifier throws, the call leaves a second time and then frees the slot.
		state.since = undefined
		if (since !== undefined) {
			const heldMs = bound.runtime.now() - since
			this.holdMs += (heldMs - this.holdMs) * HOLD_TIME_WEIGHT
			this.onRelease?.(call, bound, heldMs)
		}
		if (call.rare?.orphans?.length) this.#release(call, bound, turn, state)
		else this.slots.leave(state)?.call.wake?.()
	}

	/** Wakes the calls that got a slot through the new limit. */
	resize(limit: number): void {
		this.limit = limit
		for (const { call } of this.slots.resize(limit, this.settings.maxQueue)) call.wake?.()
	}

	#queue(call: Call, bound: BoundLayer<BulkheadLayer>): Step {
		const { slots, settings, limit } = this
		const { maxQueue, queueTimeoutMs, priority } = settings
		const { runtime } = bound
		if (this.#isHeldBy(call.parentCall)) {
			const why = 'no free slot for a call inside a call that holds one; both could wait forever'
			return this.#reject(call, bound, 'nested-call', why)
		}
		// A call is not queued if its turn would come after its deadline.
		const waitMs = (this.holdMs * (slots.queued + 1)) / limit
		if (slots.queued < maxQueue && call.options?.deadline?.shouldRetry(waitMs) === false) {
			this.emit?.(call, bound, { type: 'rejected', reason: 'deadline' })
			const why = `queueing takes about ${Math.round(waitMs)} ms, longer than the deadline allows`
			return call.reject(new DeadlineExceededError(why, this.name, call.pipeline.name))
		}
		const now = call.now(runtime)
		const waiting = new QueuedCall(call, priority ? priorityOf(call, priority) : 0, now)
		if (slots.arrive(waiting) === 'outside') {
			const why = `bulkhead full (maxConcurrent ${limit}, maxQueue ${maxQueue})`
			return this.#reject(call, bound, 'bulkhead-full', why)
		}
		call.enterLayer(bound, waiting)
		if (queueTimeoutMs < Infinity) {
			waiting.timeoutMs = queueTimeoutMs
			this.#list = findTimeoutList(runtime, queueTimeoutMs, this.#list)
			this.#list.add(waiting, now)
		}
		return 'park'
	}

	/** True if this call or a parent call holds a slot, which would not become free while it waits. */
	#isHeldBy(call: Call | undefined): boolean {
		for (let outer = call; outer; outer = outer.parentCall)
			for (let bound = outer.current; bound; bound = bound.outer) if (bound.layer === this) return true
		return false
	}

	#reject(call: Call, bound: BoundLayer, reason: BulkheadRejectedError['reason'], why: string): Step {
		this.emit?.(call, bound, { type: 'rejected', reason })
		return call.reject(new BulkheadRejectedError(this.name, reason, why, call.pipeline.name))
	}

	/** Frees a slot: now or, if an operation of this call is still running, when that operation ends. */
	#release(call: Call, bound: BoundLayer, since: number, waiting?: QueuedCall): void {
		const { slots } = this
		const late = call.rare?.orphans?.filter(({ run, index }) => run > since && index > bound.index)
		const free = () => (waiting ? slots.leave(waiting) : slots.exit())?.call.wake?.()
		if (late?.length) releaseAfterOrphans(late, free, bound.runtime, this.settings.abandonAfterMs)
		else free()
	}
}

/** Calls `free` once: when all orphans have ended, or after `abandonAfterMs`. */
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
	const result = requireSync('priority', priority(call.options ?? {}))
	if (!Number.isFinite(result)) invalidOption('priority(call)', result, 'a finite number')
	return result
}

/** A call in the queue or, where its times matter, in a slot. It is also the entry of its queue timeout. */
export class QueuedCall implements Waiter<QueuedCall>, TimeoutEntry {
	previous: QueuedCall | undefined
	following: QueuedCall | undefined
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	list: TimeoutList | undefined
	readonly call: Call
	readonly priority: number
	readonly turn: number
	/** When it entered the queue. */
	startedAt: number | undefined
	/** When it got its slot, if that was measured. It may still be aborted before it runs. */
	since: number | undefined
	state: WaiterState
	timeoutMs: number | undefined

	constructor(call: Call, priority: number, now: number, state: WaiterState = 'outside') {
		this.call = call
		this.priority = priority
		this.turn = call.run
		this.startedAt = now
		this.since = state === 'inside' ? now : undefined
		this.state = state
	}

	expire(): void {
		this.call.wake?.()
	}
}
