/**
 * A store in its own schema of a database that several tests share, for the conformance suite. A test leaves its schema, emptied, to a
 * later one: the tables of five hundred schemas took half the time of the suite.
 */
import type { PGlite } from '@electric-sql/pglite'
import type pg from 'pg'
import {
	type PostgresOutboxStore,
	postgresOutboxStore,
} from '../../../../src/outbox/store/postgres/postgres-store.ts'
import type { OutboxStoreUnderTest } from '../../../../src/outbox/testing/harness/store-under-test.ts'
import type { PGliteLike, PgPool, Queryable } from '../../../../src/sql/clients.ts'

/** Rolls back a PGlite transaction. */
class Undone extends Error {}

let schemas = 0

/** Schemas that no test uses, with empty tables. */
const unused = new WeakMap<object, string[]>()

const EMPTY = (schema: string) => `do $$
declare name text;
begin
	set local lock_timeout = '5s';
	for name in select tablename from pg_tables where schemaname = '${schema}' and tablename not like '%_schema' loop
		execute format('delete from %I.%I', '${schema}', name);
	end loop;
end $$`

export interface OpenedPostgres extends OutboxStoreUnderTest {
	readonly store: PostgresOutboxStore
	readonly schema: string
}

/** Whether a test may get the emptied tables of an earlier one. Not for tests of plans: their indexes have entries of deleted rows. */
type Tables = 'fresh' | 'reused'

/** Everything except transaction. */
async function onEmptySchema(client: PgPool | PGliteLike, tables: Tables) {
	const left = unused.get(client) ?? []
	unused.set(client, left)
	const schema = left.pop() ?? `outbox_${++schemas}`
	let offsetMs = 0
	const another = async () => postgresOutboxStore({ client, schema, clockOffsetMs: () => offsetMs })
	const advance = (ms: number) => {
		offsetMs += ms
	}
	const store = await another()
	const close = async () => {
		await store.close()
		// Otherwise the schema is dropped with the database: dropping each would take as long as the test.
		if (tables === 'fresh') return
		await client.query(EMPTY(schema))
		left.push(schema)
	}
	return { schema, another, advance, store, close }
}

/** On a pool of `pg`. */
export async function openOnPool(pool: pg.Pool, tables: Tables = 'fresh'): Promise<OpenedPostgres> {
	const base = await onEmptySchema(pool, tables)
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
	}
}

/** On PGlite, which takes seconds to start: one database for all tests, with a schema for each that runs. */
export async function openOnPGlite(db: PGlite, tables: Tables = 'fresh'): Promise<OpenedPostgres> {
	const base = await onEmptySchema(db, tables)
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
	}
}
