import { expect, test } from 'vitest'
import { DatabaseNotifier } from '../../../src/outbox/notify/database-notifier.ts'
import { virtualRuntime } from '../../../src/testing/index.ts'

function open(answer: () => Promise<void> = () => Promise.resolve()) {
	const clock = virtualRuntime()
	const rungAt: number[] = []
	const bell = new DatabaseNotifier(() => {
		rungAt.push(clock.now())
		return answer()
	}, clock)
	return { clock, rungAt, bell }
}

test('the first ring goes out at once', () => {
	const { bell, rungAt } = open()
	bell.ring()
	expect(rungAt).toEqual([0])
})

test('a thousand rings at once are two: one now, and one for those that came after it', async () => {
	const { bell, rungAt, clock } = open()
	for (let i = 0; i < 1_000; i++) bell.ring()
	await clock.runUntilIdle()
	expect(rungAt).toEqual([0, 5])
})

test('a ring every millisecond is one every five', async () => {
	const { bell, rungAt, clock } = open()
	for (let i = 0; i < 20; i++) {
		bell.ring()
		await clock.advance(1)
	}
	await clock.runUntilIdle()
	expect(rungAt).toEqual([0, 5, 10, 15, 20])
})

test('while one is under way, however long that takes, only one is to come', async () => {
	const waiting: (() => void)[] = []
	const { bell, rungAt, clock } = open(() => new Promise((resolve) => waiting.push(resolve)))
	for (let i = 0; i < 10; i++) {
		bell.ring()
		await clock.advance(100)
	}
	expect(rungAt).toEqual([0])
	waiting.shift()?.()
	await clock.advance(100)
	expect(rungAt).toEqual([0, 1_000])
	waiting.shift()?.()
	await clock.runUntilIdle()
	expect(rungAt).toHaveLength(2)
})

test('a ring that fails, by a promise or at once, is nobody else’s trouble, and the next one goes out', async () => {
	let isThrown = false
	const unhandled: unknown[] = []
	const hear = (reason: unknown) => unhandled.push(reason)
	process.on('unhandledRejection', hear)
	const { bell, rungAt, clock } = open(() => {
		if (isThrown) throw new Error('no connection')
		return Promise.reject(new Error('no connection'))
	})
	bell.ring()
	await clock.advance(10)
	isThrown = true
	bell.ring()
	await clock.advance(10)
	bell.ring()
	await clock.advance(10)
	await new Promise((resolve) => setImmediate(resolve))
	process.off('unhandledRejection', hear)
	expect(rungAt).toEqual([0, 10, 20])
	expect(unhandled).toEqual([])
})

test('what is to come when it is closed is rung before the end, and nothing after it', async () => {
	const { bell, rungAt, clock } = open()
	bell.ring()
	bell.ring()
	await bell.close()
	expect(rungAt).toEqual([0, 0])
	bell.ring()
	await clock.runUntilIdle()
	expect(rungAt).toHaveLength(2)
	expect(clock.pendingTimers).toBe(0)
})
