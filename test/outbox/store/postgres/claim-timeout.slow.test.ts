import { expect, onTestFinished, test, vi } from 'vitest'
import { Outbox, Relay, type RelayEvent } from 'yaoki/outbox'
import { TimeoutError } from '../../../../src/core/errors/errors.ts'
import {
	type PostgresOutboxStore,
	postgresOutboxStore,
} from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { eventually } from '../../../support/eventually.ts'
import { newRows } from '../rows.ts'
import { wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

/** Claims that the server runs now. */
async function runningClaims(): Promise<number> {
	const { rows } = await postgres.pool.query(
		`select from pg_stat_activity where state = 'active' and query like '/* yaoki claim%${postgres.schema}%'`,
	)
	return rows.length
}

/** The owner contains the schema, so that claims of other tests on the server do not count. */
const ofTest = (signal?: AbortSignal) => wanted({}, { owner: `relay ${postgres.schema}`, signal })

/** Holds a lock that every claim waits for. A test that fails releases it too: otherwise all that follows would wait for it. */
async function lockTable(): Promise<() => Promise<void>> {
	const blocker = await postgres.pool.connect()
	let isHeld = true
	const unlock = async () => {
		if (!isHeld) return
		isHeld = false
		await blocker.query('rollback')
		blocker.release()
	}
	onTestFinished(unlock)
	await blocker.query('begin')
	await blocker.query(`lock table ${postgres.schema}.outbox in access exclusive mode`)
	return unlock
}

/**
 * Takes the lock when the relay claims next, so that it is the claim that waits. With a lock at any other moment the relay may already be past its
 * claim: it would wait with its question for the next due time, and never claim.
 */
function lockAtNextClaim(store: PostgresOutboxStore): Promise<() => Promise<void>> {
	const claim = store.claim.bind(store)
	return new Promise((resolve, reject) => {
		vi.spyOn(store, 'claim').mockImplementationOnce(async (request) => {
			const locked = lockTable()
			locked.then(resolve, reject)
			await locked
			return claim(request)
		})
	})
}

/** The client receives an error shortly before the server shows that the claim has ended. */
const noneRunning = () => eventually(async () => expect(await runningClaims()).toBe(0))
const oneRunning = () => eventually(async () => expect(await runningClaims()).toBe(1))

test('the server cancels a claim that takes longer than claimTimeoutMs', async () => {
	const store = postgresOutboxStore({
		client: postgres.anotherPool(),
		schema: postgres.schema,
		claimTimeoutMs: 50,
	})
	await store.insert(newRows(1))
	const unlock = await lockTable()
	const error = await store.claim(ofTest()).catch((reason: unknown) => reason)
	expect(error).toBeInstanceOf(TimeoutError)
	expect(error).toMatchObject({ timeoutMs: 50 })
	await noneRunning()
	await unlock()
	expect((await store.claim(ofTest())).rows).toHaveLength(1)
})

test('a shorter statement_timeout of the server applies', async () => {
	const pool = postgres.anotherPool({ options: '-c statement_timeout=50' })
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	const unlock = await lockTable()
	await expect(store.claim(ofTest())).rejects.toBeInstanceOf(TimeoutError)
	await unlock()
})

test('a statement after a claim has the timeout of its connection again', async () => {
	const pool = postgres.anotherPool({ max: 1 })
	await postgresOutboxStore({ client: pool, schema: postgres.schema }).claim(ofTest())
	const { rows } = await pool.query('show statement_timeout')
	expect(rows).toEqual([{ statement_timeout: '0' }])
})

test('the server ends a claim whose client died', async () => {
	const pool = postgres.anotherPool({ max: 1 })
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema, claimTimeoutMs: 500 })
	const client = await pool.connect()
	client.release()
	const unlock = await lockTable()
	let outcome: Promise<unknown>
	let isSeen = false
	do {
		let isOver = false
		outcome = store.claim(ofTest()).catch((reason: unknown) => reason)
		void outcome.then(() => {
			isOver = true
		})
		// On a busy machine the server may cancel the claim before this test has seen it. Then it claims again.
		while (!isSeen && !isOver) isSeen = (await runningClaims()) === 1
	} while (!isSeen)
	;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
	expect(await outcome).toBeInstanceOf(Error)
	await noneRunning()
	await unlock()
})

test('an aborted claim is cancelled on the server', async () => {
	const store = postgresOutboxStore({ client: postgres.anotherPool(), schema: postgres.schema })
	const unlock = await lockTable()
	const giveUp = new AbortController()
	const outcome = store.claim(ofTest(giveUp.signal)).catch((reason: unknown) => reason)
	await oneRunning()
	giveUp.abort()
	expect(await outcome).toBeInstanceOf(Error)
	await noneRunning()
	await unlock()
})

test('a claim that is aborted while it waits for a connection never starts', async () => {
	const pool = postgres.anotherPool({ max: 1 })
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	await store.insert(newRows(1))
	const only = await pool.connect()
	const query = vi.spyOn(only, 'query')
	const giveUp = new AbortController()
	const outcome = store.claim(ofTest(giveUp.signal)).catch((reason: unknown) => reason)
	const reason = new Error('given up')
	giveUp.abort(reason)
	only.release()
	expect(await outcome).toBe(reason)
	expect(query).not.toHaveBeenCalled()
	expect((await store.claim(ofTest())).rows).toHaveLength(1)
})

test('a relay whose claims are cancelled runs one at a time and sends everything in the end', async () => {
	const store = postgresOutboxStore({
		client: postgres.anotherPool({ max: 6 }),
		schema: postgres.schema,
		claimTimeoutMs: 50,
	})
	const outbox = new Outbox({ store, outsideTransaction: 'allow' })
	const events: RelayEvent[] = []
	let sent = 0
	const relay = new Relay(outbox, {
		name: postgres.schema,
		destinations: {
			a: () => {
				sent++
			},
		},
		onEvent: (event) => events.push(event),
	})
	const failures = () =>
		events.filter((event) => event.type === 'relay_store_error' && event.operation === 'claim')
	onTestFinished(() => relay.stop({ timeoutMs: 1 }))
	const locked = lockAtNextClaim(store)
	await relay.start()
	const unlock = await locked
	const inserted = outbox.enqueue(Array.from({ length: 20 }, () => ({ topic: 'a', payload: 1 })))
	let most = 0
	await eventually(async () => {
		most = Math.max(most, await runningClaims())
		expect(failures().length).toBeGreaterThanOrEqual(3)
		expect(most).toBeGreaterThan(0)
	})
	await unlock()
	await inserted
	await eventually(() => expect(sent).toBe(20))
	await relay.stop()
	await noneRunning()
	expect(most).toBe(1)
})

test('a stopped relay leaves no claim on the server', async () => {
	const store = postgresOutboxStore({ client: postgres.anotherPool({ max: 6 }), schema: postgres.schema })
	const outbox = new Outbox({ store, outsideTransaction: 'allow' })
	const relay = new Relay(outbox, { name: postgres.schema, destinations: { a: () => {} } })
	onTestFinished(() => relay.stop({ timeoutMs: 1 }))
	const locked = lockAtNextClaim(store)
	await relay.start()
	const unlock = await locked
	await oneRunning()
	await relay.stop({ timeoutMs: 1 })
	await noneRunning()
	await unlock()
})

test('with a shorter statement_timeout of the server, errors of claim and settle name that limit', async () => {
	// Regression: "claim: no result within 10000 ms" after 25 ms.
	await postgres.store.insert(newRows(1))
	const { rows } = await postgres.store.claim(ofTest())
	const pool = postgres.anotherPool({ statement_timeout: 25 })
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	const unlock = await lockTable()
	await expect(store.claim(ofTest())).rejects.toMatchObject({ name: 'TimeoutError', timeoutMs: 25 })
	const sent = rows.map(({ id, attempt }) => ({ type: 'sent', id, attempt }) as const)
	await expect(store.settle(`relay ${postgres.schema}`, sent, false)).rejects.toMatchObject({
		name: 'TimeoutError',
		timeoutMs: 25,
	})
	await unlock()
	expect(await store.settle(`relay ${postgres.schema}`, sent, false)).toEqual([])
})
