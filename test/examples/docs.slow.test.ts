/** Compiles and runs every `ts` block of the README and of docs/, and the examples in doc comments. A `text` block below one is its output. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { tsc } from '../../scripts/tools.ts'
import { type PostgresDatabase, postgresDatabase } from '../support/postgres-database.ts'
import { docExamples } from './doc-comments.ts'
import { documentedTypes } from './documented-types.ts'
import { createFolder, isTestFile, needsPostgres, runSnippet, snippets, writeSnippet } from './run-snippet.ts'
import { fileName, moduleOf } from './snippets.ts'

const inComments = await docExamples()

describe('the examples in the documentation', () => {
	const folder = createFolder()

	beforeAll(() => {
		for (const block of snippets) {
			writeSnippet(folder, block)
			writeFileSync(join(folder, `verbatim-${fileName(block)}`), moduleOf(block, 'verbatim'))
		}
		for (const example of inComments) writeFileSync(join(folder, fileName(example)), example.module)
		writeFileSync(join(folder, 'documented-types.ts'), documentedTypes())
		const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false }
		const config = { extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'] }
		writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
	})
	afterAll(() => rmSync(folder, { recursive: true, force: true }))

	test('exist', () => {
		expect(snippets.length).toBeGreaterThan(20)
		expect(inComments.length).toBeGreaterThan(100)
	})

	test('compile, and the tables name exactly the members of their types', () => {
		expect(tsc('-p', folder).output).toBe('')
	})

	const runnable = snippets.filter((block) => !needsPostgres(block) && !isTestFile(block))
	test.each(runnable.map((block) => [block.place, block] as const))('%s runs', (_, block) =>
		runSnippet(join(folder, fileName(block)), block),
	)

	const checked = inComments.filter(({ hasChecks }) => hasChecks)
	test.each(checked.map((example) => [example.place, fileName(example)] as const))(
		'%s returns what it says',
		async (_, file) => (await import(join(folder, file))).default(),
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
