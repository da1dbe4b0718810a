import type { Socket } from 'node:net'
import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type PostgresDatabase, postgresDatabase } from './postgres-database.ts'

export interface PostgresPool {
	readonly pool: pg.Pool
	/** Of the database, for other processes. */
	readonly url: string
	/** A pool as another process would have it. It is ended after the test. */
	anotherPool(settings?: pg.PoolConfig): pg.Pool
}

/** Much longer than the end of a pool takes on a busy machine, and shorter than the time limit of a hook. */
const END_TIMEOUT_MS = 20_000

/**
 * Ends a pool. A test that failed may have left a client that waits for a lock or was never released. The pool would wait for it forever, so after
 * a while its connections are cut.
 */
async function endPool(pool: pg.Pool): Promise<void> {
	if (pool.ended || pool.ending) return
	let timer: NodeJS.Timeout | undefined
	const isLate = new Promise<boolean>((resolve) => {
		timer = setTimeout(resolve, END_TIMEOUT_MS, true)
	})
	if (await Promise.race([pool.end(), isLate])) {
		const { _clients } = pool as unknown as { readonly _clients: readonly pg.Client[] }
		for (const client of _clients) {
			client.on('error', () => {
				// It was cut on purpose.
			})
			;(client as unknown as { connection: { stream: Socket } }).connection.stream.destroy()
		}
	}
	clearTimeout(timer)
}

/** One real PostgreSQL with a pool for all tests of a file or `describe`. Both exist as soon as the tests start. */
export function postgresPool(): PostgresPool {
	let database: PostgresDatabase
	let pool: pg.Pool
	const others: pg.Pool[] = []
	beforeAll(async () => {
		database = await postgresDatabase()
		pool = new pg.Pool({ ...database.connection, max: 6 })
	})
	afterEach(async () => {
		for (const other of others.splice(0)) await endPool(other)
	})
	afterAll(async () => {
		if (pool) await endPool(pool)
		await database?.[Symbol.asyncDispose]()
	})
	return {
		get pool() {
			return pool
		},
		get url() {
			return database.url
		},
		anotherPool(settings = {}) {
			const other = new pg.Pool({ ...database.connection, max: 4, ...settings })
			others.push(other)
			return other
		},
	}
}
