/** A store in its own schema of a database that several tests share, for the conformance suite. */
import type { PGlite } from '@electric-sql/pglite'
import type pg from 'pg'
import {
	type PostgresOutboxStore,
	postgresOutboxStore,
} from '../../../../src/outbox/store/postgres/postgres-store.ts'
import type { OutboxStoreUnderTest } from '../../../../src/outbox/testing/harness/store-under-test.ts'
import type { Queryable } from '../../../../src/sql/clients.ts'

/** Rolls back a PGlite transaction. */
class Undone extends Error {}

let schemas = 0

const freshSchema = (): string => `outbox_${++schemas}`

export interface OpenedPostgres extends OutboxStoreUnderTest {
	readonly store: PostgresOutboxStore
	readonly schema: string
}

/** Everything except transaction and close. */
async function onFreshSchema(client: pg.Pool | PGlite) {
	const schema = freshSchema()
	let offsetMs = 0
	const another = async () => postgresOutboxStore({ client, schema, clockOffsetMs: () => offsetMs })
	const advance = (ms: number) => {
		offsetMs += ms
	}
	return { schema, another, advance, store: await another() }
}

/** On a pool of `pg`. */
export async function openOnPool(pool: pg.Pool): Promise<OpenedPostgres> {
	const base = await onFreshSchema(pool)
	return {
		...base,
		isolationLevels: ['read committed', 'repeatable read', 'serializable'],
		async transaction(work, end, isolationLevel) {
			const client = await pool.connect()
			try {
				await client.query(isolationLevel ? `begin isolation level ${isolationLevel}` : 'begin')
				// The first statement takes the snapshot.
				if (isolationLevel) await client.query('select 1')
				const result = await work(client)
				await client.query(end)
				return result
			} catch (error) {
				await client.query('rollback')
				throw error
			} finally {
				client.release()
			}
		},
		async close() {
			// The schema is dropped with the database: dropping each would take as long as the test.
			await base.store.close()
		},
	}
}

/** On PGlite, which takes seconds to start: one database for all tests, with a schema each. */
export async function openOnPGlite(db: PGlite): Promise<OpenedPostgres> {
	const base = await onFreshSchema(db)
	return {
		...base,
		async transaction<T>(work: (tx: Queryable) => Promise<T>, end: 'commit' | 'rollback') {
			let result: { readonly value: T } | undefined
			try {
				await db.transaction(async (tx) => {
					result = { value: await work(tx) }
					if (end === 'rollback') throw new Undone()
				})
			} catch (error) {
				if (!(error instanceof Undone)) throw error
			}
			if (result === undefined) throw new Error('the transaction returned no result')
			return result.value
		},
		async close() {
			// The schema is dropped with the database: dropping each would take as long as the test.
			await base.store.close()
		},
	}
}
