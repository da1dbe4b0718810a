/** Metrics and log lines of a real inbox, through `observe`. */
import { DatabaseSync } from 'node:sqlite'
import * as prom from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { Inbox, sqliteInboxStore } from 'yaoki/outbox'
import { inMemoryMetrics, logger, observe, prometheus } from 'yaoki/telemetry'
import { virtualRuntime } from 'yaoki/testing'
import { temporaryFile } from '../../support/temporary-file.ts'
import { storingLogger } from '../logs/lines.ts'
import { parseExposition } from '../parse-exposition.ts'
import { eventOf, sourceOf } from '../source.ts'

const START = Date.UTC(2026, 0, 1)

/** An inbox that is observed under the name `orders`, with a connection of a user. */
async function setup() {
	const file = temporaryFile()
	const runtime = virtualRuntime()
	const clock = { now: START }
	const inbox = new Inbox({
		store: sqliteInboxStore({ file, clock: () => clock.now }),
		name: 'received',
		retentionMs: 60_000,
		senderRetriesForMs: 0,
		purgeEveryMs: 0,
		runtime,
	})
	onTestFinished(() => inbox.close())
	await inbox.migrate()
	const db = new DatabaseSync(file)
	onTestFinished(() => db.close())
	const metrics = inMemoryMetrics()
	const registry = new prom.Registry()
	const { lines, target } = storingLogger()
	onTestFinished(
		observe({ orders: inbox }, [metrics, prometheus(prom, { registry }), logger(target, { intervalMs: 0 })]),
	)
	/** Processes a message in a transaction of its own; its function takes `durationMs`. */
	async function receive(id: string, durationMs = 0, error?: Error): Promise<void> {
		db.exec('BEGIN IMMEDIATE')
		const effect = async () => {
			await runtime.advance(durationMs)
			if (error) throw error
		}
		await inbox.once(id, { tx: db }, effect).catch((thrown: unknown) => expect(thrown).toBe(error))
		db.exec('COMMIT')
	}
	/** The samples of the inbox, without the name of the service, which is the same in all. */
	async function samples(): Promise<ReadonlyMap<string, number>> {
		const all = parseExposition(await metrics.toPrometheus()).samples
		return new Map(
			all
				.filter(({ name }) => name.startsWith('yaoki_inbox'))
				.map(({ name, labels: { service, ...others }, value }) => {
					expect(service).toBe('orders')
					return [`${name}{${Object.values(others).join()}}`, value]
				}),
		)
	}
	return { clock, db, inbox, lines, receive, registry, samples }
}

test('an inbox counts messages by result, and measures those whose function ran', async () => {
	const { db, inbox, receive, registry, samples } = await setup()
	await receive('a', 40)
	await receive('a')
	await receive('b', 2_000, new Error('no stock'))
	db.exec('BEGIN IMMEDIATE')
	inbox.onceSync('c', { tx: db }, () => {})
	await Promise.resolve() // Another caller of the connection does not know whether 'c' will be committed.
	expect(() => inbox.onceSync('c', { tx: db }, () => {})).toThrow('is in flight')
	db.exec('ROLLBACK')

	const read = await samples()
	expect([...read].filter(([name]) => name.startsWith('yaoki_inbox_messages_total'))).toEqual([
		['yaoki_inbox_messages_total{processed}', 2],
		['yaoki_inbox_messages_total{duplicate}', 1],
		['yaoki_inbox_messages_total{failed}', 1],
		['yaoki_inbox_messages_total{conflict}', 1],
	])
	const duration = 'yaoki_inbox_processing_duration_seconds'
	expect(read.get(`${duration}_count{}`)).toBe(3)
	expect(read.get(`${duration}_sum{}`)).toBeCloseTo(2.04)
	const buckets = ['0.025', '0.05', '1', '2.5'].map((le) => read.get(`${duration}_bucket{${le}}`))
	expect(buckets).toEqual([1, 2, 2, 3])
	expect(await registry.getSingleMetricAsString('yaoki_inbox_messages_total')).toContain(
		'{service="orders",result="processed"} 2',
	)
})

test('an inbox has gauges of the messages that it remembers', async () => {
	const { clock, receive, samples } = await setup()
	await receive('a')
	clock.now += 60_000
	await receive('b')
	await receive('c', 0, new Error('no stock'))
	clock.now += 5_000
	const read = await samples()
	expect(read.get('yaoki_inbox_remembered_messages{}')).toBe(2)
	expect(read.get('yaoki_inbox_expired_messages{}')).toBe(1)
	expect(read.get('yaoki_inbox_oldest_message_age_seconds{}')).toBe(65)
})

test('an inbox without messages has gauges of 0', async () => {
	const { samples } = await setup()
	expect([...(await samples()).values()]).toEqual([0, 0, 0])
})

test('failed messages are logged as warnings, duplicates and conflicts at debug, and processed ones not', async () => {
	const { db, inbox, lines, receive } = await setup()
	await receive('a')
	await receive('a')
	await receive('b', 10, Object.assign(new Error('no stock'), { code: 'E_STOCK' }))
	db.exec('BEGIN IMMEDIATE')
	inbox.onceSync('c', { tx: db }, () => {})
	await Promise.resolve()
	expect(() => inbox.onceSync('c', { tx: db }, () => {})).toThrow('is in flight')
	db.exec('ROLLBACK')

	expect(lines.map(({ level, message }) => [level, message])).toEqual([
		['debug', 'orders: duplicate message skipped'],
		['warn', 'orders: message not processed'],
		['debug', 'orders: message rejected: an earlier delivery is in flight'],
	])
	expect(lines.map(({ fields }) => fields)).toMatchObject([
		{ event: 'inbox_duplicate', service: 'orders', emitter: 'received', messageId: 'a' },
		{
			event: 'inbox_failed',
			messageId: 'b',
			durationMs: 10,
			errorType: 'Error',
			errorMessage: 'no stock',
			errorCode: 'E_STOCK',
		},
		{ event: 'inbox_conflict', messageId: 'c', retryAfterMs: expect.any(Number) },
	])
})

test('an event of a later version is not counted', async () => {
	const metrics = inMemoryMetrics()
	metrics.attach(sourceOf({ kind: 'inbox' })).onEvent?.(eventOf('inbox_of_a_later_version'))
	expect(await metrics.toPrometheus()).not.toContain('undefined')
})
