import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { guard } from '../../../guard/guard.ts'
import { temporaryFile } from '../../../support/temporary-file.ts'
import { newRow, newRows } from '../rows.ts'
import { claimRows, migratedStore } from './rows.ts'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))

function start(file: string, what: string): ChildProcess {
	const child = fork(WORKER, [file, what], {
		execArgv: ['--disable-warning=ExperimentalWarning'],
		stdio: 'inherit',
	})
	guard(child)
	onTestFinished(() => {
		if (child.exitCode === null) child.kill('SIGKILL')
	})
	return child
}

/** Returns the messages that the child sent until it ended. */
async function ended(child: ChildProcess): Promise<unknown[]> {
	const received: unknown[] = []
	child.on('message', (message) => received.push(message))
	const [code] = await once(child, 'exit')
	expect(code).toBe(0)
	return received
}

describe('several processes on one file', () => {
	it('migrate concurrently: one applies the steps', async () => {
		const file = temporaryFile()
		const reports = (await Promise.all([1, 2, 3].map(() => ended(start(file, 'migrate'))))).flat()
		const applied = reports.map((report) => (report as { applied: string[] }).applied.length)
		expect(applied.sort()).toEqual([0, 0, 1])
	})

	it('claim every message once', async () => {
		const file = temporaryFile()
		const store = await migratedStore(file)
		onTestFinished(() => store.close())
		const rows = newRows(1_000)
		await store.insert(rows)
		const claimed = (await Promise.all([1, 2, 3].map(() => ended(start(file, 'drain'))))).flat(2)
		expect(claimed.sort()).toEqual(rows.map(({ id }) => id).sort())
		expect(await store.list({}, 10)).toEqual([])
	})

	it('are notified of commits of another process', async () => {
		const file = temporaryFile()
		const store = await migratedStore(file)
		onTestFinished(() => store.close())
		const rung = new Promise<void>((resolve, reject) => void store.listen(resolve, reject))
		await ended(start(file, 'enqueueOne'))
		await rung
		expect(await claimRows(store)).toHaveLength(1)
	})

	it('can exit while they listen', async () => {
		const file = temporaryFile()
		const store = await migratedStore(file)
		await store.close()
		await ended(start(file, 'listen'))
	})
})

describe('a process killed with SIGKILL', () => {
	it('loses no committed message', async () => {
		const file = temporaryFile()
		const first = await migratedStore(file)
		await first.close()
		const child = start(file, 'insert')
		const committed: string[] = []
		await new Promise<void>((resolve) => {
			child.on('message', (id) => {
				committed.push(String(id))
				if (committed.length === 50) resolve()
			})
		})
		child.kill('SIGKILL')
		await once(child, 'exit')
		const store = await migratedStore(file)
		onTestFinished(() => store.close())
		const kept = new Set((await store.list({}, 10_000)).map(({ id }) => id))
		expect(committed.filter((id) => !kept.has(id))).toEqual([])
		expect(store.database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
	})

	it('releases its messages when their leases expire', async () => {
		const file = temporaryFile()
		let ahead = 0
		const store = await migratedStore({ file, clock: () => Date.now() + ahead })
		onTestFinished(() => store.close())
		await store.insert([newRow()])
		const child = start(file, 'claim')
		await once(child, 'message')
		child.kill('SIGKILL')
		await once(child, 'exit')
		ahead = 60_000
		const [row] = await claimRows(store)
		expect(row).toMatchObject({ attempt: 2, crashes: 1 })
	})
})
