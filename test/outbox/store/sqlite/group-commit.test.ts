import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { SqliteOutboxStore } from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import { newRow, newRows } from '../rows.ts'
import { claimRows, migratedStore, sent } from './rows.ts'

async function storeInMemory(): Promise<SqliteOutboxStore> {
	const store = await migratedStore()
	onTestFinished(() => store.close())
	return store
}

const commitsOf = (store: SqliteOutboxStore) => {
	const exec = vi.spyOn(store.database, 'exec')
	return () => exec.mock.calls.filter(([sql]) => sql === 'COMMIT').length
}

describe('calls of one tick', () => {
	it('share one commit', async () => {
		const store = await storeInMemory()
		await store.insert(newRows(4))
		const first = await claimRows(store, { limit: 2 })
		const commits = commitsOf(store)
		const [lost, next] = await Promise.all([
			store.settle('r1', first.map(sent), false),
			claimRows(store, { limit: 2 }),
			store.renew('r1', 1_000, []),
		])
		expect(lost).toEqual([])
		expect(next).toHaveLength(2)
		expect(commits()).toBe(1)
	})

	it('run in call order: a claim after a settle gets the next message of the key', async () => {
		const store = await storeInMemory()
		await store.insert(newRows(2, { key: 'k' }))
		const head = await claimRows(store, { isOrdered: true })
		const [, next] = await Promise.all([
			store.settle('r1', head.map(sent), false),
			claimRows(store, { isOrdered: true }),
		])
		expect(next).toHaveLength(1)
	})

	it('fail alone: a failing insert does not roll back the settle of the same tick', async () => {
		const store = await storeInMemory()
		const twice = newRow()
		await store.insert([newRow(), twice])
		const claimed = await claimRows(store)
		const results = await Promise.allSettled([
			store.settle('r1', claimed.slice(0, 1).map(sent), false),
			store.insert([newRow({ destination: 'half written' }), twice]),
			store.insert([newRow({ destination: 'b' })]),
		])
		expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
		expect((await store.dueDestinations(10)).names).toEqual(['a', 'b'])
		expect(await store.list({}, 10)).toHaveLength(2)
	})

	it('fail together if the commit fails, and leave nothing behind', async () => {
		const store = await storeInMemory()
		store.database.exec(`
			CREATE TABLE parent (id INTEGER PRIMARY KEY);
			CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
			CREATE TRIGGER orphan AFTER INSERT ON yaoki_outbox BEGIN INSERT INTO child VALUES (7); END`)
		const results = await Promise.allSettled([store.insert([newRow()]), store.pause('a', 1_000, 'probe')])
		expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
		store.database.exec('DROP TRIGGER orphan')
		expect(await store.list({}, 10)).toEqual([])
		expect(await store.circuits(['a'])).toEqual([])
		await store.insert([newRow()])
		expect(await store.list({}, 10)).toHaveLength(1)
	})

	it('report each lost claim and settle the others', async () => {
		const store = await storeInMemory()
		await store.insert(newRows(3))
		const claimed = await claimRows(store)
		const [first, ...others] = claimed.map(sent)
		if (!first) throw new Error('nothing was claimed')
		await store.settle('r1', [first], false)
		const lost = await store.settle('r1', [first, ...others], false)
		expect(lost).toEqual([first.id])
		expect(await store.list({}, 10)).toEqual([])
	})
})

describe('a batch with one row that cannot be written', () => {
	const failOn = (store: SqliteOutboxStore, table: string, event: string, when: string): void =>
		store.database.exec(
			`CREATE TRIGGER poison BEFORE ${event} ON ${table} WHEN ${when} BEGIN SELECT RAISE(ABORT, 'no'); END`,
		)

	it('writes the other rows, and that row with a substitute error', async () => {
		const store = await storeInMemory()
		failOn(store, 'yaoki_outbox_dead', 'INSERT', "NEW.error_message LIKE '%poison%'")
		await store.insert(newRows(3))
		const claimed = await claimRows(store)
		const outcomes = claimed.map(({ id, attempt }, at) => ({
			type: 'dead' as const,
			id,
			attempt,
			cause: 'permanent' as const,
			error: { type: 'Error', message: at === 1 ? 'poison' : 'plain', fingerprint: 'f' },
			afterDeadLetter: 'skip' as const,
		}))
		expect(await store.settle('r1', outcomes, false)).toEqual([])
		const dead = await store.list({ status: 'dead' }, 10)
		expect(dead.map(({ error }) => error?.message)).toEqual([
			'plain',
			'(the error text could not be stored)',
			'plain',
		])
	})

	it('deletes a sent message whose history row cannot be written', async () => {
		const store = await storeInMemory()
		failOn(store, 'yaoki_outbox_history', 'INSERT', "NEW.topic = 'poison'")
		await store.insert([newRow(), newRow({ topic: 'poison' }), newRow()])
		const claimed = await claimRows(store)
		expect(await store.settle('r1', claimed.map(sent), true)).toEqual([])
		expect(await store.list({}, 10)).toEqual([])
		expect(await store.list({ status: 'sent' }, 10)).toHaveLength(2)
	})

	it('leaves a row that cannot be written at all until its lease expires', async () => {
		const store = await storeInMemory()
		failOn(store, 'yaoki_outbox', 'DELETE', "OLD.topic = 'poison'")
		const poison = newRow({ topic: 'poison' })
		await store.insert([newRow(), poison, newRow()])
		const claimed = await claimRows(store)
		expect(await store.settle('r1', claimed.map(sent), false)).toEqual([poison.id])
		expect(await store.find(poison.id)).toMatchObject({ status: 'processing', lockedBy: 'r1' })
	})
})
