import { describe, expect, test } from 'vitest'
import { presets, schedule } from '../../src/core/index.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { OutboxOptions } from '../../src/outbox/outbox-options.ts'
import { readRelayOptions } from '../../src/outbox/relay/options.ts'
import { DEFAULT_DEDUPE_FOR_MS } from '../../src/outbox/store/stored-values.ts'
import { virtualRuntime } from '../../src/testing/index.ts'
import { fakeStore } from './fake-store.ts'

const setup = (options: Omit<OutboxOptions, 'store'> = {}) => {
	const store = fakeStore()
	return { store, outbox: new Outbox({ store, outsideTransaction: 'allow', ...options }) }
}

describe('an outbox', () => {
	const store = fakeStore()
	test.each([
		[{}, 'store'],
		[{ store: 'file.db' }, 'store'],
		[{ store, maxPayload: 1 }, 'maxPayload'],
		[{ store, maxPayloadBytes: 0 }, 'maxPayloadBytes'],
		[{ store, maxPayloadBytes: Number.NaN }, 'maxPayloadBytes'],
		[{ store, outsideTransaction: 'ignore' }, 'outsideTransaction'],
		[{ store, history: true }, 'history'],
		[{ store, historyForMs: true }, 'historyForMs'],
		[{ store, historyForMs: -1 }, 'historyForMs'],
		[{ store, historyForMs: { keepForMs: 1 } }, 'historyForMs'],
		[{ store, dedupeForMs: 0 }, 'dedupeForMs'],
		[{ store, dedupeForMs: '1d' }, 'dedupeForMs'],
		[{ store, lockKeys: 'never' }, 'lockKeys'],
		[{ store, topics: [] }, 'topics'],
		[{ store, topics: { a: { parse: () => 1 } } }, 'topics["a"]'],
		[{ store, topics: { a: null } }, 'topics["a"]'],
		// Regression: this was a TypeError about setTimer.
		[{ store, runtime: null }, 'runtime'],
		[{ store, runtime: {} }, 'runtime'],
		[{ store, onWarning: 'log' }, 'onWarning'],
	])('rejects invalid options with their path: %#, %s', (options, optionPath) => {
		expect(() => new Outbox(options as unknown as OutboxOptions)).toThrow(
			expect.objectContaining({ code: 'YAOKI_INVALID_OPTION', optionPath }),
		)
	})
})

test.each([
	[undefined, false, 0],
	[0, false, 0],
	[Infinity, true, Infinity],
	[1_000, true, 1_000],
])(
	'historyForMs: %s sets whether and how long sent messages are kept',
	(given, keepsHistory, historyForMs) => {
		expect(setup({ historyForMs: given }).outbox).toMatchObject({ keepsHistory, historyForMs })
	},
)

test('passes dedupeForMs and lockKeys to the store', async () => {
	const given = [{}, { dedupeForMs: 5_000 }, { lockKeys: false }]
	const inserted = given.map(async (options) => {
		const { outbox, store } = setup(options)
		await outbox.enqueue({ topic: 'a', payload: 1 })
		return store.insertOptions[0]
	})
	expect(await Promise.all(inserted)).toEqual([
		{ dedupeForMs: DEFAULT_DEDUPE_FOR_MS, lockKeys: true },
		{ dedupeForMs: 5_000, lockKeys: true },
		{ dedupeForMs: DEFAULT_DEDUPE_FOR_MS, lockKeys: false },
	])
})

test('a dedupe key lives longer than the whole retry schedule of a relay, with the longest Retry-After each time', () => {
	const { maxRetryAfterMs, timeoutMs } = readRelayOptions({})
	const { maxRetries } = presets.messageQueue
	const delaysMs = (schedule(presets.messageQueue).total?.maxMs ?? Infinity) + maxRetries * maxRetryAfterMs
	expect(DEFAULT_DEDUPE_FOR_MS).toBeGreaterThan(delaysMs + (maxRetries + 1) * timeoutMs)
})

test('maxPayloadBytes limits payloads', async () => {
	const { outbox } = setup({ maxPayloadBytes: 10 })
	await outbox.enqueue({ topic: 'a', payload: '12345678' })
	await expect(outbox.enqueue({ topic: 'a', payload: '123456789' })).rejects.toMatchObject({
		issues: [{ field: 'payload', message: expect.stringContaining('at most 10 bytes') }],
	})
})

test('find returns a message by its id in upper or lower case', async () => {
	const { outbox } = setup()
	const { id } = await outbox.enqueue({ topic: 'a', payload: { text: 'a\0\ud800' }, headers: { a: 'b' } })
	expect(await outbox.find(id.toUpperCase())).toMatchObject({
		id,
		status: 'pending',
		payload: { text: 'a\0\ud800' },
		headers: { a: 'b' },
		key: undefined,
	})
})

test('find returns undefined for an invalid id without a query', async () => {
	const { outbox, store } = setup()
	store.find = () => Promise.reject(new Error('invalid input syntax for type uuid'))
	expect(await outbox.find("'; DROP TABLE")).toBeUndefined()
})

test('list returns pages', async () => {
	const { outbox } = setup()
	await outbox.enqueue(
		Array.from({ length: 5 }, (_, payload) => ({ topic: payload === 3 ? 'b' : 'a', payload })),
	)
	const first = await outbox.list({ topic: 'a' }, { limit: 3 })
	expect(first.map(({ payload }) => payload)).toEqual([0, 1, 2])
	const second = await outbox.list({ topic: 'a' }, { limit: 3, after: first.at(-1)?.id })
	expect(second.map(({ payload }) => payload)).toEqual([4])
	expect(await outbox.list()).toHaveLength(5)
	expect(await outbox.list({ ids: [] })).toEqual([])
	await expect(outbox.list({}, { limit: 0 })).rejects.toMatchObject({ optionPath: 'limit' })
	await expect(outbox.list({}, { after: 'x' })).rejects.toMatchObject({ optionPath: 'after' })
})

describe('retry', () => {
	const batch = (from: number, count: number) => Array.from({ length: count }, (_, i) => `id-${from + i}`)

	test('changes messages in batches, and wakes relays', async () => {
		const { outbox, store } = setup()
		store.retryBatches = [batch(0, 1_000), batch(1_000, 1_000), batch(2_000, 7)]
		expect(await outbox.retry({ destination: 'billing' })).toBe(2_007)
		expect(store.retryFilters).toEqual(Array.from({ length: 3 }, () => ({ destination: 'billing' })))
		expect(store.notifications).toBeGreaterThan(0)
	})

	test('makes no message due twice that fails again in the meantime', async () => {
		const { outbox, store } = setup()
		store.retryNow = () => Promise.resolve(batch(0, 1_000))
		expect(await outbox.retry({ destination: 'billing' })).toBe(1_000)
	})

	test('lets timers run between batches (regression: 200,000 messages blocked the event loop)', async () => {
		const runtime = virtualRuntime()
		const { outbox, store } = setup({ runtime })
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

	test('makes all waiting messages due only with { all: true }', async () => {
		const { outbox, store } = setup()
		store.retryBatches = [batch(0, 2)]
		expect(await outbox.retry({}, { all: true })).toBe(2)
		await expect(outbox.retry({}, { canary: true } as object)).rejects.toMatchObject({ optionPath: 'canary' })
	})

	test('rejects an unknown filter field', async () => {
		await expect(setup().outbox.retry({ destnation: 'b' } as object)).rejects.toMatchObject({
			argument: 'filter.destnation',
		})
	})
})

test('a replay of dead letters wakes the local relay', async () => {
	const { outbox, store } = setup()
	store.countDead = async () => ({ count: 1, isCapped: false })
	let woken = 0
	outbox.attach({ serves: () => true, wake: () => woken++, stop: async () => {} })
	await outbox.dead.edit('0190a6e2-0000-7000-8000-000000000000', { payload: 1 })
	expect(woken).toBe(1)
})

test('migrate, stats and why return the results of the store', async () => {
	const { outbox } = setup()
	expect(await outbox.migrate()).toEqual({ from: 0, to: 1, applied: ['first'] })
	expect(await outbox.stats()).toBeDefined()
	expect(await outbox.why('0190a6e2-0000-7000-8000-000000000000')).toEqual(expect.any(String))
})

test('enqueue rejects with the error of the database, thrown or rejected', async () => {
	const { outbox, store } = setup()
	store.insert = () => Promise.reject(new Error('disk full'))
	await expect(outbox.enqueue({ topic: 'a', payload: 1 })).rejects.toThrow('disk full')
	store.insert = () => {
		throw new Error('closed')
	}
	await expect(outbox.enqueue({ topic: 'a', payload: 1 })).rejects.toThrow('closed')
	expect(store.notifications).toBe(0)
})

test('close sends the pending notification, closes the store once and leaves no timer', async () => {
	const runtime = virtualRuntime()
	const { outbox, store } = setup({ runtime })
	for (let i = 0; i < 3; i++) await outbox.enqueue({ topic: 'a', payload: 1 })
	await Promise.all([outbox.close(), outbox.close()])
	expect(store.notifications).toBe(2)
	expect(store.closes).toBe(1)
	expect(runtime.pendingTimers).toBe(0)
	outbox.wake()
	expect(store.notifications).toBe(2)
})
