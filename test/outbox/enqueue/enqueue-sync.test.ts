import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, test } from 'vitest'
import { Outbox, type OutboxEvent, sqliteOutboxStore } from 'yaoki/outbox'
import { z } from 'zod'
import type { EnqueueSyncOptions } from '../../../src/outbox/enqueue/transaction-check.ts'
import { fakeStore } from '../fake-store.ts'
import { BETTER_DRIVERS, type BetterDatabase, type OpenBetter } from './better-sqlite.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
	for (const clean of cleanups.splice(0).reverse()) await clean()
})

async function openFile(open?: OpenBetter) {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-sync-'))
	cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
	const file = join(folder, 'shop.db')
	const outbox = new Outbox({ store: sqliteOutboxStore({ file, open }), outsideTransaction: 'reject' })
	cleanups.push(() => outbox.close())
	await outbox.migrate()
	return { file, outbox }
}

async function openShop(open: OpenBetter) {
	const { file, outbox } = await openFile(open)
	const db = open(file, { timeout: 0 })
	cleanups.push(() => db.close())
	db.exec('CREATE TABLE orders (id TEXT)')
	return { file, outbox, db }
}

const message = { topic: 'order.placed', payload: { id: 'o-1' } }

const orders = (db: BetterDatabase): number => db.prepare('SELECT id FROM orders').all().length
const placeOrder = (db: BetterDatabase): unknown => db.prepare("INSERT INTO orders VALUES ('o-1')").run()

describe.each(BETTER_DRIVERS)('with %s', (_, open) => {
	test('a failing enqueueSync rolls back its transaction (regression: the order was committed without its message)', async () => {
		const { outbox, db } = await openShop(open)
		const place = db.transaction(() => {
			placeOrder(db)
			outbox.enqueueSync({ topic: 'order.placed', payload: { total: 1n } }, { tx: db })
		})
		expect(place).toThrow('payload.total: expected a JSON value, got the bigint 1n')
		expect(orders(db)).toBe(0)
		expect(await outbox.list()).toEqual([])
	})

	test('a failing statement of enqueueSync rolls back its transaction', async () => {
		const { outbox, db } = await openShop(open)
		db.exec('DROP TABLE yaoki_outbox')
		const place = db.transaction(() => {
			placeOrder(db)
			outbox.enqueueSync(message, { tx: db })
		})
		expect(place).toThrow(expect.objectContaining({ code: 'YAOKI_OUTBOX_STORE' }))
		expect(orders(db)).toBe(0)
	})

	test('enqueueSync commits the message together with the order, and wakes the relay', async () => {
		const { outbox, db } = await openShop(open)
		const woken = new Promise<void>((wake) => {
			outbox.attach({ serves: () => true, wake, stop: async () => {} })
		})
		const result = db
			.transaction(() => {
				placeOrder(db)
				return outbox.enqueueSync(message, { tx: db })
			})
			.immediate() as { readonly id: string }
		expect(result).toEqual({ id: expect.any(String), isDuplicate: false })
		expect(orders(db)).toBe(1)
		expect(await outbox.find(result.id)).toMatchObject({ payload: { id: 'o-1' }, status: 'pending' })
		await woken
	})

	test('enqueueSync returns the results of a batch with its duplicates, and nothing for an empty one', async () => {
		const { outbox, db } = await openShop(open)
		db.exec('BEGIN')
		const batch = [message, { ...message, dedupeKey: 'd' }, { ...message, dedupeKey: 'd' }]
		const [first, second, third] = outbox.enqueueSync(batch, { tx: db })
		expect(outbox.enqueueSync([], { tx: db })).toEqual([])
		db.exec('COMMIT')
		expect(first).toMatchObject({ isDuplicate: false })
		expect(third).toEqual({ id: second?.id, isDuplicate: true })
		expect(await outbox.list()).toHaveLength(2)
	})

	test('enqueue writes one message, and a batch with dedupe keys', async () => {
		const { outbox, db } = await openShop(open)
		db.exec('BEGIN IMMEDIATE')
		await outbox.enqueue(message, { tx: db })
		await outbox.enqueue([message, { ...message, dedupeKey: 'd' }], { tx: db })
		const again = await outbox.enqueue({ ...message, dedupeKey: 'd' }, { tx: db })
		db.exec('COMMIT')
		expect(again.isDuplicate).toBe(true)
		expect(await outbox.list()).toHaveLength(3)
	})

	test('a failing batch leaves the rest of the transaction as it was', async () => {
		const { outbox, db } = await openShop(open)
		db.exec(`CREATE TRIGGER no_b BEFORE INSERT ON yaoki_outbox WHEN NEW.topic = 'b'
			BEGIN SELECT RAISE(ABORT, 'no b'); END`)
		db.exec('BEGIN')
		placeOrder(db)
		const batch = [message, { topic: 'b', payload: 1 }]
		expect(() => outbox.enqueueSync(batch, { tx: db })).toThrow('no b')
		db.exec('COMMIT')
		expect(orders(db)).toBe(1)
		expect(await outbox.list()).toEqual([])
	})

	test('without an open transaction enqueueSync throws and enqueue rejects, and nothing is written', async () => {
		const { outbox, db } = await openShop(open)
		const expected = expect.objectContaining({ reason: 'outside-transaction' })
		expect(() => outbox.enqueueSync(message, { tx: db })).toThrow(expected)
		await expect(outbox.enqueue(message, { tx: db })).rejects.toThrow(expected)
		expect(await outbox.list()).toEqual([])
		expect(outbox.enqueueSync(message, { tx: db, withoutTransaction: true }).isDuplicate).toBe(false)
	})

	test('a locked database is reported with the way to wait for it', async () => {
		const { outbox, db, file } = await openShop(open)
		const other = open(file, { timeout: 0 })
		cleanups.push(() => other.close())
		db.exec('BEGIN')
		other.exec('BEGIN IMMEDIATE')
		expect(() => outbox.enqueueSync(message, { tx: db })).toThrow(
			/database is locked\. Another connection.*db\.transaction\(fn\)\.immediate\(\)/,
		)
		other.exec('ROLLBACK')
		expect(orders(db)).toBe(0)
		other.exec("INSERT INTO orders VALUES ('o-2')")
		expect(() => outbox.enqueueSync(message, { tx: db })).toThrow('read before another connection wrote')
		db.exec('ROLLBACK')
	})
})

describe('enqueueSync', () => {
	test('writes with node:sqlite and emits the same event as enqueue', async () => {
		const { outbox, file } = await openFile()
		using db = new DatabaseSync(file)
		const events: OutboxEvent[] = []
		outbox.subscribe((event) => events.push(event))
		db.exec('BEGIN')
		const { id } = outbox.enqueueSync(message, { tx: db })
		await outbox.enqueue(message, { tx: db })
		db.exec('COMMIT')
		expect(await outbox.find(id)).toMatchObject({ topic: 'order.placed' })
		const [sync, async] = events.map(({ timestamp: _, ...event }) => event)
		expect(sync).toEqual(async)
		expect(sync).toMatchObject({ type: 'outbox_enqueued', count: 1 })
	})

	test('throws for an asynchronous schema, names the message, and writes nothing', async () => {
		const topics = { a: z.string(), slow: z.string().refine(async () => false) }
		const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), topics, outsideTransaction: 'allow' })
		await outbox.migrate()
		cleanups.push(() => outbox.close())
		const tx = (outbox.store as ReturnType<typeof sqliteOutboxStore>).database
		const batch = [
			{ topic: 'a', payload: 'x' },
			{ topic: 'slow', payload: 'y' },
		] as const
		expect(() => outbox.enqueueSync(batch, { tx })).toThrow(
			'Invalid messages[1] (slow): payload: the schema of the topic is asynchronous, and enqueueSync cannot wait for it',
		)
		expect(await outbox.list()).toEqual([])
	})

	test('throws for a store without a synchronous driver, such as PostgreSQL', () => {
		const store = fakeStore()
		const tx = { query: async () => ({ rows: [] }) } as unknown as EnqueueSyncOptions['tx']
		expect(() => new Outbox({ store }).enqueueSync(message, { tx })).toThrow(
			'Cannot enqueue synchronously: the store postgres has no synchronous driver. Use await outbox.enqueue(message, { tx }).',
		)
		expect(store.inserts).toEqual([])
	})

	test.each<[string, unknown, string]>([
		['without options', undefined, 'options'],
		['without tx', {}, 'tx'],
		['with a database instead of the options', new DatabaseSync(':memory:'), 'options'],
	])('throws %s', (_, options, optionPath) => {
		const outbox = new Outbox({ store: sqliteOutboxStore(':memory:') })
		expect(() => outbox.enqueueSync(message, options as EnqueueSyncOptions)).toThrow(
			expect.objectContaining({ code: 'YAOKI_INVALID_OPTION', optionPath }),
		)
	})
})

test('300 concurrent callers of one connection commit their orders with their messages', async () => {
	const { file, outbox } = await openFile()
	const db = new DatabaseSync(file, { timeout: 5_000 })
	cleanups.push(() => db.close())
	db.exec('CREATE TABLE orders (id TEXT)')
	const placeOrder = async (n: number): Promise<void> => {
		await null
		db.exec('BEGIN IMMEDIATE')
		try {
			db.prepare('INSERT INTO orders VALUES (?)').run(`o-${n}`)
			outbox.enqueueSync({ topic: 'order.placed', payload: n }, { tx: db })
			if (n % 3 === 0) throw new Error('declined')
			db.exec('COMMIT')
		} catch (error) {
			if (db.isTransaction) db.exec('ROLLBACK')
			throw error
		}
	}
	const results = await Promise.allSettled(Array.from({ length: 300 }, (_, n) => placeOrder(n)))
	expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(200)
	expect(db.prepare('SELECT id FROM orders').all()).toHaveLength(200)
	expect((await outbox.stats()).totals.due.count).toBe(200)
})

const DRIVERS: readonly (readonly [string, OpenBetter | undefined])[] = [
	['node:sqlite', undefined],
	...BETTER_DRIVERS,
]

describe.each(DRIVERS)('a transaction of another caller, with %s', (_, open) => {
	async function openWarned(outsideTransaction?: 'allow' | 'reject') {
		const { file } = await openFile(open)
		const warnings: string[] = []
		const store = sqliteOutboxStore({ file, open })
		const outbox = new Outbox({ store, outsideTransaction, onWarning: (text) => warnings.push(text) })
		cleanups.push(() => outbox.close())
		await outbox.migrate()
		const db = open ? open(file, { timeout: 0 }) : new DatabaseSync(file)
		cleanups.push(() => db.close())
		return { outbox, warnings, tx: db as DatabaseSync, list: () => outbox.list() }
	}
	const turn = () => new Promise((resolve) => setImmediate(resolve))

	test('is reported: its ROLLBACK removes the message of the second caller', async () => {
		const { outbox, tx, warnings, list } = await openWarned()
		const first = async () => {
			tx.exec('BEGIN')
			await outbox.enqueue(message, { tx })
			await turn()
			tx.exec('ROLLBACK')
		}
		const running = first()
		await null
		// Does not know of the transaction, and opens none.
		for (let n = 0; n < 2; n++) {
			outbox.enqueueSync(message, { tx, withoutTransaction: true })
			await null
		}
		await running
		expect(await list()).toEqual([])
		expect(warnings).toEqual([expect.stringContaining('was open in an earlier turn of the event loop')])
	})

	test('is not reported with outsideTransaction: allow', async () => {
		const { outbox, tx, warnings } = await openWarned('allow')
		tx.exec('BEGIN')
		for (let n = 0; n < 3; n++) await outbox.enqueue(message, { tx })
		tx.exec('COMMIT')
		expect(warnings).toEqual([])
	})

	test('is not reported for transactions without await, and with one message per transaction', async () => {
		const { outbox, tx, warnings, list } = await openWarned('reject')
		const caller = async (n: number) => {
			await null
			tx.exec('BEGIN')
			outbox.enqueueSync(message, { tx })
			outbox.enqueueSync([message, message], { tx })
			tx.exec(n % 2 === 0 ? 'COMMIT' : 'ROLLBACK')
			await turn()
		}
		await Promise.all(Array.from({ length: 20 }, (_each, n) => caller(n)))
		for (const end of ['COMMIT', 'ROLLBACK', 'COMMIT']) {
			tx.exec('BEGIN')
			await outbox.enqueue(message, { tx })
			await turn()
			tx.exec(end)
		}
		expect(await list()).toHaveLength(32)
		expect(warnings).toEqual([])
	})
})

test('a transaction that ends while an asynchronous schema runs is reported', async () => {
	const { file } = await openFile()
	const topics = { slow: z.string().refine(async () => true) }
	const outbox = new Outbox({ store: sqliteOutboxStore(file), topics, outsideTransaction: 'reject' })
	cleanups.push(() => outbox.close())
	using tx = new DatabaseSync(file)
	tx.exec('BEGIN')
	const enqueued = outbox.enqueue({ topic: 'slow', payload: 'y' }, { tx })
	tx.exec('COMMIT')
	await expect(enqueued).rejects.toMatchObject({ reason: 'outside-transaction' })
	expect(await outbox.list()).toEqual([])
})
