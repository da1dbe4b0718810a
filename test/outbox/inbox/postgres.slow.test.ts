import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { Inbox, kyselyTx, postgresInboxStore } from 'yaoki/outbox'
import { virtualRuntime } from 'yaoki/testing'
import { eventually } from '../../support/eventually.ts'
import { openPostgres, type PostgresInboxDatabase } from './postgres.ts'
import { inboxSuite, openInbox, receive } from './suite.ts'

inboxSuite(openPostgres)

const addEffect = (tx: pg.ClientBase, id: string) => tx.query('insert into effects values ($1)', [id])

/** Two connections with open transactions. */
async function openTwo(database: PostgresInboxDatabase) {
	const [first, second] = [await database.client(), await database.client()]
	await first.query('begin')
	await second.query('begin')
	return [first, second] as const
}

/** Waits until a connection waits for a lock. */
const blocked = ({ pool }: PostgresInboxDatabase) =>
	eventually(async () => {
		const { rows } = await pool.query('select from pg_locks where not granted')
		expect(rows.length).toBe(1)
	})

describe('a second delivery in flight', () => {
	test('waits until the first is committed, and is a duplicate', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const [first, second] = await openTwo(database)
		await inbox.once('a', { tx: first }, () => addEffect(first, 'a'))
		const waiting = inbox.once('a', { tx: second }, () => addEffect(second, 'a'))
		await blocked(database)
		await first.query('commit')
		expect(await waiting).toEqual({ isDuplicate: true })
		await second.query('commit')
		expect(await database.effects()).toEqual(['a'])
	})

	test('waits until the first is rolled back, and runs', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const [first, second] = await openTwo(database)
		await inbox.once('a', { tx: first }, () => addEffect(first, 'a'))
		const waiting = inbox.once('a', { tx: second }, () => addEffect(second, 'a'))
		await blocked(database)
		await first.query('rollback')
		expect(await waiting).toMatchObject({ isDuplicate: false })
		await second.query('commit')
		expect(await database.effects()).toEqual(['a'])
	})

	test('runs if the connection of the first is terminated', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const [first, second] = await openTwo(database)
		const { rows } = await first.query('select pg_backend_pid() as pid')
		await inbox.once('a', { tx: first }, () => addEffect(first, 'a'))
		const waiting = inbox.once('a', { tx: second }, () => addEffect(second, 'a'))
		await blocked(database)
		await database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
		expect(await waiting).toMatchObject({ isDuplicate: false })
		await second.query('commit')
		expect(await database.effects()).toEqual(['a'])
	})

	test('is rejected with the time to repeat it, without waiting, and works after the first has ended', async () => {
		const database = await openPostgres()
		const { inbox, events } = await openInbox(database, { onConflict: 'reject' })
		const [first, second] = await openTwo(database)
		await inbox.once('a', { tx: first }, () => addEffect(first, 'a'))
		const conflict = await inbox
			.once('a', { tx: second }, () => addEffect(second, 'a'))
			.catch((error: unknown) => error)
		expect(conflict).toMatchObject({ code: 'YAOKI_INBOX_CONFLICT', messageId: 'a' })
		const { retryAfterMs } = conflict as { retryAfterMs: number }
		expect(retryAfterMs).toBeGreaterThanOrEqual(500)
		expect(retryAfterMs).toBeLessThanOrEqual(1_000)
		expect(events.at(-1)).toMatchObject({ type: 'inbox_conflict', messageId: 'a', retryAfterMs })
		// The transaction is not aborted, and other messages pass.
		expect(await inbox.once('b', { tx: second }, () => addEffect(second, 'b'))).toMatchObject({
			isDuplicate: false,
		})
		await first.query('rollback')
		expect(await inbox.once('a', { tx: second }, () => addEffect(second, 'a'))).toMatchObject({
			isDuplicate: false,
		})
		await second.query('commit')
		expect(await receive(database, inbox, 'a')).toEqual({ isDuplicate: true })
		expect(await database.effects()).toEqual(['a', 'b'])
	})

	test('does not run at REPEATABLE READ: it fails to serialize, and the sender repeats it', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const second = await database.client()
		await second.query('begin isolation level repeatable read')
		await second.query('select from effects')
		await receive(database, inbox, 'a')
		await expect(inbox.once('a', { tx: second }, () => addEffect(second, 'a'))).rejects.toMatchObject({
			code: '40001',
		})
		await second.query('rollback')
		expect(await receive(database, inbox, 'a')).toEqual({ isDuplicate: true })
	})
})

test('a message twice in one transaction is a duplicate', async () => {
	const database = await openPostgres()
	for (const onConflict of ['wait', 'reject'] as const) {
		const { inbox } = await openInbox(database, { onConflict, name: onConflict })
		const tx = await database.client()
		await tx.query('begin')
		await inbox.once('a', { tx }, () => addEffect(tx, onConflict))
		expect(await inbox.once('a', { tx }, () => addEffect(tx, onConflict))).toEqual({ isDuplicate: true })
		await tx.query('commit')
	}
	expect(await database.effects()).toEqual(['reject', 'wait'])
})

describe('a client that hides its transaction', () => {
	const hidden = (client: pg.ClientBase) => {
		const tx = {
			queries: 0,
			query: async (text: string, values?: unknown[]) => {
				tx.queries++
				return (await client.query(text, values)).rows
			},
		}
		return tx
	}

	test.each(['wait', 'reject'] as const)(
		'is asked by the statement itself with onConflict %s',
		async (onConflict) => {
			const database = await openPostgres()
			const { inbox } = await openInbox(database, { onConflict })
			const client = await database.client()
			const outside = hidden(client)
			await expect(inbox.once('a', { tx: outside }, () => addEffect(client, 'a'))).rejects.toMatchObject({
				reason: 'outside-transaction',
			})
			expect(await inbox.find('a')).toBeUndefined()

			await client.query('begin')
			const first = hidden(client)
			expect(await inbox.once('a', { tx: first }, () => addEffect(client, 'a'))).toMatchObject({
				isDuplicate: false,
			})
			// Two for the mark, and one after the function: whether a statement of the transaction has failed.
			expect(first.queries).toBe(3)
			const written = hidden(client)
			expect(await inbox.once('a', { tx: written }, () => addEffect(client, 'a'))).toEqual({
				isDuplicate: true,
			})
			expect(written.queries).toBe(1)
			await client.query('commit')
			expect(await database.effects()).toEqual(['a'])
		},
	)

	test('leaves no mark if its function fails and the transaction is committed', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const client = await database.client()
		await client.query('begin')
		const failure = new Error('no stock')
		await expect(inbox.once('a', { tx: hidden(client) }, () => Promise.reject(failure))).rejects.toBe(failure)
		await client.query('commit')
		expect(await inbox.find('a')).toBeUndefined()
	})

	test('that returns no rows is an error', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const client = await database.client()
		await client.query('begin')
		const tx = { query: async () => undefined as never }
		await expect(inbox.once('a', { tx }, () => {})).rejects.toMatchObject({ code: 'YAOKI_INBOX_STORE' })
	})
})

describe('a transaction of an ORM that does not show its state', () => {
	/** As Kysely does, it rejects queries after its end. */
	const openOrm = async (client: pg.ClientBase) => {
		let hasEnded = false
		await client.query('begin')
		const trx = {
			isTransaction: true as const,
			executeQuery: async ({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) => {
				if (hasEnded) throw new Error('Transaction is already committed')
				return client.query(sql, [...parameters])
			},
		}
		/** What an ORM does before its COMMIT reaches PostgreSQL. */
		const end = () => {
			hasEnded = true
		}
		const commit = async () => {
			end()
			return (await client.query('commit')).command
		}
		return { tx: kyselyTx(trx), end, commit }
	}

	test('leaves no mark if it is committed before its function fails (regression: the message was never processed again)', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const { tx, commit } = await openOrm(await database.client())
		const failure = new Error('no stock')
		const commitAndFail = async () => {
			await commit()
			throw failure
		}
		await expect(inbox.once('a', { tx }, commitAndFail)).rejects.toBe(failure)
		expect(await inbox.find('a')).toBeUndefined()
	})

	test.each([
		['commit', 'while its COMMIT is on its way (regression: the mark was not visible yet, and stayed)'],
		['rollback', 'while its ROLLBACK is on its way'],
	])('leaves no mark if its function fails: %s, %s', async (end) => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const client = await database.client()
		const orm = await openOrm(client)
		const failure = new Error('no stock')
		const processing = inbox.once('a', { tx: orm.tx }, () => {
			orm.end()
			throw failure
		})
		await Promise.all([
			expect(processing).rejects.toBe(failure),
			blocked(database).then(() => client.query(end)),
		])
		expect(await inbox.find('a')).toBeUndefined()
		const { rows } = await database.pool.query('select from yaoki.inbox')
		expect(rows).toEqual([])
	})

	test('is asked by the statement if it is of another copy of the package (regression: a mark that was not awaited could be written after the COMMIT)', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const client = await database.client()
		// What the ORM shows is out of date: its transaction has ended.
		const tx = {
			'~ormTransaction': true,
			mustAsk: true,
			inTransaction: true,
			query: (text: string, values?: unknown[]) => client.query(text, values),
		}
		await expect(inbox.once('a', { tx }, () => {})).rejects.toMatchObject({ reason: 'outside-transaction' })
		expect(await inbox.find('a')).toBeUndefined()
	})

	test('is an error if it is committed before once returns', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const { tx, commit } = await openOrm(await database.client())
		await expect(inbox.once('a', { tx }, commit)).rejects.toMatchObject({ reason: 'ended' })
	})

	test('is an error if its function hides the error of a statement (regression: its COMMIT rolled back silently, and the message was acked)', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const client = await database.client()
		const { tx, commit } = await openOrm(client)
		const hiding = async () => {
			await client.query('select 1 / 0').catch(() => {})
		}
		await expect(inbox.once('a', { tx }, hiding)).rejects.toMatchObject({
			code: 'YAOKI_INBOX_TRANSACTION',
			reason: 'failed',
		})
		expect(await commit()).toBe('ROLLBACK')
	})

	test('is an error with a reason if it has ended before', async () => {
		const database = await openPostgres()
		const { inbox } = await openInbox(database)
		const { tx, commit } = await openOrm(await database.client())
		await commit()
		await expect(inbox.once('a', { tx }, () => {})).rejects.toMatchObject({
			code: 'YAOKI_INBOX_TRANSACTION',
			reason: 'outside-transaction',
		})
	})
})

test('an object of an ORM whose query takes no values is an error that names the function', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	const client = await database.client()
	await client.query('begin')
	// As an instance of Sequelize has.
	const tx = {
		query: (text: string) => client.query(text),
		getDialect: () => 'postgres',
		getQueryInterface: () => ({}),
	}
	await expect(inbox.once('a', { tx }, () => {})).rejects.toMatchObject({
		code: 'YAOKI_INBOX_TRANSACTION',
		reason: 'wrong-database',
		message: expect.stringContaining('sequelizeTx(transaction)'),
	})
})

test('a pool as tx is an error', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	await expect(inbox.once('a', { tx: database.pool }, () => {})).rejects.toMatchObject({
		reason: 'outside-transaction',
		message: expect.stringContaining('tx is a pool'),
	})
})

test('a function that hides the error of a statement is an error (regression: its COMMIT rolls back silently, and the message was acked)', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	const tx = await database.client()
	await tx.query('begin')
	const hiding = async () => {
		await tx.query('select 1 / 0').catch(() => {})
	}
	await expect(inbox.once('a', { tx }, hiding)).rejects.toMatchObject({
		code: 'YAOKI_INBOX_TRANSACTION',
		reason: 'failed',
	})
	expect((await tx.query('commit')).command).toBe('ROLLBACK')
	expect(await inbox.find('a')).toBeUndefined()
})

test('a failing statement passes its error on, and nothing can be committed', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	const tx = await database.client()
	await tx.query('begin')
	await expect(inbox.once('a', { tx }, () => tx.query('select 1 / 0'))).rejects.toMatchObject({
		code: '22012',
	})
	await tx.query('commit')
	expect(await inbox.find('a')).toBeUndefined()
})

test('a transaction that is committed without waiting for once leaves no mark, and the function does not run', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	const tx = await database.client()
	await tx.query('begin')
	let hasRun = false
	const processing = inbox.once('a', { tx }, () => {
		hasRun = true
	})
	const committing = tx.query('commit')
	await expect(processing).rejects.toMatchObject({ reason: 'ended' })
	await committing
	expect(hasRun).toBe(false)
	expect(await inbox.find('a')).toBeUndefined()
})

test('a transaction that is committed while the function runs is an error', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	const tx = await database.client()
	await tx.query('begin')
	const { promise, resolve } = Promise.withResolvers<void>()
	const started = Promise.withResolvers<void>()
	const processing = inbox.once('a', { tx }, () => {
		started.resolve()
		return promise
	})
	await started.promise
	await tx.query('commit')
	resolve()
	await expect(processing).rejects.toMatchObject({ reason: 'ended' })
})

test('statements that run beside once do not end it', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	const tx = await database.client()
	await tx.query('begin')
	const [result] = await Promise.all([
		inbox.once('a', { tx }, () => addEffect(tx, 'a')),
		addEffect(tx, 'b'),
		addEffect(tx, 'c'),
	])
	expect(result).toMatchObject({ isDuplicate: false })
	await tx.query('commit')
	expect(await database.effects()).toEqual(['a', 'b', 'c'])
})

test('in a read-only transaction nothing runs, and the error says why', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	const tx = await database.client()
	// A standby rejects the statement with the same code.
	await tx.query('begin read only')
	let hasRun = false
	const run = () => {
		hasRun = true
	}
	await expect(inbox.once('a', { tx }, run)).rejects.toMatchObject({
		code: 'YAOKI_INBOX_STORE',
		message: expect.stringContaining('on the primary and not on a replica'),
		cause: { code: '25006' },
	})
	expect(hasRun).toBe(false)
})

test('a savepoint that is rolled back takes the mark with it', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	const tx = await database.client()
	await tx.query('begin')
	await tx.query('savepoint one')
	await inbox.once('a', { tx }, () => addEffect(tx, 'a'))
	await tx.query('rollback to one')
	await tx.query('commit')
	expect(await inbox.find('a')).toBeUndefined()
	expect(await database.effects()).toEqual([])
})

test('onceSync is not possible', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database)
	const call = () => Reflect.apply(inbox.onceSync, inbox, ['a', { tx: database.pool }, () => {}])
	expect(call).toThrow(expect.objectContaining({ code: 'YAOKI_INBOX_STORE' }))
})

test('two processes do not purge at the same time', async () => {
	const database = await openPostgres()
	const { inbox } = await openInbox(database, { senderRetriesForMs: 0, retentionMs: 1 })
	for (const id of ['a', 'b']) await receive(database, inbox, id)
	const store = postgresInboxStore({ client: database.pool, clockOffsetMs: 60_000 })
	const other = await database.client()
	await other.query('begin')
	await other.query(`select pg_advisory_xact_lock(hashtext('yaoki inbox purge'), hashtext('"yaoki"'))`)
	expect(await store.purge(10, true)).toBe(0)
	expect(await store.purge(1)).toBe(1)
	await other.query('commit')
	expect(await store.purge(10, true)).toBe(1)
})

test('the schema is that of the option, and the SQL of the migrations creates the same tables', async () => {
	const database = await openPostgres()
	const store = postgresInboxStore({ client: database.pool, schema: 'billing' })
	for (const { sql } of store.migrations) await database.pool.query(sql)
	expect(await store.schemaVersion()).toBe(1)
	const inbox = new Inbox({ store, purgeEveryMs: 0 })
	expect(await inbox.migrate()).toMatchObject({ applied: [] })
	await receive(database, inbox, 'a')
	const { rows } = await database.pool.query('select message_id from billing.inbox')
	expect(rows).toEqual([{ message_id: 'a' }])
})

test('the error of the function passes through although the connection no longer responds (regression: once never ended, so the connection was never released)', async () => {
	const database = await openPostgres()
	const clock = virtualRuntime()
	const { inbox } = await openInbox(database, { runtime: clock })
	const client = await database.client()
	await client.query('begin')
	let isDead = false
	const query = client.query.bind(client)
	const unanswered = () => new Promise(() => {})
	Object.assign(client, {
		query: (...args: unknown[]) => (isDead ? unanswered() : Reflect.apply(query, client, args)),
	})
	const failure = new Error('statement timeout')
	let result: unknown
	const processing = inbox
		.once('a', { tx: client }, () => {
			isDead = true
			throw failure
		})
		.catch((error: unknown) => {
			result = error
		})
	await eventually(async () => {
		await clock.advance(1_000)
		expect(result).toBe(failure)
	})
	await processing
})
