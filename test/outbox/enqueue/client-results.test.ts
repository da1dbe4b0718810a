import { Pool, type PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Outbox, postgresOutboxStore } from '../../../src/outbox/index.ts'
import type { SqlClient } from '../../../src/sql/clients.ts'
import { type PostgresDatabase, postgresDatabase } from '../../support/postgres-database.ts'

let database: PostgresDatabase
let pool: Pool
let outbox: Outbox

beforeAll(async () => {
	database = await postgresDatabase()
	pool = new Pool(database.connection)
	outbox = new Outbox({ store: postgresOutboxStore({ client: pool }), onWarning: () => {} })
	await outbox.migrate()
}, 120_000)

afterAll(async () => {
	await outbox.close()
	await pool.end()
	await database[Symbol.asyncDispose]()
}, 120_000)

async function inTransaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
	const client = await pool.connect()
	try {
		await client.query('begin')
		const result = await work(client)
		await client.query('commit')
		return result
	} catch (error) {
		await client.query('rollback')
		throw error
	} finally {
		client.release()
	}
}

const message = { topic: 'mail', payload: 1 }

describe('a client that returns an array of rows, as the manager of TypeORM does', () => {
	const managerOf = (client: PoolClient): SqlClient => ({
		query: async (text, values) => (await client.query(text, values)).rows,
	})

	test('enqueues one message, a batch and a duplicate', async () => {
		const [one, batch, again] = await inTransaction(async (client) => {
			const tx = managerOf(client)
			return [
				await outbox.enqueue(message, { tx }),
				await outbox.enqueue([message, { ...message, dedupeKey: 'array' }], { tx }),
				await outbox.enqueue({ ...message, dedupeKey: 'array' }, { tx }),
			]
		})
		expect(one).toMatchObject({ isDuplicate: false })
		expect(again).toEqual({ id: batch?.[1]?.id, isDuplicate: true })
		expect(await outbox.find(one?.id ?? '')).toBeDefined()
	})
})

describe('a client that returns something else', () => {
	test.each<[string, unknown, string]>([
		['nothing', undefined, 'returned undefined, expected { rows } or an array of rows. Pass a client'],
		['null', null, 'returned null,'],
		['a number of rows', 1, 'returned 1,'],
		['rows and a count', [[], 1], 'returned an array that contains an array,'],
		['an array of values', [7], 'returned an array that contains the value 7,'],
		['another object', { affectedRows: 1, insertId: 0 }, 'returned an object with affectedRows, insertId,'],
		['an empty object', {}, 'returned an object without properties,'],
		['rows that are no array', { rows: 1 }, 'returned an object with rows,'],
	])('is rejected immediately, with what it returned: %s', async (_, result, expected) => {
		for (const given of [message, { ...message, dedupeKey: 'other' }, [message, message]]) {
			const enqueued = inTransaction(async (client) => {
				const query = async (text: string, values?: unknown[]) => {
					await client.query(text, values)
					return result
				}
				await outbox.enqueue(given, { tx: { query } as SqlClient })
			})
			await expect(enqueued).rejects.toMatchObject({
				code: 'YAOKI_OUTBOX_STORE',
				message: expect.stringContaining(
					`Cannot enqueue in your transaction: query(text, values) of tx ${expected}`,
				),
			})
		}
	})
})
