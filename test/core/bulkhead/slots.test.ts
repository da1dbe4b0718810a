import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Slots, type Waiter, type WaiterState } from '../../../src/core/bulkhead/slots.ts'
import { BulkheadModel } from './model.ts'

class Caller implements Waiter<Caller> {
	previous: Caller | undefined
	following: Caller | undefined
	state: WaiterState = 'outside'
	readonly priority: number
	readonly name: string

	constructor(name: string, priority = 0) {
		this.name = name
		this.priority = priority
	}
}

/** Slots and those who came to them, by name. */
function bulkhead(maxConcurrent: number, maxQueue: number) {
	const slots = new Slots<Caller>(maxConcurrent, maxQueue)
	const callers = new Map<string, Caller>()
	const called = (name: string): Caller => callers.get(name) ?? expect.fail(`there is no caller ${name}`)
	return {
		slots,
		arrive(name: string, priority?: number): WaiterState {
			const caller = new Caller(name, priority)
			callers.set(name, caller)
			return slots.arrive(caller)
		},
		leave: (name: string): string | undefined => slots.leave(called(name))?.name,
		place: (name: string): WaiterState => called(name).state,
		resize: (...limits: [number, number]): string[] => slots.resize(...limits).map((caller) => caller.name),
	}
}

describe('a caller', () => {
	it('takes a slot while there are any, then queues, then is rejected', () => {
		const { arrive, slots } = bulkhead(2, 1)
		expect(['a', 'b', 'c', 'd'].map((name) => arrive(name))).toEqual([
			'inside',
			'inside',
			'queued',
			'outside',
		])
		expect([slots.concurrent, slots.queued]).toEqual([2, 1])
	})

	it('never queues without a queue', () => {
		const { arrive } = bulkhead(1, 0)
		expect([arrive('a'), arrive('b')]).toEqual(['inside', 'outside'])
	})

	it('always finds room in an unbounded queue', () => {
		const { arrive, slots } = bulkhead(1, Infinity)
		for (let i = 0; i <= 1000; i++) arrive(`${i}`)
		expect(slots.queued).toBe(1000)
	})

	it('a caller that has left may come again', () => {
		const slots = new Slots<Caller>(1, 1)
		const caller = new Caller('a')
		slots.arrive(caller)
		slots.leave(caller)
		expect(slots.arrive(caller)).toBe('inside')
	})
})

describe('a free slot', () => {
	it('goes to the next queued call in the same step: a newcomer finds none', () => {
		const { arrive, leave, slots } = bulkhead(1, 5)
		arrive('a')
		arrive('b')
		expect(leave('a')).toBe('b')
		expect(arrive('newcomer')).toBe('queued')
		expect(slots.concurrent).toBe(1)
	})

	it('goes to the higher priority first, and to equal ones in order of arrival', () => {
		const { arrive, leave } = bulkhead(1, 9)
		arrive('running')
		arrive('low 1', -1)
		arrive('usual 1')
		arrive('high 1', 5)
		arrive('usual 2')
		arrive('high 2', 5)
		arrive('low 2', -1)
		const order: string[] = []
		for (let name = leave('running'); name; name = leave(name)) order.push(name)
		expect(order).toEqual(['high 1', 'high 2', 'usual 1', 'usual 2', 'low 1', 'low 2'])
	})

	it('is not given to a caller that left the queue', () => {
		const { arrive, leave, place, slots } = bulkhead(1, 5)
		for (const name of ['a', 'b', 'c', 'd']) arrive(name)
		expect(leave('c')).toBeUndefined()
		expect([place('c'), slots.queued]).toEqual(['outside', 2])
		expect([leave('a'), leave('b'), leave('d')]).toEqual(['b', 'd', undefined])
	})

	it('is handed on if its new owner is aborted before it ran', () => {
		const { arrive, leave, slots } = bulkhead(1, 5)
		for (const name of ['a', 'b', 'c']) arrive(name)
		expect(leave('a')).toBe('b')
		expect(leave('b')).toBe('c')
		expect([slots.concurrent, slots.queued]).toEqual([1, 0])
	})

	it('is freed once: an operation that settles after its slot was reclaimed frees no other', () => {
		const { arrive, leave, slots } = bulkhead(2, 5)
		for (const name of ['hung', 'b', 'c', 'd']) arrive(name)
		expect(leave('hung')).toBe('c')
		expect(leave('hung')).toBeUndefined()
		expect([slots.concurrent, slots.queued]).toEqual([2, 1])
	})
})

describe('a full queue', () => {
	it('drops no call for a newcomer, whatever its priority', () => {
		const { arrive, leave, place } = bulkhead(1, 1)
		arrive('a')
		arrive('b')
		expect(arrive('urgent', 100)).toBe('outside')
		expect(place('b')).toBe('queued')
		expect(leave('a')).toBe('b')
	})
})

describe('changed limits', () => {
	it('admit as many calls as there are new slots, in order', () => {
		const { arrive, resize, slots } = bulkhead(1, 9)
		for (const name of ['a', 'b', 'c', 'd']) arrive(name)
		expect(resize(3, 9)).toEqual(['b', 'c'])
		expect([slots.concurrent, slots.queued]).toEqual([3, 1])
	})

	it('drop no call: running and queued calls stay, and none is admitted before there is a free slot', () => {
		const { arrive, leave, resize, slots } = bulkhead(3, 9)
		for (const name of ['a', 'b', 'c', 'd', 'e']) arrive(name)
		expect(resize(1, 0)).toEqual([])
		expect([slots.concurrent, slots.queued]).toEqual([3, 2])
		expect(arrive('newcomer')).toBe('outside')
		expect([leave('a'), leave('b'), leave('c'), leave('d')]).toEqual([undefined, undefined, 'd', 'e'])
	})
})

it('a caller that has left keeps no neighbor alive', () => {
	const slots = new Slots<Caller>(1, 9)
	const callers = ['a', 'b', 'c', 'd'].map((name) => new Caller(name))
	for (const caller of callers) slots.arrive(caller)
	for (const caller of [...callers.slice(2), ...callers.slice(0, 2)]) slots.leave(caller)
	expect(callers.flatMap(({ previous, following }) => [previous, following])).toEqual(
		new Array(8).fill(undefined),
	)
})

describe('against the reference model, in any history', () => {
	interface Real {
		readonly slots: Slots<Caller>
		readonly everyone: Caller[]
	}
	type Model = BulkheadModel<Caller>
	type Command = fc.Command<Model, Real>

	/** What holds after every step, whatever was done. `before` is how many were inside until then. */
	function agree(model: Model, { slots, everyone }: Real, before: number): void {
		expect(everyone.map((caller) => caller.state)).toEqual(everyone.map((caller) => model.placeOf(caller)))
		expect([slots.concurrent, slots.queued]).toEqual([model.inside.size, model.waiting.length])
		// More than there are slots only where they were inside before some were taken away.
		expect(slots.concurrent).toBeLessThanOrEqual(Math.max(model.maxConcurrent, before))
		// No caller is queued while a slot is free.
		if (slots.queued) expect(slots.concurrent).toBeGreaterThanOrEqual(model.maxConcurrent)
	}

	function step(text: string, act: (model: Model, real: Real) => void): Command {
		return {
			check: () => true,
			toString: () => text,
			run(model, real) {
				const before = model.inside.size
				act(model, real)
				agree(model, real, before)
			},
		}
	}

	const limits = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 6 }))
	const arrive = fc.integer({ min: 0, max: 2 }).map((priority) =>
		step(`arrive(${priority})`, (model, { slots, everyone }) => {
			const caller = new Caller(`${everyone.length}`, priority)
			everyone.push(caller)
			const queued = slots.queued
			const place = slots.arrive(caller)
			expect(place).toBe(model.arrive(caller))
			if (place === 'queued') expect(queued).toBeLessThan(model.maxQueue)
		}),
	)
	/** Anyone: inside, queued, or gone already. */
	const leave = fc.nat().map((pick) =>
		step(`leave(${pick})`, (model, { slots, everyone }) => {
			const caller = everyone[pick % everyone.length]
			if (!caller) return
			const waiting = [...model.waiting]
			const next = slots.leave(caller)
			expect(next).toBe(model.leave(caller))
			if (!next) return
			expect(waiting).toContain(next)
			for (const other of waiting) expect(other.priority).toBeLessThanOrEqual(next.priority)
			// No earlier caller has the same priority.
			expect(waiting.find((other) => other.priority === next.priority)).toBe(next)
		}),
	)
	const resize = limits.map((to) =>
		step(`resize(${to})`, (model, { slots }) => expect(slots.resize(...to)).toEqual(model.resize(...to))),
	)
	/** In the end everyone who was accepted has been let in or has left by itself. */
	function drain(model: Model, real: Real): void {
		const { slots, everyone } = real
		const accepted = everyone.filter((caller) => caller.state !== 'outside').length
		let left = 0
		for (let [caller] = model.inside; caller; [caller] = model.inside) {
			expect(slots.leave(caller)).toBe(model.leave(caller))
			left++
		}
		expect(left).toBe(accepted)
		agree(model, real, 0)
	}

	it('no call is lost, overtaken, admitted too early or admitted after leaving', () => {
		const commands = fc.commands([arrive, arrive, arrive, leave, leave, resize], {
			maxCommands: 60,
			size: 'max',
		})
		fc.assert(
			fc.property(limits, commands, (start, history) => {
				const model: Model = new BulkheadModel<Caller>(...start)
				const real: Real = { slots: new Slots<Caller>(...start), everyone: [] }
				fc.modelRun(() => ({ model, real }), history)
				drain(model, real)
			}),
			{ numRuns: 1_000 },
		)
	})
})
