import { expect, test } from 'vitest'
import { sqliteOutboxStore } from '../../../../src/outbox/store/sqlite/sqlite-store.ts'

test('a migration that finds tables without a version says which table exists, and what to do', async () => {
	// Regression: table yaoki_outbox already exists.
	const store = sqliteOutboxStore(':memory:')
	await store.migrate()
	store.database.exec('DELETE FROM yaoki_outbox_schema')
	await expect(store.migrate()).rejects.toMatchObject({ code: 'YAOKI_MISSING_VERSION' })
	const text = await store.migrate().then(String, String)
	expect(text).toContain('Table yaoki_outbox exists, but yaoki_outbox_schema contains no version')
	const [insert = ''] = /insert into .*?\)(?=\. Otherwise)/.exec(text) ?? []
	store.database.exec(insert)
	expect(await store.migrate()).toEqual({ from: 1, to: 1, applied: [] })
	await store.close()
})
