import { Pool, type PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Outbox, type OutboxOptions, postgresOutboxStore } from '../../../src/outbox/index.ts'
import type { SqlClient } from '../../../src/sql/clients.ts'
import { type PostgresDatabase, postgresDatabase } from '../../support/postgres-database.ts'

let database: PostgresDatabase
let pool: Pool
let store: ReturnType<typeof postgresOutboxStore>

beforeAll(async () => {
	database = await postgresDatabase()
	pool = new Pool(database.connection)
	store = postgresOutboxStore({ client: pool })
	await pool.query('create table orders (id int)')
	await setup().outbox.migrate()
}, 120_000)

afterAll(async () => {
	await store.close()
	await pool.end()
	await database[Symbol.asyncDispose]()
}, 120_000)

function setup(options: Partial<OutboxOptions> = {}) {
	const warnings: string[] = []
	const onWarning = (text: string) => warnings.push(text)
	return { warnings, outbox: new Outbox({ store, outsideTransaction: 'reject', onWarning, ...options }) }
}

/** A client as the manager of TypeORM: it hides its state and returns an array. Counts its queries. */
function hidden(client: Pick<PoolClient, 'query'>) {
	const tx: SqlClient & { queries: number } = {
		queries: 0,
		query: async (text, values) => {
			tx.queries++
			return (await client.query(text, values)).rows
		},
	}
	return tx
}

async function onClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
	const client = await pool.connect()
	try {
		return await work(client)
	} finally {
		await client.query('rollback')
		client.release()
	}
}

const message = { topic: 'mail', payload: 1 }
const messages: readonly [string, object | object[]][] = [
	['a message', message],
	['a message with a key', { ...message, key: 'k' }],
	['a message with a dedupe key', { ...message, dedupeKey: 'd', key: 'k' }],
	['a batch', [message, message]],
	['a batch with keys', [message, { ...message, dedupeKey: 'e' }, { ...message, dedupeKey: 'e' }]],
]

describe.each(messages)('%s of a client that hides its state', (_, given) => {
	const enqueue = (tx: SqlClient, outbox = setup().outbox) => outbox.enqueue(given as typeof message, { tx })
	const stored = async () =>
		(await pool.query('select from yaoki.outbox union all select from yaoki.outbox_dedupe')).rowCount

	test('is rejected outside a transaction, and nothing is written', async () => {
		await pool.query('truncate yaoki.outbox, yaoki.outbox_dedupe')
		await onClient(async (client) => {
			for (const tx of [hidden(client), hidden(pool)])
				await expect(enqueue(tx)).rejects.toMatchObject({
					reason: 'outside-transaction',
					message: expect.stringContaining('a tx that has no open transaction'),
				})
			// The setting of a transaction that has ended does not count.
			await client.query('begin')
			await enqueue(hidden(client))
			await client.query('rollback')
			await expect(enqueue(hidden(client))).rejects.toMatchObject({ reason: 'outside-transaction' })
		})
		expect(await stored()).toBe(0)
	})

	test.each(['read committed', 'repeatable read', 'serializable'])(
		'is written in a transaction that is %s, in one query after another write and in two as its first write',
		async (level) => {
			await pool.query('truncate yaoki.outbox, yaoki.outbox_dedupe')
			const count = Array.isArray(given) ? 2 : 1
			await onClient(async (client) => {
				const tx = hidden(client)
				await client.query(`begin isolation level ${level}`)
				await client.query('insert into orders values (1)')
				await enqueue(tx)
				expect(tx.queries).toBe(1)
				await client.query('rollback')
				expect(await stored()).toBe(0)

				await client.query(`begin isolation level ${level}`)
				await client.query('select from orders')
				await enqueue(tx)
				expect(tx.queries).toBe(3)
				await client.query('commit')
			})
			expect((await setup().outbox.list()).length).toBe(count)
		},
	)
})

test('duplicates are reported as for other clients', async () => {
	const { outbox } = setup()
	const dedupeKey = 'reported'
	await onClient(async (client) => {
		await client.query('begin')
		const tx = hidden(client)
		const first = await outbox.enqueue({ ...message, dedupeKey }, { tx })
		const [plain, again] = await outbox.enqueue([message, { ...message, dedupeKey }], { tx })
		expect(first.isDuplicate).toBe(false)
		expect(plain?.isDuplicate).toBe(false)
		expect(again).toEqual({ id: first.id, isDuplicate: true })
		await client.query('commit')
	})
})

test('after a savepoint the second message of a transaction needs one query', async () => {
	await onClient(async (client) => {
		const { outbox } = setup()
		const tx = hidden(client)
		await client.query('begin')
		await client.query('savepoint a')
		await outbox.enqueue(message, { tx })
		await client.query('release savepoint a')
		await outbox.enqueue(message, { tx })
		expect(tx.queries).toBe(3)
	})
})

test('needs no privilege beyond INSERT for messages without a dedupe key', async () => {
	await pool.query(`create role app; grant usage on schema yaoki to app; grant insert on yaoki.outbox to app`)
	await onClient(async (client) => {
		await client.query('begin')
		await client.query('set local role app')
		await setup().outbox.enqueue([message, { ...message, key: 'k' }], { tx: hidden(client) })
	})
})

test('withoutTransaction writes outside a transaction in one query', async () => {
	await onClient(async (client) => {
		const tx = hidden(client)
		const { outbox } = setup()
		const { id } = await outbox.enqueue(message, { tx, withoutTransaction: true })
		expect(await outbox.find(id)).toBeDefined()
		expect(tx.queries).toBe(1)
	})
})

test('by default the outbox warns once, writes the message, and no longer asks', async () => {
	await onClient(async (client) => {
		const tx = hidden(client)
		const { outbox, warnings } = setup({ outsideTransaction: 'warn' })
		const { id } = await outbox.enqueue(message, { tx })
		expect(await outbox.find(id)).toBeDefined()
		expect(warnings).toEqual([expect.stringContaining('a tx that has no open transaction')])
		expect(tx.queries).toBe(3)
		await outbox.enqueue(message, { tx })
		expect(tx.queries).toBe(4)
	})
})

test('by default the outbox stops asking after 20 messages of transactions', async () => {
	await onClient(async (client) => {
		const tx = hidden(client)
		const { outbox, warnings } = setup({ outsideTransaction: 'warn' })
		for (let sent = 0; sent < 22; sent++) {
			await client.query('begin')
			await outbox.enqueue(message, { tx })
			await client.query('commit')
		}
		expect(tx.queries).toBe(20 * 2 + 2)
		expect(warnings).toEqual([])
	})
})
