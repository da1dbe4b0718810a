/**
 * States of an outbox that an operator must be notified of, on both stores, through the command and through `outbox.stats()`. The command reads the real
 * clock, so messages are written by a store whose clock is shifted.
 */
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { HealthCheck } from '../../../src/cli/outbox/health/health-check.ts'
import { Outbox, postgresOutboxStore, sqliteOutboxStore } from '../../../src/outbox/index.ts'
import { toStoredError } from '../../../src/outbox/message/stored-error.ts'
import type { Settlement } from '../../../src/outbox/store/rows.ts'
import { postgresPool } from '../../support/postgres-pool.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { beat, claim, enqueue, killMessages } from './fixtures.ts'
import { run } from './run-yaoki.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** An outbox whose clock the test shifts, and the flags that select it on the command line. */
interface Shifted {
	readonly outbox: Outbox
	readonly flags: readonly string[]
	/** Milliseconds added to the clock of what is written. */
	offsetMs: number
}

const postgres = postgresPool()
let schemas = 0

async function onSqlite(): Promise<Shifted> {
	const file = join(temporaryFolder(), 'shop.db')
	const clock = { offsetMs: 0 }
	const store = sqliteOutboxStore({ file, clock: () => Date.now() + clock.offsetMs })
	return opened(Object.assign(clock, { outbox: new Outbox({ store }), flags: ['--database', file] }))
}

async function onPostgres(): Promise<Shifted> {
	const schema = `check_${++schemas}`
	const clock = { offsetMs: 0 }
	const store = postgresOutboxStore({ client: postgres.pool, schema, clockOffsetMs: () => clock.offsetMs })
	const flags = ['--database', postgres.url, '--schema', schema]
	return opened(Object.assign(clock, { outbox: new Outbox({ store }), flags }))
}

async function opened(shifted: Shifted): Promise<Shifted> {
	onTestFinished(() => shifted.outbox.close())
	await shifted.outbox.migrate()
	return shifted
}

describe.each([
	['SQLite', onSqlite],
	['PostgreSQL', onPostgres],
])('check on %s', (_, open) => {
	const check = async ({ flags }: Shifted, args = '') => {
		const given = ['outbox', 'check', ...args.split(' ').filter(Boolean), ...flags]
		const { code, stdout } = await run([...given, '--json'])
		const { checks } = JSON.parse(stdout) as { checks: (Omit<HealthCheck, 'since'> & { since: string })[] }
		const failures = checks.filter(({ ok }) => !ok)
		expect(code).toBe(failures.length === 0 ? 0 : 4)
		for (const { message, action } of failures) expect([message, action]).not.toContain(null)
		return { names: failures.map(({ name }) => name), failures, text: (await run(given)).stdout }
	}

	/** Fails the claimed messages. */
	const fail = async ({ outbox }: Shifted, destination: string, inMs: number, ids?: readonly string[]) => {
		const error = toStoredError(new Error('HTTP 503'))
		const settlements = (await claim(outbox.store, destination)).map(
			({ id, attempt }): Settlement =>
				ids === undefined || ids.includes(id)
					? { type: 'retry', id, attempt, inMs, delayMs: null, error }
					: { type: 'release', id, attempt },
		)
		await outbox.store.settle('some-relay', settlements, false)
		return settlements.length
	}

	test('fails for a message of 5 hours with 15 attempts whose next retry is in an hour', async () => {
		const shifted = await open()
		shifted.offsetMs = -5 * HOUR
		await enqueue(shifted.outbox, 'billing')
		for (let n = 1; n <= 15; n++) await fail(shifted, 'billing', n === 15 ? 6 * HOUR : 0)
		shifted.offsetMs = 0
		await beat(shifted.outbox.store)
		const { names, failures, text } = await check(shifted)
		expect(names).toEqual(['age', 'attempts'])
		expect(text).toMatch(
			/failed {2}age +oldest message of billing has not been sent for 5 h; its errors: yaoki outbox list --status pending --destination billing /,
		)
		expect(text).toContain('a message of billing has made 15 attempts')
		expect(Date.now() - Date.parse(failures[0]?.since ?? '')).toBeGreaterThan(4.9 * HOUR)
		expect((await check(shifted, '--max-age 6h --max-attempts 15')).names).toEqual([])
		const { totals, destinations } = await shifted.outbox.stats()
		expect(totals.oldestAgeMs).toBeGreaterThan(4.9 * HOUR)
		expect(destinations[0]).toMatchObject({ maxAttempts: 15, failing: { count: 1 }, failingShare: 1 })
		expect(totals.oldestLagMs).toBeNull()
	})

	test('passes for a message that was scheduled 5 hours ago for later, and never attempted', async () => {
		const shifted = await open()
		shifted.offsetMs = -5 * HOUR
		await enqueue(shifted.outbox, 'billing', 1, { notBefore: new Date(Date.now() + HOUR) })
		shifted.offsetMs = 0
		await beat(shifted.outbox.store)
		expect((await check(shifted)).names).toEqual([])
		expect((await shifted.outbox.stats()).totals.oldestAgeMs).toBeNull()
	})

	test('fails if no relay ever started while messages are pending', async () => {
		const shifted = await open()
		expect((await check(shifted)).names).toEqual([])
		shifted.offsetMs = -2 * MINUTE
		await enqueue(shifted.outbox, 'billing', 3)
		shifted.offsetMs = 0
		const { names, text } = await check(shifted)
		expect(names).toEqual(['relays'])
		expect(text).toMatch(
			/failed {2}relays +0 running relays, 1 required: 3 messages pending, the oldest for 2 min; start a relay/,
		)
		expect((await shifted.outbox.stats()).relays).toEqual([])
		expect((await check(shifted, '--min-relays 0')).names).toEqual([])
	})

	test('fails if no relay runs while messages are only scheduled', async () => {
		const shifted = await open()
		await enqueue(shifted.outbox, 'billing', 1, { notBefore: new Date(Date.now() + HOUR) })
		expect((await check(shifted)).names).toEqual(['relays'])
	})

	test('fails for fewer relays than --min-relays, also without messages', async () => {
		const shifted = await open()
		await beat(shifted.outbox.store)
		expect((await check(shifted, '--min-relays 1')).names).toEqual([])
		expect((await check(shifted, '--min-relays 2')).names).toEqual(['relays'])
	})

	test('does not count a relay whose heartbeats ended, nor one that stopped', async () => {
		const shifted = await open()
		const { store } = shifted.outbox
		await enqueue(shifted.outbox, 'billing')
		shifted.offsetMs = -2 * MINUTE
		await beat(store, { id: 'killed' })
		shifted.offsetMs = 0
		const { names, text } = await check(shifted)
		expect(names).toEqual(['relays'])
		expect(text).toContain('1 relay ended without stopping 2 min ago; start a relay')
		const { relays, endedRelays } = await shifted.outbox.stats()
		expect([relays, endedRelays.map(({ id }) => id)]).toEqual([[], ['killed']])
		await beat(store, { id: 'running' })
		expect((await check(shifted)).names).toEqual([])
		await store.removeRelay('running')
		await store.removeRelay('killed')
		expect((await check(shifted)).names).toEqual(['relays'])
		expect((await shifted.outbox.stats()).endedRelays).toEqual([])
	})

	test('fails if 400 of 400 messages are failing', async () => {
		const shifted = await open()
		await enqueue(shifted.outbox, 'billing', 400)
		for (let claimed = -1; claimed !== 0; ) claimed = await fail(shifted, 'billing', HOUR)
		await enqueue(shifted.outbox, 'mail', 5)
		await beat(shifted.outbox.store)
		const { names, text } = await check(shifted)
		expect(names).toEqual(['failing'])
		expect(text).toContain(
			'400 of 400 messages of billing failed their latest attempt (100 %), the oldest waits',
		)
		expect(text).toContain('; its errors: yaoki outbox list --status pending --destination billing')
		expect((await check(shifted, '--max-failing 100')).names).toEqual([])
		const { destinations } = await shifted.outbox.stats()
		expect(destinations.map(({ failing, failingShare }) => [failing.count, failingShare])).toEqual([
			[400, 1],
			[0, 0],
		])
	})

	test('passes for a fast destination whose few failures are recent, and fails if they are not', async () => {
		const shifted = await open()
		await enqueue(shifted.outbox, 'billing', 50)
		await fail(shifted, 'billing', HOUR)
		await beat(shifted.outbox.store, { throughput: 1_000 })
		expect((await check(shifted)).names).toEqual([])
		shifted.offsetMs = -5 * MINUTE
		await enqueue(shifted.outbox, 'billing', 1)
		await fail(shifted, 'billing', HOUR)
		expect((await check(shifted)).names).toEqual(['failing'])
	})

	test('fails for a key that a dead letter blocks, with 299 messages behind it', async () => {
		const shifted = await open()
		shifted.offsetMs = -3 * MINUTE
		const [id] = await enqueue(shifted.outbox, 'billing', 1, { key: 'order-17' })
		await killMessages(shifted.outbox.store, 'billing', new Error('no'), 'permanent', 'block')
		shifted.offsetMs = 0
		expect((await check(shifted, '--max-dead 1')).names).toEqual([])
		await enqueue(shifted.outbox, 'billing', 299, { key: 'order-17' })
		await beat(shifted.outbox.store)
		const { names, text } = await check(shifted, '--max-dead 1')
		expect(names).toEqual(['blocked'])
		expect(text).toContain(
			`299 messages of billing wait behind 1 blocked key: 299 messages of 'order-17' behind dead letter ${id} for 3 min; replay or discard that dead letter: yaoki outbox replay ${id}`,
		)
		expect((await check(shifted, '--max-dead 1 --max-blocked 299')).names).toEqual([])
		const { blockedByDead } = (await shifted.outbox.stats()).totals
		expect(blockedByDead).toMatchObject({ keys: { count: 1 }, messages: { count: 299 }, worst: { id } })
	})

	test('fails for a key whose first message keeps failing, with 299 messages behind it', async () => {
		const shifted = await open()
		const [id = ''] = await enqueue(shifted.outbox, 'billing', 1, { key: 'order-17' })
		await fail(shifted, 'billing', HOUR, [id])
		await enqueue(shifted.outbox, 'billing', 299, { key: 'order-17' })
		await beat(shifted.outbox.store)
		expect((await check(shifted)).names).toEqual([])
		await beat(shifted.outbox.store, { orderedDestinations: ['billing'] })
		const { names, text } = await check(shifted)
		expect(names).toEqual(['blocked'])
		expect(text).toContain(`behind message ${id}, which keeps failing, for`)
		expect(text).toContain(`see why it fails: yaoki outbox why ${id}`)
		const { blockedByRetry } = (await shifted.outbox.stats()).totals
		expect(blockedByRetry).toMatchObject({ keys: { count: 1 }, messages: { count: 299 }, worst: { id } })
	})

	test('fails if the clock was set back by three hours', async () => {
		const shifted = await open()
		shifted.offsetMs = 3 * HOUR
		await enqueue(shifted.outbox, 'billing', 3)
		shifted.offsetMs = 0
		await beat(shifted.outbox.store)
		const { names, text } = await check(shifted)
		expect(names).toEqual(['clock'])
		expect(text).toMatch(
			/failed {2}clock +the clock of the database was set back: it is 3 h behind .*; correct the clock/,
		)
		expect((await shifted.outbox.stats()).clockBehindMs).toBeGreaterThan(2.9 * HOUR)
		expect((await check(shifted, '--max-skew 4h')).names).toEqual([])
	})

	test('finds old messages with attempts whose failure is not recorded, such as restored rows', async () => {
		const shifted = await open()
		shifted.offsetMs = -5 * HOUR
		await enqueue(shifted.outbox, 'billing', 1, { notBefore: new Date(Date.now() + HOUR) })
		shifted.offsetMs = 0
		await beat(shifted.outbox.store)
		const { store } = shifted.outbox
		if (store.kind === 'sqlite')
			(store as ReturnType<typeof sqliteOutboxStore>).database.exec('UPDATE yaoki_outbox SET attempts = 15')
		else await postgres.pool.query(`update check_${schemas}.outbox set attempts = 15`)
		expect((await check(shifted)).names).toEqual(['age', 'attempts'])
	})
})
