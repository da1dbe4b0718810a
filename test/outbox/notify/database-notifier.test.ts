import { expect, test } from 'vitest'
import { DatabaseNotifier } from '../../../src/outbox/notify/database-notifier.ts'
import { virtualRuntime } from '../../../src/testing/index.ts'

function setup(send: () => Promise<void> = () => Promise.resolve()) {
	const clock = virtualRuntime()
	const sentAt: number[] = []
	const notifier = new DatabaseNotifier(() => {
		sentAt.push(clock.now())
		return send()
	}, clock)
	return { clock, sentAt, notifier }
}

test('sends the first notification immediately', () => {
	const { notifier, sentAt } = setup()
	notifier.notify()
	expect(sentAt).toEqual([0])
})

test('coalesces a thousand simultaneous notifications into two', async () => {
	const { notifier, sentAt, clock } = setup()
	for (let i = 0; i < 1_000; i++) notifier.notify()
	await clock.runUntilIdle()
	expect(sentAt).toEqual([0, 5])
})

test('sends at most one notification every 5 ms', async () => {
	const { notifier, sentAt, clock } = setup()
	for (let i = 0; i < 20; i++) {
		notifier.notify()
		await clock.advance(1)
	}
	await clock.runUntilIdle()
	expect(sentAt).toEqual([0, 5, 10, 15, 20])
})

test('queues at most one notification while one is in flight', async () => {
	const waiting: (() => void)[] = []
	const { notifier, sentAt, clock } = setup(() => new Promise((resolve) => waiting.push(resolve)))
	for (let i = 0; i < 10; i++) {
		notifier.notify()
		await clock.advance(100)
	}
	expect(sentAt).toEqual([0])
	waiting.shift()?.()
	await clock.advance(100)
	expect(sentAt).toEqual([0, 1_000])
	waiting.shift()?.()
	await clock.runUntilIdle()
	expect(sentAt).toHaveLength(2)
})

test('ignores a failed notification, rejected or thrown, and sends the next', async () => {
	let isThrown = false
	const unhandled: unknown[] = []
	const onUnhandled = (reason: unknown) => unhandled.push(reason)
	process.on('unhandledRejection', onUnhandled)
	const { notifier, sentAt, clock } = setup(() => {
		if (isThrown) throw new Error('no connection')
		return Promise.reject(new Error('no connection'))
	})
	notifier.notify()
	await clock.advance(10)
	isThrown = true
	notifier.notify()
	await clock.advance(10)
	notifier.notify()
	await clock.advance(10)
	await new Promise((resolve) => setImmediate(resolve))
	process.off('unhandledRejection', onUnhandled)
	expect(sentAt).toEqual([0, 10, 20])
	expect(unhandled).toEqual([])
})

test('close sends the pending notification and ignores later ones', async () => {
	const { notifier, sentAt, clock } = setup()
	notifier.notify()
	notifier.notify()
	await notifier.close()
	expect(sentAt).toEqual([0, 0])
	notifier.notify()
	await clock.runUntilIdle()
	expect(sentAt).toHaveLength(2)
	expect(clock.pendingTimers).toBe(0)
})
