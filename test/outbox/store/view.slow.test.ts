/** The view of both stores: the same query returns the same, so that a dashboard or an alert can be moved between databases. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OutboxStore } from '../../../src/outbox/store/store.ts'
import { wanted } from './postgres/rows.ts'
import { setup } from './postgres/setup.ts'
import { newRow } from './rows.ts'
import { migratedStore } from './sqlite/rows.ts'

const HOUR = 3_600_000

interface Opened {
	readonly store: OutboxStore
	readonly columns: () => Promise<readonly string[]>
	/** Runs a query in which the view is called `outbox_messages`. */
	readonly query: (sql: string) => Promise<readonly Record<string, unknown>[]>
	/** Changes the times of all queued messages by this much. */
	readonly shift: (ms: number) => Promise<void>
}

const postgres = setup()
let sqlite: Awaited<ReturnType<typeof migratedStore>>

beforeEach(async () => {
	sqlite = await migratedStore()
})

afterEach(() => sqlite.close())

const openPostgres = (): Opened => {
	const query: Opened['query'] = async (sql) =>
		(await postgres.pool.query(sql.replaceAll('outbox_messages', `${postgres.schema}.outbox_messages`))).rows
	return {
		store: postgres.store,
		query,
		columns: async () =>
			(await postgres.pool.query(`select * from ${postgres.schema}.outbox_messages`)).fields.map(
				({ name }) => name,
			),
		shift: async (ms) => {
			await postgres.pool.query(
				`update ${postgres.schema}.outbox set created_at = created_at + ${ms}, due_at = due_at + ${ms}`,
			)
		},
	}
}

const openSqlite = (): Opened => ({
	store: sqlite,
	query: async (sql) =>
		sqlite.database.prepare(sql.replaceAll('outbox_messages', 'yaoki_outbox_messages')).all(),
	columns: async () =>
		sqlite.database
			.prepare('SELECT * FROM yaoki_outbox_messages')
			.columns()
			.map(({ name }) => name),
	shift: async (ms) =>
		sqlite.database.exec(`UPDATE yaoki_outbox SET created_at = created_at + ${ms}, due_at = due_at + ${ms}`),
})

describe.each([
	['PostgreSQL', openPostgres],
	['SQLite', openSqlite],
])('the view of %s', (_, open) => {
	const countWhere = async ({ query }: Opened, condition: string): Promise<number> =>
		Number(
			(
				await query(`select count(*) as n from outbox_messages where status = 'pending' and ${condition}`)
			)[0]?.['n'],
		)

	test('has the documented columns', async () => {
		expect(await open().columns()).toEqual([
			...['id', 'topic', 'destination', 'key', 'payload', 'headers', 'status', 'attempts', 'next_retry_at'],
			...['last_attempt_at', 'last_error', 'locked_at', 'locked_by', 'created_at', 'expires_at'],
			...['ended_at', 'cause'],
		])
	})

	test('compares times with CURRENT_TIMESTAMP', async () => {
		const opened = open()
		await opened.store.insert([newRow({ expiresAt: (await opened.store.now()) + HOUR })])
		expect(await countWhere(opened, 'created_at <= CURRENT_TIMESTAMP')).toBe(1)
		expect(await countWhere(opened, 'next_retry_at <= CURRENT_TIMESTAMP')).toBe(1)
		expect(await countWhere(opened, 'created_at > CURRENT_TIMESTAMP')).toBe(0)
		expect(await countWhere(opened, 'expires_at > CURRENT_TIMESTAMP')).toBe(1)
		await opened.shift(-5_000)
		expect(await countWhere(opened, 'created_at < CURRENT_TIMESTAMP')).toBe(1)
		await opened.shift(HOUR)
		expect(await countWhere(opened, 'next_retry_at < CURRENT_TIMESTAMP')).toBe(0)
		expect(await countWhere(opened, 'next_retry_at > CURRENT_TIMESTAMP')).toBe(1)
		expect(await countWhere(opened, "created_at > '2026-01-01' and created_at < '9999-12-31 23:59:59'")).toBe(
			1,
		)
	})

	test('orders by time and by number', async () => {
		const opened = open()
		const now = await opened.store.now()
		const times = [3, 1, 2].map((n) => newRow({ topic: `in ${n} h`, notBefore: now + n * HOUR }))
		await opened.store.insert(times)
		const rows = await opened.query('select topic from outbox_messages order by next_retry_at desc')
		expect(rows.map(({ topic }) => topic)).toEqual(['in 3 h', 'in 2 h', 'in 1 h'])
	})

	test('compares, adds and orders numbers', async () => {
		const opened = open()
		await opened.store.insert([newRow({ topic: 'tried' })])
		for (let n = 0; n < 11; n++) {
			const [row] = (await opened.store.claim(wanted())).rows
			if (row === undefined) throw new Error('nothing was claimed')
			const error = { type: 'Error', message: 'no', fingerprint: 'f' }
			await opened.store.settle('relay', [{ ...row, type: 'retry', inMs: 0, delayMs: null, error }], false)
		}
		await opened.store.insert([newRow({ topic: 'new' })])
		expect(await countWhere(opened, 'attempts > 9')).toBe(1)
		expect(await countWhere(opened, "attempts > '9'")).toBe(1)
		expect(await countWhere(opened, 'attempts + 1 = 12')).toBe(1)
		const [sum] = await opened.query('select sum(attempts) as n from outbox_messages')
		expect(Number(sum?.['n'])).toBe(11)
		const rows = await opened.query('select topic from outbox_messages order by attempts')
		expect(rows.map(({ topic }) => topic)).toEqual(['new', 'tried'])
	})

	test('shows when and why a message ended', async () => {
		const opened = open()
		await opened.store.insert([newRow(), newRow()])
		const rows = (await opened.store.claim(wanted())).rows
		const [processing] = await opened.query(
			'select status, last_attempt_at = locked_at as same from outbox_messages',
		)
		expect([processing?.['status'], Boolean(processing?.['same'])]).toEqual(['processing', true])
		const [one, two] = rows
		if (one === undefined || two === undefined) throw new Error('two messages were enqueued')
		const death = { type: 'dead', cause: 'expired', error: null, afterDeadLetter: 'skip' } as const
		await opened.store.settle(
			'relay',
			[
				{ ...one, type: 'sent' },
				{ ...two, ...death },
			],
			true,
		)
		const ended = await opened.query(`select status, cause, next_retry_at from outbox_messages
			where ended_at >= created_at and ended_at <= CURRENT_TIMESTAMP order by status`)
		expect(ended).toEqual([
			{ status: 'dead', cause: 'expired', next_retry_at: null },
			{ status: 'sent', cause: null, next_retry_at: null },
		])
	})
})
