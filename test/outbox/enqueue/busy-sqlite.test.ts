/** SQLite has one writer at a time: the errors for a second writer, and how to wait. */
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { sqliteOutboxStore } from '../../../src/outbox/store/sqlite/sqlite-store.ts'
import { virtualRuntime } from '../../../src/testing/index.ts'
import { temporaryFile } from '../../support/temporary-file.ts'

const message = { topic: 'mail', payload: 1 }

async function setUp() {
	const file = temporaryFile()
	const runtime = virtualRuntime()
	const outbox = new Outbox({ store: sqliteOutboxStore({ file, runtime }), outsideTransaction: 'allow' })
	await outbox.migrate()
	const [mine, other] = [new DatabaseSync(file), new DatabaseSync(file)]
	onTestFinished(async () => {
		mine.close()
		other.close()
		await outbox.close()
	})
	return { outbox, runtime, mine, other }
}

test('a BEGIN that meets a writer fails with advice on how to wait', async () => {
	const { outbox, mine, other } = await setUp()
	other.exec('BEGIN IMMEDIATE')
	mine.exec('BEGIN')
	await expect(outbox.enqueue(message, { tx: mine })).rejects.toMatchObject({
		code: 'YAOKI_OUTBOX_STORE',
		message: expect.stringMatching(/in your transaction.*\{ timeout: 5_000 \}.*'BEGIN IMMEDIATE'/),
		cause: { errcode: 5 },
	})
	await expect(outbox.enqueue([message, message], { tx: mine })).rejects.toThrow('BEGIN IMMEDIATE')
	other.exec('ROLLBACK')
	mine.exec('ROLLBACK')
})

test('a transaction that read before another one wrote fails with the advice to start again', async () => {
	const { outbox, mine, other } = await setUp()
	mine.exec('BEGIN')
	mine.prepare('SELECT count(*) FROM yaoki_outbox').all()
	other.exec('CREATE TABLE orders (id TEXT)')
	await expect(outbox.enqueue(message, { tx: mine })).rejects.toMatchObject({
		message: expect.stringMatching(/Roll it back.*BEGIN IMMEDIATE/),
		cause: { errcode: 517 },
	})
	mine.exec('ROLLBACK')
	mine.exec('BEGIN IMMEDIATE')
	await outbox.enqueue(message, { tx: mine })
	mine.exec('COMMIT')
	expect(await outbox.list()).toHaveLength(1)
})

test('enqueue without tx inside the callers own transaction fails with the advice to pass tx', async () => {
	const { outbox, runtime, mine } = await setUp()
	mine.exec('BEGIN IMMEDIATE')
	const enqueued = expect(outbox.enqueue(message)).rejects.toThrow('pass it as { tx }')
	await runtime.runUntilIdle()
	await enqueued
	mine.exec('ROLLBACK')
})
