import { describe, expect, test } from 'vitest'
import { Outbox } from '../../../src/outbox/outbox.ts'
import type { OutboxOptions } from '../../../src/outbox/outbox-options.ts'
import { virtualRuntime } from '../../../src/testing/index.ts'
import { fakeStore } from '../fake-store.ts'

const open = (options: Omit<OutboxOptions, 'store'> = {}) => {
	const store = fakeStore()
	return { store, outbox: new Outbox({ store, outsideTransaction: 'allow', ...options }) }
}

describe('options are checked when the outbox is made', () => {
	const store = fakeStore()
	test.each([
		[{}, 'store: got undefined; takes a store'],
		[{ store: 'file.db' }, "store: got 'file.db'; takes a store"],
		[{ store, maxPayload: 1 }, 'maxPayload: got 1; takes nothing, for there is no such option'],
		[{ store, maxPayloadBytes: 0 }, 'maxPayloadBytes: got 0; takes'],
		[{ store, maxPayloadBytes: Number.NaN }, 'maxPayloadBytes: got NaN; takes'],
		[{ store, outsideTransaction: 'ignore' }, "outsideTransaction: got 'ignore'; takes warn, allow, refuse"],
		[{ store, history: 7 }, 'history: got 7; takes true, false or { keepForMs }'],
		[{ store, history: {} }, 'takes true, false or { keepForMs }'],
		[{ store, history: { keepForMs: 0 } }, 'takes true, false or { keepForMs }'],
		[{ store, history: { keepForMs: 1, keepFor: 2 } }, 'history.keepFor: got 2; takes nothing'],
		[{ store, topics: [] }, 'takes an object with a schema for each topic'],
		[
			{ store, topics: { a: { parse: () => 1 } } },
			'topics["a"]: got [object Object]; takes a Standard Schema',
		],
		[{ store, topics: { a: null } }, 'topics["a"]: got null; takes a Standard Schema'],
		// It was a TypeError about setTimer.
		[{ store, runtime: null }, 'runtime: got null; takes a Runtime'],
		[{ store, runtime: {} }, 'runtime: got [object Object]; takes a Runtime'],
		[{ store, onWarning: 'log' }, "onWarning: got 'log'; takes a function"],
	])('%#', (options, message) => {
		expect(() => new Outbox(options as unknown as OutboxOptions)).toThrow(message)
	})
})

test.each([
	[undefined, false, undefined],
	[false, false, undefined],
	[true, true, undefined],
	[{ keepForMs: 1_000 }, true, 1_000],
])('history %j', (history, keepsHistory, historyForMs) => {
	expect(open({ history }).outbox).toMatchObject({ keepsHistory, historyForMs })
})

test('a limit of payloads may be set', async () => {
	const { outbox } = open({ maxPayloadBytes: 10 })
	await outbox.enqueue({ topic: 'a', payload: '12345678' })
	await expect(outbox.enqueue({ topic: 'a', payload: '123456789' })).rejects.toThrow(
		'is 11 bytes of JSON; at most 10',
	)
})

test('a message can be found by its id, whatever its case, with the payload as it was', async () => {
	const { outbox } = open()
	const { id } = await outbox.enqueue({ topic: 'a', payload: { text: 'a\0\ud800' }, headers: { a: 'b' } })
	expect(await outbox.find(id.toUpperCase())).toMatchObject({
		id,
		status: 'pending',
		payload: { text: 'a\0\ud800' },
		headers: { a: 'b' },
		key: undefined,
	})
})

test('what is no id finds nothing, and the database is not asked', async () => {
	const { outbox, store } = open()
	store.find = () => Promise.reject(new Error('invalid input syntax for type uuid'))
	expect(await outbox.find("'; DROP TABLE")).toBeUndefined()
})

test('messages are listed in pages', async () => {
	const { outbox } = open()
	await outbox.enqueue(
		Array.from({ length: 5 }, (_, payload) => ({ topic: payload === 3 ? 'b' : 'a', payload })),
	)
	const first = await outbox.list({ topic: 'a' }, { limit: 3 })
	expect(first.map(({ payload }) => payload)).toEqual([0, 1, 2])
	const second = await outbox.list({ topic: 'a' }, { limit: 3, after: first.at(-1)?.id })
	expect(second.map(({ payload }) => payload)).toEqual([4])
	expect(await outbox.list()).toHaveLength(5)
	expect(await outbox.list({ ids: [] })).toEqual([])
	await expect(outbox.list({}, { limit: 0 })).rejects.toThrow('limit: got 0; takes a whole number')
	await expect(outbox.list({}, { after: 'x' })).rejects.toThrow("after: got 'x'; takes the id of a message")
})

describe('retry makes what waits due now', () => {
	const batch = (from: number, count: number) => Array.from({ length: count }, (_, i) => `id-${from + i}`)

	test('in batches, to the end, and relays are woken', async () => {
		const { outbox, store } = open()
		store.retryBatches = [batch(0, 1_000), batch(1_000, 1_000), batch(2_000, 7)]
		expect(await outbox.retry({ destination: 'billing' })).toBe(2_007)
		expect(store.retryFilters).toEqual(Array.from({ length: 3 }, () => ({ destination: 'billing' })))
		expect(store.rings).toBeGreaterThan(0)
	})

	test('and what fails again meanwhile is not made due again and again without an end', async () => {
		const { outbox, store } = open()
		store.retryNow = () => Promise.resolve(batch(0, 1_000))
		expect(await outbox.retry({ destination: 'billing' })).toBe(1_000)
	})

	test('timers have their turn between two batches; 200,000 messages used to hold the event loop to their end', async () => {
		const runtime = virtualRuntime()
		const { outbox, store } = open({ runtime })
		store.retryBatches = [batch(0, 1_000), batch(1_000, 1_000), batch(2_000, 7)]
		const asked: number[] = []
		const turn = (): void => {
			asked.push(store.retryFilters.length)
			if (asked.length < 3) runtime.setTimer(0, turn)
		}
		runtime.setTimer(0, turn)
		const retried = outbox.retry({ destination: 'billing' })
		await runtime.runUntilIdle()
		expect(asked).toEqual([1, 2, 3])
		expect(await retried).toBe(2_007)
	})

	test('a filter that is misspelt is refused', async () => {
		await expect(open().outbox.retry({ destnation: 'b' } as object)).rejects.toThrow('destnation')
	})
})

test('a relay of this process is woken after a replay of dead letters', async () => {
	const { outbox } = open()
	let woken = 0
	outbox.attach({ serves: () => true, wake: () => woken++, stop: async () => {} })
	await outbox.dead.edit('0190a6e2-0000-7000-8000-000000000000', { payload: 1 })
	expect(woken).toBe(1)
})

test('migrate, stats and why are answered by the store', async () => {
	const { outbox } = open()
	expect(await outbox.migrate()).toEqual({ from: 0, to: 1, applied: ['first'] })
	expect(await outbox.stats()).toBeDefined()
	expect(await outbox.why('0190a6e2-0000-7000-8000-000000000000')).toEqual(expect.any(String))
})

test('what the database fails with is the error of enqueue, whether thrown or rejected', async () => {
	const { outbox, store } = open()
	store.insert = () => Promise.reject(new Error('disk full'))
	await expect(outbox.enqueue({ topic: 'a', payload: 1 })).rejects.toThrow('disk full')
	store.insert = () => {
		throw new Error('closed')
	}
	await expect(outbox.enqueue({ topic: 'a', payload: 1 })).rejects.toThrow('closed')
	expect(store.rings).toBe(0)
})

test('close rings what is still to be rung, closes the store once, and leaves no timer', async () => {
	const runtime = virtualRuntime()
	const { outbox, store } = open({ runtime })
	for (let i = 0; i < 3; i++) await outbox.enqueue({ topic: 'a', payload: 1 })
	await Promise.all([outbox.close(), outbox.close()])
	expect(store.rings).toBe(2)
	expect(store.closes).toBe(1)
	expect(runtime.pendingTimers).toBe(0)
	outbox.wake()
	expect(store.rings).toBe(2)
})
