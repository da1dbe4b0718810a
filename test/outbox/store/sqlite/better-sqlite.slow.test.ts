/** The suite that defines a store, with better-sqlite3 as its driver and as the user's. */
import { describe, expect, test, vi } from 'vitest'
import { Outbox } from '../../../../src/outbox/outbox.ts'
import { sqliteOutboxStore } from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import { endpointStoreConformance, outboxStoreConformance } from '../../../../src/outbox/testing/index.ts'
import { temporaryFile } from '../../../support/temporary-file.ts'
import { BETTER_DRIVERS, type OpenBetter } from '../../enqueue/better-sqlite.ts'
import { openSqliteFile } from '../open-sqlite.ts'

describe.each(BETTER_DRIVERS)('a store with %s', (_, open) => {
	const openStore = () => openSqliteFile(open)
	for (const { name, run } of [...outboxStoreConformance(openStore), ...endpointStoreConformance(openStore)])
		test(name, run)

	test('does not warn about a tx of the same driver; a store with node:sqlite does, once', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const file = temporaryFile()
		const tx = open(file)
		for (const [store, warnings] of [
			[sqliteOutboxStore({ file, open }), 0],
			[sqliteOutboxStore(file), 1],
		] as const) {
			const outbox = new Outbox({ store })
			await outbox.migrate()
			tx.exec('BEGIN')
			for (let sent = 0; sent < 2; sent++) outbox.enqueueSync({ topic: 'a', payload: 1 }, { tx })
			tx.exec('COMMIT')
			expect(warn).toHaveBeenCalledTimes(warnings)
			await outbox.close()
		}
		expect(warn).toHaveBeenCalledWith(expect.stringContaining('Two copies of SQLite in one process'))
		warn.mockRestore()
		tx.close()
	})
})

test('a function that opens something else is rejected, and the database is not exposed', async () => {
	const open = (() => ({})) as unknown as OpenBetter
	const store = sqliteOutboxStore({ file: ':memory:', open })
	await expect(store.migrate()).rejects.toThrow(
		'"open": expected a function that returns a Database of better-sqlite3',
	)
	expect(() => store.database).toThrow('it was opened by the option "open"')
	expect(() => sqliteOutboxStore({ file: 'a.db', open: 'better-sqlite3' as unknown as OpenBetter })).toThrow(
		'"open"',
	)
})
