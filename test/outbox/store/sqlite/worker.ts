/**
 * Another process, for tests: `node worker.ts <file> <what>`. It writes what it has done to its output, line by line, after the
 * database has confirmed it.
 */
import {
	type SqliteOutboxStore,
	sqliteOutboxStore,
} from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import { newRow } from '../rows.ts'
import { claimRows, sent } from './rows.ts'

const [, , file = '', what = '', name = String(process.pid)] = process.argv
const store = sqliteOutboxStore(file)
const tell = (message: unknown): void => {
	process.send?.(message)
}

const jobs: Readonly<Record<string, (store: SqliteOutboxStore) => Promise<void>>> = {
	async migrate() {
		tell(await store.migrate())
	},
	/** Goes on until it is killed. */
	async insert() {
		for (let at = 0; ; at++) {
			const id = `01890a5d-ac96-7000-9000-${at.toString(16).padStart(12, '0')}`
			await store.insert([newRow({ id })])
			tell(id)
			// The channel is written to by the loop, which must be let go on.
			await new Promise((resolve) => setImmediate(resolve))
		}
	},
	async drain() {
		for (;;) {
			const rows = await claimRows(store, { limit: 10 }, name)
			if (rows.length === 0) return
			tell(rows.map(({ id }) => id))
			const lost = await store.settle(name, rows.map(sent), false)
			if (lost.length > 0) throw new Error('another process had what was claimed')
		}
	},
	/** Holds what it has claimed for ever. */
	async claim() {
		tell((await claimRows(store, {}, name, 1_000)).map(({ id }) => id))
		await new Promise((resolve) => process.once('disconnect', resolve))
	},
	async enqueueOne() {
		await store.insert([newRow({ id: '01890a5d-ac96-7000-a000-000000000000' })])
	},
	/** Has nothing to do but to listen, which is no reason to stay. */
	async listen() {
		await store.listen(
			() => undefined,
			() => undefined,
		)
		process.disconnect()
	},
}

await jobs[what]?.(store)
if (what !== 'listen') {
	await store.close()
	if (process.connected) process.disconnect()
}
