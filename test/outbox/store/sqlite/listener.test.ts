import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sqliteOutboxStore } from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import { virtualRuntime } from '../../../../src/testing/index.ts'
import { temporaryFile, temporaryFolder } from '../../../support/temporary-file.ts'
import { newRow } from '../rows.ts'
import { claimRows, migratedStore } from './rows.ts'

async function listening() {
	const file = temporaryFile()
	const clock = virtualRuntime()
	const store = await migratedStore({ file, runtime: clock })
	const user = new DatabaseSync(file)
	onTestFinished(() => user.close())
	onTestFinished(() => store.close())
	let notifications = 0
	const errors: unknown[] = []
	const stop = await store.listen(
		() => notifications++,
		(error) => errors.push(error),
	)
	return { store, user, clock, stop, errors, notifications: () => notifications }
}

describe('listening', () => {
	it("notifies after a commit of another connection, not after the store's own", async () => {
		const { store, user, clock, notifications } = await listening()
		await store.insert([newRow()])
		await clock.advance(100)
		expect(notifications()).toBe(0)
		user.exec('BEGIN')
		await store.insert([newRow()], user)
		await clock.advance(100)
		expect(notifications()).toBe(0)
		user.exec('COMMIT')
		await clock.advance(100)
		expect(notifications()).toBe(1)
	})

	it('does not notify after a claim that found nothing, so that relays do not wake each other forever', async () => {
		const { clock, notifications, user } = await listening()
		const other = await migratedStore({ file: user.location() ?? '', runtime: clock })
		onTestFinished(() => other.close())
		// A claim stores the time, at most once in 100 ms.
		expect(await claimRows(other)).toEqual([])
		await clock.advance(50)
		const before = notifications()
		expect(before).toBeGreaterThan(0)
		expect(await claimRows(other)).toEqual([])
		await clock.advance(20)
		expect(notifications()).toBe(before)
	})

	it('stops and leaves no timer', async () => {
		const { user, clock, stop, notifications } = await listening()
		await stop()
		user.exec('CREATE TABLE x (y)')
		await clock.advance(1_000)
		expect(notifications()).toBe(0)
		expect(clock.pendingTimers).toBe(0)
	})

	it('stops when the store is closed', async () => {
		const { store, clock, errors } = await listening()
		await store.close()
		await clock.advance(1_000)
		expect(errors).toEqual([])
		expect(clock.pendingTimers).toBe(0)
	})

	it('reports errors and resumes when the file can be opened', async () => {
		const folder = join(temporaryFolder(), 'later')
		const file = join(folder, 'outbox.db')
		const clock = virtualRuntime()
		const store = sqliteOutboxStore({ file, runtime: clock })
		onTestFinished(() => store.close())
		let notifications = 0
		const errors: unknown[] = []
		await store.listen(
			() => notifications++,
			(error) => errors.push(error),
		)
		expect(errors).toMatchObject([{ code: 'YAOKI_OUTBOX_STORE' }])
		mkdirSync(folder)
		await clock.advance(1_500)
		expect(errors).toHaveLength(1)
		const other = await migratedStore(file)
		onTestFinished(() => other.close())
		await clock.advance(100)
		expect(notifications).toBe(1)
	})
})
