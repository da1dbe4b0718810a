import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import { virtualRuntime } from '../../../../src/testing/index.ts'
import { newRow } from '../rows.ts'
import { claimRows, migratedStore } from './rows.ts'
import { temporaryFile, temporaryFolder } from './temporary-file.ts'

async function heard() {
	const file = temporaryFile()
	const clock = virtualRuntime()
	const store = await migratedStore({ file, runtime: clock })
	const user = new DatabaseSync(file)
	onTestFinished(() => user.close())
	onTestFinished(() => store.close())
	let rings = 0
	const errors: unknown[] = []
	const stop = await store.listen(
		() => rings++,
		(error) => errors.push(error),
	)
	return { store, user, clock, stop, errors, rings: () => rings }
}

describe('listening', () => {
	it("rings after a commit of another connection, and not for the store's own", async () => {
		const { store, user, clock, rings } = await heard()
		await store.insert([newRow()])
		await clock.advance(100)
		expect(rings()).toBe(0)
		user.exec('BEGIN')
		await store.insert([newRow()], user)
		await clock.advance(100)
		expect(rings()).toBe(0)
		user.exec('COMMIT')
		await clock.advance(100)
		expect(rings()).toBe(1)
	})

	it('does not ring for a claim that found nothing, so that relays do not wake each other for ever', async () => {
		const { clock, rings, user, store } = await heard()
		const other = await migratedStore(user.location() ?? '')
		onTestFinished(() => other.close())
		await clock.advance(100)
		const before = rings()
		expect(await claimRows(other)).toEqual([])
		await clock.advance(100)
		expect(rings()).toBe(before)
		await store.notify()
	})

	it('stops when told, and leaves no timer', async () => {
		const { user, clock, stop, rings } = await heard()
		await stop()
		user.exec('CREATE TABLE x (y)')
		await clock.advance(1_000)
		expect(rings()).toBe(0)
		expect(clock.pendingTimers).toBe(0)
	})

	it('stops when the store is closed', async () => {
		const { store, clock, errors } = await heard()
		await store.close()
		await clock.advance(1_000)
		expect(errors).toEqual([])
		expect(clock.pendingTimers).toBe(0)
	})

	it('tells when it can not hear, and hears again when the file can be opened', async () => {
		const folder = join(temporaryFolder(), 'later')
		const file = join(folder, 'outbox.db')
		const clock = virtualRuntime()
		const store = sqliteStore({ file, runtime: clock })
		onTestFinished(() => store.close())
		let rings = 0
		const errors: unknown[] = []
		await store.listen(
			() => rings++,
			(error) => errors.push(error),
		)
		expect(errors).toMatchObject([{ code: 'YAOKI_OUTBOX_STORE' }])
		mkdirSync(folder)
		await clock.advance(1_500)
		expect(errors).toHaveLength(1)
		const other = await migratedStore(file)
		onTestFinished(() => other.close())
		await clock.advance(100)
		expect(rings).toBe(1)
	})
})
