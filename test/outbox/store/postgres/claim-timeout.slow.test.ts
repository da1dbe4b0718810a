import { expect, test, vi } from 'vitest'
import { Outbox, Relay, type RelayEvent } from 'yaoki/outbox'
import { TimeoutError } from '../../../../src/core/errors/errors.ts'
import { postgresStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { newRows } from '../rows.ts'
import { postgresRig } from './rig.ts'
import { wanted } from './rows.ts'

const rig = postgresRig()

/** Claims that the server runs now. */
async function runningClaims(): Promise<number> {
	const { rows } = await rig.pool.query(
		`select from pg_stat_activity where state = 'active' and query like '/* yaoki claim%${rig.schema}%'`,
	)
	return rows.length
}

/** The owner contains the schema, so that claims of other tests on the server do not count. */
const ofTest = (signal?: AbortSignal) => wanted({}, { owner: `relay ${rig.schema}`, signal })

/** Holds a lock that every claim waits for. */
async function lockTable(): Promise<() => Promise<void>> {
	const blocker = await rig.pool.connect()
	await blocker.query('begin')
	await blocker.query(`lock table ${rig.schema}.outbox in access exclusive mode`)
	return async () => {
		await blocker.query('rollback')
		blocker.release()
	}
}

/** The client receives an error shortly before the server shows that the claim has ended. */
const noneRunning = () => vi.waitFor(async () => expect(await runningClaims()).toBe(0), 10_000)
const oneRunning = () => vi.waitFor(async () => expect(await runningClaims()).toBe(1), 10_000)

test('the server cancels a claim that takes longer than claimTimeoutMs', async () => {
	const store = postgresStore({ client: rig.anotherPool(), schema: rig.schema, claimTimeoutMs: 50 })
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
	const pool = rig.anotherPool({ options: '-c statement_timeout=50' })
	const store = postgresStore({ client: pool, schema: rig.schema })
	const unlock = await lockTable()
	await expect(store.claim(ofTest())).rejects.toBeInstanceOf(TimeoutError)
	await unlock()
})

test('a statement after a claim has the timeout of its connection again', async () => {
	const pool = rig.anotherPool({ max: 1 })
	await postgresStore({ client: pool, schema: rig.schema }).claim(ofTest())
	const { rows } = await pool.query('show statement_timeout')
	expect(rows).toEqual([{ statement_timeout: '0' }])
})

test('the server ends a claim whose client died', async () => {
	const pool = rig.anotherPool({ max: 1 })
	const store = postgresStore({ client: pool, schema: rig.schema, claimTimeoutMs: 300 })
	const client = await pool.connect()
	client.release()
	const unlock = await lockTable()
	const outcome = store.claim(ofTest()).catch((reason: unknown) => reason)
	await oneRunning()
	;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
	expect(await outcome).toBeInstanceOf(Error)
	await noneRunning()
	await unlock()
})

test('an aborted claim is cancelled on the server', async () => {
	const store = postgresStore({ client: rig.anotherPool(), schema: rig.schema })
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
	const pool = rig.anotherPool({ max: 1 })
	const store = postgresStore({ client: pool, schema: rig.schema })
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
	const store = postgresStore({ client: rig.anotherPool({ max: 6 }), schema: rig.schema, claimTimeoutMs: 50 })
	const outbox = new Outbox({ store, outsideTransaction: 'allow' })
	const events: RelayEvent[] = []
	let sent = 0
	const relay = new Relay(outbox, {
		name: rig.schema,
		destinations: {
			a: () => {
				sent++
			},
		},
		onEvent: (event) => events.push(event),
	})
	const failures = () =>
		events.filter((event) => event.type === 'store_failure' && event.operation === 'claim')
	await relay.start()
	const unlock = await lockTable()
	const inserted = outbox.enqueue(Array.from({ length: 20 }, () => ({ topic: 'a', payload: 1 })))
	let most = 0
	await vi.waitFor(async () => {
		most = Math.max(most, await runningClaims())
		expect(failures().length).toBeGreaterThanOrEqual(3)
	}, 20_000)
	await unlock()
	await inserted
	await vi.waitFor(() => expect(sent).toBe(20), 10_000)
	await relay.stop()
	await noneRunning()
	expect(most).toBe(1)
})

test('a stopped relay leaves no claim on the server', async () => {
	const store = postgresStore({ client: rig.anotherPool({ max: 6 }), schema: rig.schema })
	const outbox = new Outbox({ store, outsideTransaction: 'allow' })
	const relay = new Relay(outbox, { name: rig.schema, destinations: { a: () => {} } })
	await relay.start()
	const unlock = await lockTable()
	await oneRunning()
	await relay.stop({ timeoutMs: 1 })
	await noneRunning()
	await unlock()
})
