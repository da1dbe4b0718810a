/** Runs the examples of the documentation that take seconds. docs.test.ts compiles them. */
import { rmSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, test, vi } from 'vitest'
import { type PostgresDatabase, postgresDatabase } from '../support/postgres-database.ts'
import {
	createFolder,
	needsPostgres,
	needsSeconds,
	runSnippet,
	snippets,
	writeSnippet,
} from './run-snippet.ts'

describe('the slow examples in the documentation', () => {
	const folder = createFolder()
	afterAll(() => rmSync(folder, { recursive: true, force: true }))

	const slow = snippets.filter((block) => needsSeconds(block) && !needsPostgres(block))
	test.each(slow.map((block) => [block.place, block] as const))('%s runs', (_, block) =>
		runSnippet(writeSnippet(folder, block), block),
	)

	describe('with PostgreSQL', () => {
		let database: PostgresDatabase
		beforeAll(async () => {
			database = await postgresDatabase()
		})
		afterAll(() => database?.[Symbol.asyncDispose]())

		const examples = snippets.filter(needsPostgres)
		test.each(examples.map((block) => [block.place, block] as const))('%s runs', async (_, block) => {
			// `new Pool()` connects with these variables.
			const { hostname, port, username, password, pathname } = new URL(database.url)
			vi.stubEnv('PGHOST', hostname)
			vi.stubEnv('PGPORT', port)
			vi.stubEnv('PGUSER', username)
			vi.stubEnv('PGPASSWORD', password)
			vi.stubEnv('PGDATABASE', pathname.slice(1))
			const connect = vi.spyOn(pg.Pool.prototype, 'connect')
			try {
				await runSnippet(writeSnippet(folder, block), block)
			} finally {
				vi.unstubAllEnvs()
				for (const pool of new Set(connect.mock.contexts as pg.Pool[])) if (!pool.ending) await pool.end()
			}
		})
	})
})
