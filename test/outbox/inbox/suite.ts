/** What an inbox promises on every database. A message's effect is a row of the table `effects`. */
import { expect, onTestFinished, test } from 'vitest'
import { Inbox, type InboxEvent, type InboxOptions, type InboxStore } from 'yaoki/outbox'
import type { Queryable } from '../../../src/sql/clients.ts'

/** A connection of a user. */
export interface UserConnection {
	readonly tx: Queryable
	run(sql: string): Promise<void>
	addEffect(id: string): Promise<void>
}

export interface InboxDatabase {
	/** A store; its clock is ahead by `offsetMs`. */
	openStore(offsetMs?: () => number): InboxStore
	connect(): Promise<UserConnection>
	/** The committed effects, in the order of their names. */
	effects(): Promise<readonly string[]>
	/** A tx of another kind of database. */
	readonly otherTx: Queryable
	readonly begin: string
}

export type OpenDatabase = () => Promise<InboxDatabase>

export async function openInbox(
	database: InboxDatabase,
	{ offsetMs, ...options }: Partial<InboxOptions> & { readonly offsetMs?: () => number } = {},
) {
	const events: InboxEvent[] = []
	const inbox = new Inbox({
		store: database.openStore(offsetMs),
		onEvent: (event) => events.push(event),
		purgeEveryMs: 0,
		...options,
	})
	onTestFinished(() => inbox.close())
	await inbox.migrate()
	return { inbox, events }
}

const failure = new Error('no stock')

/** Processes a message in a transaction of its own, as a receiver does. */
export async function receive(
	{ connect, begin }: InboxDatabase,
	inbox: Inbox,
	id: string,
	effect: (user: UserConnection) => unknown = (user) => user.addEffect(id),
) {
	const user = await connect()
	await user.run(begin)
	try {
		const result = await inbox.once(id, { tx: user.tx }, () => effect(user))
		await user.run('COMMIT')
		return result
	} catch (error) {
		await user.run('ROLLBACK').catch(() => {})
		throw error
	}
}

export function inboxSuite(open: OpenDatabase): void {
	test('a message that is delivered twice has its effect once', async () => {
		const database = await open()
		const { inbox, events } = await openInbox(database)
		const effect = async (user: UserConnection) => {
			await user.addEffect('a')
			return 7
		}
		expect(await receive(database, inbox, 'a', effect)).toEqual({ isDuplicate: false, value: 7 })
		expect(await receive(database, inbox, 'a', effect)).toEqual({ isDuplicate: true })
		expect(await database.effects()).toEqual(['a'])
		expect(events.map(({ type }) => type)).toEqual(['inbox_processed', 'inbox_duplicate'])
		expect(events[0]).toEqual({
			type: 'inbox_processed',
			emitter: 'inbox',
			timestamp: expect.any(Number),
			messageId: 'a',
			durationMs: expect.any(Number),
		})
	})

	test('after a ROLLBACK the message is processed again', async () => {
		const database = await open()
		const { inbox } = await openInbox(database)
		const user = await database.connect()
		await user.run(database.begin)
		await inbox.once('a', { tx: user.tx }, () => user.addEffect('a'))
		await user.run('ROLLBACK')
		expect(await inbox.find('a')).toBeUndefined()
		expect(await receive(database, inbox, 'a')).toMatchObject({ isDuplicate: false })
		expect(await database.effects()).toEqual(['a'])
	})

	test.each([
		[
			'throws',
			() => {
				throw failure
			},
		],
		['rejects', () => Promise.reject(failure)],
	])(
		'a function that %s passes its error on, and leaves no mark in a transaction that is committed',
		async (_, fn) => {
			const database = await open()
			const { inbox, events } = await openInbox(database)
			const user = await database.connect()
			await user.run(database.begin)
			await user.addEffect('before')
			await expect(inbox.once('a', { tx: user.tx }, fn)).rejects.toBe(failure)
			await user.run('COMMIT')
			expect(await database.effects()).toEqual(['before'])
			expect(await inbox.find('a')).toBeUndefined()
			expect(events).toMatchObject([{ type: 'inbox_failed', messageId: 'a', errorMessage: 'no stock' }])
			expect(await receive(database, inbox, 'a')).toMatchObject({ isDuplicate: false })
		},
	)

	test('a failing delivery of a message that was processed earlier in the transaction leaves the mark of the first', async () => {
		const database = await open()
		const { inbox } = await openInbox(database)
		const user = await database.connect()
		await user.run(database.begin)
		await inbox.once('a', { tx: user.tx }, () => user.addEffect('a'))
		await expect(inbox.once('b', { tx: user.tx }, () => Promise.reject(failure))).rejects.toBe(failure)
		await user.run('COMMIT')
		expect(await inbox.find('a')).toBeDefined()
		expect(await inbox.find('b')).toBeUndefined()
	})

	test('without an open transaction nothing is written and nothing runs', async () => {
		const database = await open()
		const { inbox, events } = await openInbox(database)
		const user = await database.connect()
		await expect(inbox.once('a', { tx: user.tx }, () => user.addEffect('a'))).rejects.toMatchObject({
			code: 'YAOKI_INBOX_TRANSACTION',
			reason: 'outside-transaction',
		})
		expect(await database.effects()).toEqual([])
		expect(await inbox.find('a')).toBeUndefined()
		expect(events).toMatchObject([{ type: 'inbox_failed', errorCode: 'YAOKI_INBOX_TRANSACTION' }])
	})

	test('without tx, with a tx of another database and with invalid arguments nothing runs', async () => {
		const database = await open()
		const { inbox } = await openInbox(database)
		const { tx } = await database.connect()
		const run = () => {
			throw new Error('ran')
		}
		const call = (id: unknown, options: unknown, fn: unknown = run) =>
			Reflect.apply(inbox.once, inbox, [id, options, fn])
		await expect(call('a', {})).rejects.toMatchObject({ reason: 'outside-transaction' })
		await expect(call('a', { tx: database.otherTx })).rejects.toMatchObject({ reason: 'wrong-database' })
		await expect(call('a', { tx: 5 })).rejects.toMatchObject({ reason: 'wrong-database' })
		await expect(call('a', run, undefined)).rejects.toMatchObject({ optionPath: 'options' })
		await expect(call('a', tx)).rejects.toMatchObject({ optionPath: 'options' })
		await expect(call('a', { tx, txn: 1 })).rejects.toMatchObject({ suggestion: 'tx' })
		await expect(call('a', { tx }, 5)).rejects.toMatchObject({ argument: 'fn' })
		for (const id of [undefined, '', 7, 'a\0b', '\ud800', 'é'.repeat(513)])
			await expect(call(id, { tx }), String(id)).rejects.toMatchObject({ argument: 'messageId' })
		await expect(inbox.forget('')).rejects.toMatchObject({ argument: 'messageId' })
	})

	test('the longest ids of the longest names fit', async () => {
		const database = await open()
		const { inbox } = await openInbox(database, { name: 'n'.repeat(255) })
		const id = 'é'.repeat(512)
		expect(await receive(database, inbox, id, () => {})).toMatchObject({ isDuplicate: false })
		expect(await receive(database, inbox, id, () => {})).toMatchObject({ isDuplicate: true })
		expect(await inbox.find(id)).toMatchObject({ messageId: id })
	})

	test('inboxes of other names have ids of their own', async () => {
		const database = await open()
		const { inbox: one } = await openInbox(database, { name: 'one' })
		const { inbox: two } = await openInbox(database, { name: 'two' })
		await receive(database, one, 'a')
		expect(await receive(database, two, 'a')).toMatchObject({ isDuplicate: false })
		expect((await one.stats()).marks).toEqual({ count: 1, isCapped: false })
	})

	test('a function that commits is an error, and its message is not processed again', async () => {
		const database = await open()
		const { inbox } = await openInbox(database)
		const commit = async (user: UserConnection) => {
			await user.addEffect('a')
			await user.run('COMMIT')
		}
		await expect(receive(database, inbox, 'a', commit)).rejects.toMatchObject({
			code: 'YAOKI_INBOX_TRANSACTION',
			reason: 'ended',
		})
		expect(await database.effects()).toEqual(['a'])
		expect(await receive(database, inbox, 'a')).toEqual({ isDuplicate: true })
	})

	test('a function that rolls back is an error, and leaves no mark', async () => {
		const database = await open()
		const { inbox } = await openInbox(database)
		await expect(receive(database, inbox, 'a', (user) => user.run('ROLLBACK'))).rejects.toMatchObject({
			reason: 'ended',
		})
		expect(await inbox.find('a')).toBeUndefined()
	})

	test('a function that commits and then fails leaves no mark, because its message would be lost', async () => {
		const database = await open()
		const { inbox } = await openInbox(database)
		const commitAndFail = async (user: UserConnection) => {
			await user.run('COMMIT')
			throw failure
		}
		await expect(receive(database, inbox, 'a', commitAndFail)).rejects.toBe(failure)
		expect(await inbox.find('a')).toBeUndefined()
	})

	test('a function that rolls back and then fails does not remove the mark of the next delivery', async () => {
		const database = await open()
		const { inbox } = await openInbox(database)
		const rollBackAndFail = async (user: UserConnection) => {
			await user.run('ROLLBACK')
			await receive(database, inbox, 'a')
			throw failure
		}
		await expect(receive(database, inbox, 'a', rollBackAndFail)).rejects.toBe(failure)
		expect(await inbox.find('a')).toBeDefined()
		expect(await database.effects()).toEqual(['a'])
	})

	test('without its tables nothing runs, and the error says what to do', async () => {
		const database = await open()
		const inbox = new Inbox({ store: database.openStore(), purgeEveryMs: 0 })
		onTestFinished(() => inbox.close())
		await expect(receive(database, inbox, 'a')).rejects.toMatchObject({
			code: 'YAOKI_INBOX_SCHEMA',
			found: 0,
			message: expect.stringContaining('Run inbox.migrate()'),
		})
		await expect(inbox.find('a')).rejects.toMatchObject({ code: 'YAOKI_INBOX_SCHEMA' })
		await expect(inbox.stats()).rejects.toMatchObject({ code: 'YAOKI_INBOX_SCHEMA' })
		expect(await database.effects()).toEqual([])
		await inbox.migrate()
		expect(await receive(database, inbox, 'a')).toMatchObject({ isDuplicate: false })
	})

	test('migrate creates the tables once', async () => {
		const database = await open()
		const { inbox } = await openInbox(database)
		expect(await inbox.migrate()).toEqual({ from: 1, to: 1, applied: [] })
		expect(await database.openStore().schemaVersion()).toBe(1)
	})

	test('a forgotten message is processed again', async () => {
		const database = await open()
		const { inbox } = await openInbox(database)
		await receive(database, inbox, 'a')
		const found = await inbox.find('a')
		expect(Number(found?.expiresAt) - Number(found?.processedAt)).toBe(30 * 86_400_000)
		expect(await inbox.forget('a')).toBe(true)
		expect(await inbox.forget('a')).toBe(false)
		expect(await inbox.find('a')).toBeUndefined()
		expect(await receive(database, inbox, 'a', () => {})).toMatchObject({ isDuplicate: false })
	})

	test('a purge deletes marks whose retention is over, of all inboxes, and at most as many as allowed', async () => {
		const database = await open()
		let offsetMs = 0
		const settings = { offsetMs: () => offsetMs, senderRetriesForMs: 0 }
		const { inbox: short } = await openInbox(database, { ...settings, name: 'short', retentionMs: 1_000 })
		const { inbox: other } = await openInbox(database, { ...settings, name: 'other', retentionMs: 1_000 })
		const { inbox: long } = await openInbox(database, { ...settings, name: 'long', retentionMs: Infinity })
		for (const id of ['a', 'b', 'c']) await receive(database, short, id)
		await receive(database, other, 'a')
		await receive(database, long, 'a')
		const store = database.openStore(() => offsetMs)
		onTestFinished(() => store.close())
		expect(await store.purge(10)).toBe(0)
		offsetMs = 5_000
		expect(await short.stats()).toMatchObject({
			marks: { count: 3, isCapped: false },
			expired: { count: 3, isCapped: false },
		})
		expect((await short.stats()).oldestAgeMs).toBeGreaterThanOrEqual(5_000)
		expect(await store.stats(2)).toMatchObject([
			{ inbox: 'long', marks: { count: 1, isCapped: false }, expired: { count: 0 } },
			{ inbox: 'other', marks: { count: 1 }, expired: { count: 1 } },
			{ inbox: 'short', marks: { count: 2, isCapped: true }, expired: { count: 2, isCapped: true } },
		])
		expect(await store.purge(3)).toBe(3)
		expect(await store.purge(3)).toBe(1)
		expect(await store.stats(10)).toMatchObject([{ inbox: 'long' }])
		expect(await short.stats()).toEqual({
			marks: { count: 0, isCapped: false },
			expired: { count: 0, isCapped: false },
			oldestAgeMs: null,
		})
	})

	test('a message whose retention is over is a duplicate until its mark is deleted', async () => {
		const database = await open()
		let offsetMs = 0
		const { inbox } = await openInbox(database, {
			offsetMs: () => offsetMs,
			senderRetriesForMs: 0,
			retentionMs: 1,
		})
		await receive(database, inbox, 'a')
		offsetMs = 5_000
		expect(await receive(database, inbox, 'a')).toEqual({ isDuplicate: true })
	})
}
