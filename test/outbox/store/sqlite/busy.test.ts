import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Runtime } from '../../../../src/core/index.ts'
import { virtualRuntime } from '../../../../src/testing/index.ts'
import { temporaryFile } from '../../../support/temporary-file.ts'
import { newRow } from '../rows.ts'
import { claimRows, migratedStore } from './rows.ts'

function connected(file: string): DatabaseSync {
	const database = new DatabaseSync(file)
	onTestFinished(() => database.close())
	return database
}

describe('while a connection of the same thread writes', () => {
	it('the store waits without blocking and continues after the commit', async () => {
		const file = temporaryFile()
		const store = await migratedStore(file)
		onTestFinished(() => store.close())
		const user = connected(file)
		user.exec('BEGIN IMMEDIATE')
		await store.insert([newRow()], user)
		const claimed = claimRows(store)
		// A read neither waits for the transaction nor sees its rows.
		expect(await store.list({}, 10)).toEqual([])
		user.exec('COMMIT')
		expect(await claimed).toHaveLength(1)
	})

	it('rejects after ten seconds with an error that names the open transaction', async () => {
		const file = temporaryFile()
		const clock = virtualRuntime({ seed: 1 })
		const store = await migratedStore({ file, runtime: clock })
		onTestFinished(() => store.close())
		const user = connected(file)
		user.exec('BEGIN IMMEDIATE')
		const claimed = expect(claimRows(store)).rejects.toMatchObject({
			code: 'YAOKI_OUTBOX_STORE',
			message: expect.stringContaining('holds a write transaction open'),
		})
		await clock.runUntilIdle()
		await claimed
		expect(clock.now()).toBeGreaterThanOrEqual(10_000)
		expect(clock.now()).toBeLessThan(10_200)
		user.exec('ROLLBACK')
		expect(await claimRows(store)).toEqual([])
	})

	it('does not reject after a stall of its own process (found by chaos rounds on a machine with a load of 24)', async () => {
		const file = temporaryFile()
		const clock = virtualRuntime({ seed: 1 })
		let stalledMs = 0
		const runtime: Runtime = {
			now: () => clock.now() + stalledMs,
			wallNow: () => clock.wallNow(),
			setTimer: (ms, fn) => clock.setTimer(ms, fn),
			random: () => clock.random(),
		}
		const store = await migratedStore({ file, runtime })
		onTestFinished(() => store.close())
		const user = connected(file)
		user.exec('BEGIN IMMEDIATE')
		const claimed = claimRows(store)
		stalledMs = 20_000
		await clock.advance(1_000)
		user.exec('ROLLBACK')
		await clock.runUntilIdle()
		expect(await claimed).toEqual([])
	})

	it("waits for a transaction that the user opened on the store's own connection, and does not end it", async () => {
		const store = await migratedStore()
		onTestFinished(() => store.close())
		const { database } = store
		database.exec('BEGIN')
		await store.insert([newRow({ destination: 'b' })], database)
		const claimed = claimRows(store, { destination: 'b' })
		await Promise.resolve()
		expect(database.isTransaction).toBe(true)
		expect(await store.list({}, 10)).toHaveLength(1)
		database.exec('ROLLBACK')
		expect(await claimed).toEqual([])
	})

	it('close waits for earlier calls', async () => {
		const file = temporaryFile()
		const store = await migratedStore(file)
		const user = connected(file)
		user.exec('BEGIN IMMEDIATE')
		const inserted = store.insert([newRow()])
		const closed = store.close()
		user.exec('COMMIT')
		await inserted
		await closed
		expect(user.prepare('SELECT count(*) AS n FROM yaoki_outbox').get()).toEqual({ n: 1 })
		await expect(claimRows(store)).rejects.toThrow('The store is closed')
	})
})
