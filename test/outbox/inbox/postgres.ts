import pg from 'pg'
import { onTestFinished } from 'vitest'
import { postgresInboxStore } from 'yaoki/outbox'
import { postgresDatabase } from '../../support/postgres-database.ts'
import type { InboxDatabase } from './suite.ts'

export interface PostgresInboxDatabase extends InboxDatabase {
	readonly pool: pg.Pool
	client(): Promise<pg.PoolClient>
}

/** An empty database for each test. */
export async function openPostgres(): Promise<PostgresInboxDatabase> {
	const database = await postgresDatabase()
	const pool = new pg.Pool({ ...database.connection, max: 12 })
	pool.on('connect', (client) =>
		client.on('error', () => {
			// A test may end the connection.
		}),
	)
	const clients: pg.PoolClient[] = []
	onTestFinished(async () => {
		for (const client of clients) client.release(true)
		await pool.end()
		await database[Symbol.asyncDispose]()
	})
	await pool.query('create table effects (id text)')
	const client = async () => {
		const connected = await pool.connect()
		clients.push(connected)
		return connected
	}
	return {
		pool,
		client,
		begin: 'BEGIN',
		otherTx: { prepare: () => ({ all: () => [] }) },
		openStore: (clockOffsetMs) => postgresInboxStore({ client: pool, clockOffsetMs }),
		async connect() {
			const tx = await client()
			return {
				tx,
				run: async (sql) => {
					await tx.query(sql)
				},
				addEffect: async (id) => {
					await tx.query('insert into effects values ($1)', [id])
				},
			}
		},
		async effects() {
			const { rows } = await pool.query<{ id: string }>('select id from effects order by id')
			return rows.map(({ id }) => id)
		},
	}
}
