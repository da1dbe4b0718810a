import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UuidSource, uuidGenerator } from '../../../src/outbox/enqueue/uuid.ts'
import { virtualRuntime } from '../../../src/testing/index.ts'

const VERSION_7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

test('generates UUIDs of version 7 that begin with the time', () => {
	const clock = virtualRuntime({ startAt: Date.UTC(2026, 4, 1, 12, 30) })
	const id = uuidGenerator(clock)()
	expect(id).toMatch(VERSION_7)
	expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(Date.UTC(2026, 4, 1, 12, 30))
})

test('ids of one millisecond are unique and in the order of their creation', () => {
	const newId = uuidGenerator(virtualRuntime())
	const ids = Array.from({ length: 20_000 }, newId)
	expect(new Set(ids).size).toBe(ids.length)
	expect(ids.toSorted()).toEqual(ids)
	expect(ids.filter((id) => !VERSION_7.test(id))).toEqual([])
})

test('ids increase whatever the wall clock does', () => {
	fc.assert(
		fc.property(fc.array(fc.integer({ min: -3_600_000, max: 3_600_000 }), { maxLength: 50 }), (jumps) => {
			const clock = virtualRuntime()
			const newId = uuidGenerator(clock)
			let latest = newId()
			for (const jump of jumps) {
				clock.jumpWallClock(jump)
				const id = newId()
				expect(id > latest).toBe(true)
				expect(id).toMatch(VERSION_7)
				latest = id
			}
		}),
	)
})

test('advances the time by a millisecond when the counter overflows', () => {
	const source = new UuidSource(virtualRuntime({ startAt: 1_000 }), 64)
	const ids = Array.from({ length: 1_000 }, () => source.next())
	expect(ids.toSorted()).toEqual(ids)
	const times = ids.map((id) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))
	expect(times[0]).toBe(1_000)
	// 32 to 64 ids per millisecond.
	expect(times.at(-1)).toBeGreaterThanOrEqual(1_000 + Math.floor(1_000 / 64))
	expect(times.at(-1)).toBeLessThanOrEqual(1_000 + Math.ceil(1_000 / 32))
})

test('two outboxes of a process share one increasing sequence', () => {
	const clock = virtualRuntime()
	const [one, other] = [uuidGenerator(clock), uuidGenerator(clock)]
	const ids = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? one() : other()))
	expect(ids.toSorted()).toEqual(ids)
})

test('two processes generate different ids at the same time', () => {
	const ids = Array.from({ length: 1_000 }, () => uuidGenerator(virtualRuntime())())
	expect(new Set(ids).size).toBe(1_000)
})
