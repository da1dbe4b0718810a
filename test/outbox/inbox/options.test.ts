import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { presets } from 'yaoki'
import { Inbox, type InboxOptions, postgresInboxStore, sqliteInboxStore } from 'yaoki/outbox'
import { virtualRuntime } from 'yaoki/testing'
import { readInboxOptions } from '../../../src/outbox/inbox/inbox-options.ts'
import { openSqlite } from './sqlite.ts'
import { openInbox, receive } from './suite.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const store = sqliteInboxStore('unused.db')
const read = (options: Partial<InboxOptions>) => readInboxOptions({ store, ...options })

test('by default marks are kept for 30 days, which is longer than a relay with its defaults repeats a message', () => {
	const { name, retentionMs, senderRetriesForMs, purgeEveryMs, onConflict } = read({})
	expect({ name, retentionMs, purgeEveryMs, onConflict }).toEqual({
		name: 'inbox',
		retentionMs: 30 * DAY_MS,
		purgeEveryMs: HOUR_MS,
		onConflict: 'wait',
	})
	const { maxRetries } = presets.messageQueue
	// The longest Retry-After that a relay accepts is an hour, with up to a quarter of jitter; an attempt takes at most 30 s.
	expect(senderRetriesForMs).toBe(maxRetries * HOUR_MS * 1.25 + (maxRetries + 1) * 30_000)
	expect(senderRetriesForMs).toBe(45_330_000)
})

test('a retention shorter than the sender retries is an error that says both and why', () => {
	expect(() => read({ retentionMs: DAY_MS, senderRetriesForMs: 2 * DAY_MS })).toThrow(
		expect.objectContaining({
			optionPath: 'retentionMs',
			message:
				'Invalid option "retentionMs": expected at least senderRetriesForMs (172800000), because a message that the sender repeats after its mark was deleted is processed again, got 86400000',
		}),
	)
	expect(() => read({ senderRetriesForMs: 31 * DAY_MS })).toThrow(
		/senderRetriesForMs \(2678400000\).* got 2592000000/,
	)
	expect(() => read({ retentionMs: 1_000 })).toThrow(/senderRetriesForMs \(45330000, its default\)/)
	expect(read({ retentionMs: DAY_MS, senderRetriesForMs: DAY_MS }).retentionMs).toBe(DAY_MS)
	expect(read({ retentionMs: Infinity, senderRetriesForMs: Infinity }).retentionMs).toBe(Infinity)
})

test.each<[string, object]>([
	['store', { store: undefined }],
	['store', { store: {} }],
	['name', { name: '' }],
	['name', { name: 'a\0' }],
	['name', { name: 'é'.repeat(128) }],
	['retentionMs', { retentionMs: 0 }],
	['senderRetriesForMs', { senderRetriesForMs: -1 }],
	['purgeEveryMs', { purgeEveryMs: Infinity }],
	['onConflict', { onConflict: 'block' }],
	['runtime', { runtime: {} }],
	['onEvent', { onEvent: 1 }],
	['retention', { retention: 1 }],
])('an invalid %s is rejected: %j', (optionPath, options) => {
	expect(() => new Inbox({ store, ...options })).toThrow(expect.objectContaining({ optionPath }))
})

test('options of stores are checked', () => {
	expect(() => Reflect.apply(postgresInboxStore, undefined, [{ clinet: 1 }])).toThrow(
		expect.objectContaining({ optionPath: 'clinet', suggestion: 'client', owner: 'postgresInboxStore' }),
	)
	expect(() => Reflect.apply(postgresInboxStore, undefined, [{ client: 1 }])).toThrow(
		expect.objectContaining({ optionPath: 'client' }),
	)
	expect(() => Reflect.apply(sqliteInboxStore, undefined, [{ flie: 'a.db' }])).toThrow(
		expect.objectContaining({ suggestion: 'file', owner: 'sqliteInboxStore' }),
	)
})

describe('the purge', () => {
	/** An inbox whose store records its purges. */
	async function setup(options: Partial<InboxOptions> = {}) {
		const database = await openSqlite()
		const runtime = virtualRuntime({ seed: 3 })
		const purges: unknown[][] = []
		const purge = vi.fn(async (...args: unknown[]) => {
			purges.push([runtime.now(), ...args])
			return 0
		})
		const inbox = new Inbox({ store: { ...database.openStore(), purge }, runtime, ...options })
		onTestFinished(() => inbox.close())
		await inbox.migrate()
		return { database, inbox, runtime, purges, purge }
	}

	test('starts with the first message, and runs about every hour in small batches', async () => {
		const { database, inbox, runtime, purges } = await setup()
		await runtime.advance(10 * HOUR_MS)
		expect(purges).toEqual([])
		await receive(database, inbox, 'a')
		await runtime.advance(20 * HOUR_MS)
		expect(purges.length).toBeGreaterThanOrEqual(16)
		expect(purges.length).toBeLessThanOrEqual(27)
		expect(purges[0]?.slice(1)).toEqual([500, true])
		await inbox.close()
		const { length } = purges
		await runtime.advance(20 * HOUR_MS)
		expect(purges.length).toBe(length)
	})

	test('does not run with purgeEveryMs 0', async () => {
		const { database, inbox, runtime, purges } = await setup({ purgeEveryMs: 0 })
		await receive(database, inbox, 'a')
		await runtime.advance(100 * HOUR_MS)
		expect(purges).toEqual([])
	})

	test('that fails is printed once, and repeated', async () => {
		const { database, inbox, runtime, purge } = await setup({ name: 'orders' })
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		onTestFinished(() => {
			vi.restoreAllMocks()
		})
		purge.mockRejectedValue(new Error('disk full'))
		await receive(database, inbox, 'a')
		await runtime.advance(10 * HOUR_MS)
		expect(purge.mock.calls.length).toBeGreaterThan(5)
		expect(warn.mock.calls).toEqual([
			['yaoki: inbox "orders" could not delete expired marks, and tries it again later: disk full'],
		])
	})
})

test('an unsubscribed listener receives nothing, and onEvent does', async () => {
	const database = await openSqlite()
	const { inbox, events } = await openInbox(database, { name: 'orders' })
	const seen: string[] = []
	const unsubscribe = inbox.subscribe(({ type, emitter }) => seen.push(`${emitter} ${type}`))
	await receive(database, inbox, 'a')
	unsubscribe()
	await receive(database, inbox, 'a')
	expect(seen).toEqual(['orders inbox_processed'])
	expect(events.length).toBe(2)
})
