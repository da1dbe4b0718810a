import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Pacer } from '../../../src/core/rate-limiter/pacer.ts'
import { SlidingWindow } from '../../../src/core/rate-limiter/sliding-window.ts'
import { StartQueue } from '../../../src/core/rate-limiter/start-queue.ts'
import { TokenBucket } from '../../../src/core/rate-limiter/token-bucket.ts'
import type { Link } from '../../../src/core/structures/linked-list.ts'
import { command, HISTORIES, LENGTH } from '../structures/command.ts'

class Waiter implements Link<Waiter> {
	previous: Waiter | undefined
	following: Waiter | undefined
	readonly name: string

	constructor(name = '') {
		this.name = name
	}
}

/** One call per second. */
const slowQueue = () => new StartQueue<Waiter>(new TokenBucket(1, 1_000, 1))

/** A queue of one call per second in which the first call has started, and these wait. */
function waitingQueue(...names: string[]) {
	const queue = slowQueue()
	queue.reserve(0)
	const waiters = names.map((name) => new Waiter(name))
	for (const waiter of waiters) queue.wait(waiter, 0)
	return { queue, waiters }
}

/** The calls that start at each of these times. */
const startsAt = (queue: StartQueue<Waiter>, ...times: number[]) =>
	times.map((now) => {
		const started: string[] = []
		for (let due = queue.takeDue(now); due; due = queue.takeDue(now)) started.push(due.name)
		return started.join()
	})

describe('StartQueue', () => {
	it('starts waiting calls in order, each at its start', () => {
		const { queue } = waitingQueue('a', 'b')
		expect(queue.firstStart).toBe(1_000)
		expect(queue.next(0)).toBe(3_000)
		expect(startsAt(queue, 999, 1_000, 1_999, 2_000, 9_000)).toEqual(['', 'a', '', 'b', ''])
		expect(queue.firstStart).toBeUndefined()
	})
	it('moves the calls up that are behind one that leaves', () => {
		const { queue, waiters } = waitingQueue('a', 'b', 'c')
		queue.leave(waiters[0] ?? new Waiter(), 500)
		expect([queue.firstStart, queue.next(500)]).toEqual([1_000, 3_000])
		expect(startsAt(queue, 1_000, 2_000)).toEqual(['b', 'c'])
	})
	it('is free again after all 10,000 waiting calls leave, first come first', () => {
		for (const pacer of [new TokenBucket(10, 1_000, 10), new SlidingWindow(10, 1_000)]) {
			const queue = new StartQueue<Waiter>(pacer)
			for (let i = 0; i < 10; i++) queue.reserve(0)
			const soonest = queue.next(0)
			const waiters = Array.from({ length: 10_000 }, () => new Waiter())
			for (const waiter of waiters) queue.wait(waiter, 0)
			for (const waiter of waiters) queue.leave(waiter, 50)
			expect(queue.next(50)).toBe(soonest)
		}
	})
	it('does not change the time of a start that was reserved without waiting', () => {
		const { queue, waiters } = waitingQueue('a', 'b')
		const fixed = queue.reserve(0)
		queue.wait(new Waiter('c'), 0)
		queue.leave(waiters[0] ?? new Waiter(), 0)
		expect(fixed).toBe(3_000)
		expect(startsAt(queue, 1_000, 2_000, 3_999)).toEqual(['b', 'c', ''])
		// The start of the last call is free.
		expect(queue.next(2_000)).toBe(4_000)
	})
	it('gives a start before a reserved one to the next call', () => {
		const { queue, waiters } = waitingQueue('a')
		const fixed = queue.reserve(0)
		queue.leave(waiters[0] ?? new Waiter(), 0)
		expect([queue.next(0), queue.next(0)]).toEqual([1_000, 1_000])
		queue.wait(new Waiter('b'), 0)
		expect([queue.firstStart, fixed, queue.next(0)]).toEqual([1_000, 2_000, 3_000])
		expect(startsAt(queue, 1_000)).toEqual(['b'])
	})
	it('lets a waiting call have the start of a cancelled reservation', () => {
		const queue = slowQueue()
		queue.reserve(0)
		const fixed = queue.reserve(0)
		queue.wait(new Waiter('a'), 0)
		queue.cancel(fixed, 500)
		expect([queue.firstStart, queue.next(500)]).toEqual([1_000, 2_000])
	})
	it('uses the start of a reservation that is cancelled at its time, and not later', () => {
		const cancelledAt = (now: number) => {
			const queue = slowQueue()
			queue.reserve(0)
			const fixed = queue.reserve(0)
			queue.reserve(0)
			queue.cancel(fixed, now)
			return queue.next(now)
		}
		expect([cancelledAt(1_000), cancelledAt(1_001)]).toEqual([1_000, 3_000])
	})
	it('does not give a start that has passed to a waiting call', () => {
		const queue = slowQueue()
		queue.reserve(0)
		const fixed = queue.reserve(0)
		queue.wait(new Waiter('a'), 0)
		queue.cancel(fixed, 1_500)
		expect(queue.firstStart).toBe(2_000)
	})
	it('does not use a free start after its time', () => {
		const { queue, waiters } = waitingQueue('a')
		queue.reserve(0)
		queue.leave(waiters[0] ?? new Waiter(), 0)
		expect(queue.available(1_000)).toBe(1)
		expect(queue.next(1_000.1)).toBe(3_000)
		expect(queue.available(1_000.1)).toBe(0)
	})
	it('undoes free starts when the reservation after them is cancelled, as if none had been made', () => {
		const undone = () => {
			const { queue, waiters } = waitingQueue('a', 'b')
			const fixed = queue.reserve(0)
			for (const waiter of waiters) queue.leave(waiter, 0)
			queue.cancel(fixed, 0)
			return queue
		}
		const queue = undone()
		expect([0, 0, 0, 0].map((now) => queue.reserve(now))).toEqual([1_000, 2_000, 3_000, 4_000])
		expect(undone().next(1_500)).toBe(1_500)
	})
	it('keeps the starts of waiting calls under a new rate, and those that become free are used', () => {
		const { queue, waiters } = waitingQueue('a', 'b')
		queue.pacer.update(10, 1_000, 1, 0)
		queue.leave(waiters[0] ?? new Waiter(), 0)
		expect([queue.firstStart, queue.next(0)]).toEqual([1_000, 2_000])
	})
})

interface Model {
	now: number
	/** Calls in the order of their arrival, without those that left before their start. */
	calls: { readonly arrival: number; start: number | undefined; readonly waiter: Waiter }[]
	readonly create: () => Pacer
}

/** When each call starts if those that left had never come: a new pacer that knows only the others. */
function replay({ calls, create, now }: Model): { starts: number[]; next: number } {
	const pacer = create()
	const starts = calls.map(({ arrival }) => pacer.reserve(arrival))
	return { starts, next: pacer.next(now) }
}

function advance(model: Model, queue: StartQueue<Waiter>, to: number): void {
	model.now = to
	const { starts } = replay(model)
	for (let start = queue.firstStart, due = queue.takeDue(to); due; ) {
		const call = model.calls.find(({ waiter }) => waiter === due)
		if (!call || start === undefined) throw new Error('a call started that had left')
		expect(start).toBe(starts[model.calls.indexOf(call)])
		call.start = start
		start = queue.firstStart
		due = queue.takeDue(to)
	}
}

const arrive = fc.integer({ min: 1, max: 8 }).map((count) =>
	command<Model, StartQueue<Waiter>>(`${count} arrive`, (model, queue) => {
		const { now } = model
		for (let i = 0; i < count; i++) {
			const waiter = new Waiter()
			const isImmediate = queue.next(now) <= now
			if (isImmediate) queue.reserve(now)
			else queue.wait(waiter, now)
			model.calls.push({ arrival: now, start: isImmediate ? now : undefined, waiter })
		}
	}),
)
const leave = fc.nat().map((which) =>
	command<Model, StartQueue<Waiter>>(`${which} leaves`, (model, queue) => {
		const waiting = model.calls.filter(({ start }) => start === undefined)
		const call = waiting[which % Math.max(1, waiting.length)]
		if (!call) return
		queue.leave(call.waiter, model.now)
		model.calls = model.calls.filter((other) => other !== call)
	}),
)
const mostLeave = fc.nat(3).map((every) =>
	command<Model, StartQueue<Waiter>>(`all leave but every ${every + 2}th`, (model, queue) => {
		const waiting = model.calls.filter(({ start }) => start === undefined)
		for (const [i, call] of waiting.entries()) {
			if (i % (every + 2) === 0) continue
			queue.leave(call.waiter, model.now)
			model.calls = model.calls.filter((other) => other !== call)
		}
	}),
)
const wait = fc
	.oneof(fc.constantFrom(0, 1, 100, 1_000, 7_000), fc.double({ min: 0, max: 3_000, noNaN: true }))
	.map((ms) =>
		command<Model, StartQueue<Waiter>>(`wait ${ms}`, (model, queue) => advance(model, queue, model.now + ms)),
	)
const check = fc.constant(
	command<Model, StartQueue<Waiter>>('compare', (model, queue) => {
		const { starts, next } = replay(model)
		expect(queue.next(model.now)).toBe(next)
		const first = model.calls.findIndex(({ start }) => start === undefined)
		expect(queue.firstStart).toBe(first < 0 ? undefined : starts[first])
	}),
)

const pacers = fc
	.tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom(100, 1_000, 777), fc.integer({ min: 1, max: 5 }))
	.chain(([limit, intervalMs, burst]) =>
		fc.constantFrom<() => Pacer>(
			() => new TokenBucket(limit, intervalMs, burst),
			() => new SlidingWindow(limit, intervalMs),
		),
	)

it('starts every call as if those that left had never come, in every history', () => {
	fc.assert(
		fc.property(
			pacers,
			fc.constantFrom(0, 0.1, 1.7e9),
			fc.commands([arrive, arrive, leave, leave, mostLeave, wait, wait, check], LENGTH),
			(create, now, history) => {
				fc.modelRun(() => ({ model: { now, calls: [], create }, real: new StartQueue(create()) }), history)
			},
		),
		HISTORIES,
	)
})
