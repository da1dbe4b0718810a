import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { Inbox, sqliteInboxStore } from 'yaoki/outbox'
import { inMemory, jsonLogger, observe } from 'yaoki/telemetry'
import { temporaryFile } from '../../support/temporary-file.ts'

test('an inbox has counters by result, a histogram, gauges of its marks, and log lines', async () => {
	const file = temporaryFile()
	const inbox = new Inbox({ store: sqliteInboxStore(file), name: 'orders', purgeEveryMs: 0 })
	onTestFinished(() => inbox.close())
	await inbox.migrate()
	const metrics = inMemory()
	const lines: string[] = []
	const observation = observe({ inbox }, [metrics, jsonLogger({ level: 'debug', write: (line) => lines.push(line) })])
	onTestFinished(() => observation.stop())
	const db = new DatabaseSync(file)
	onTestFinished(() => db.close())
	const deliver = (id: string, fn: () => void) => {
		db.exec('BEGIN IMMEDIATE')
		try {
			inbox.onceSync(id, { tx: db }, fn)
		} catch {
			// The event says it.
		}
		db.exec('COMMIT')
	}
	deliver('a', () => {})
	deliver('a', () => {})
	deliver('b', () => {
		throw new Error('no stock')
	})
	const text = JSON.stringify(await metrics.snapshot())
	console.log(text, lines)
	expect(text).toContain('yaoki_inbox_messages_total')
})
