/** A service whose table was not created answered 503 with Retry-After forever, and its console stayed empty. */
import { expect, onTestFinished, test, vi } from 'vitest'
import {
	fetchIdempotency,
	IdempotencySchemaError,
	type IdempotencyStore,
	idempotency,
	sqliteIdempotencyStore,
} from '../../../src/idempotency/index.ts'
import { temporaryFile } from '../../support/temporary-file.ts'
import { storeWith } from '../adapters/stores.ts'

const MANY = 20

function service(store: IdempotencyStore, onStoreError?: 'pass') {
	const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
	const engine = idempotency({ name: 'payments', store, principal: () => 'ada', onStoreError })
	const handle = fetchIdempotency(engine, () => new Response('charged', { status: 201 }))
	const send = (key = 'k1') =>
		handle(
			new Request('https://shop.example.com/charges', {
				method: 'POST',
				headers: { 'idempotency-key': key },
			}),
		)
	return { engine, send, lines: () => printed.mock.calls.map(([line]) => String(line)) }
}

const failing = (error: () => unknown) =>
	storeWith({
		claim: async () => {
			throw error()
		},
	})

test('SQLite without a table: 500, printed once, and after migrate the same engine works', async () => {
	const store = sqliteIdempotencyStore(temporaryFile())
	onTestFinished(() => store.close())
	const { engine, send, lines } = service(store)
	for (let n = 0; n < MANY; n++) {
		const response = await send()
		expect([response.status, response.headers.get('retry-after')]).toEqual([500, null])
		expect(await response.json()).toMatchObject({ code: 'idempotency-store-not-ready' })
	}
	expect(engine.stats.storeCircuit).toBe('closed')
	expect(lines()).toEqual([
		'yaoki: idempotency engine "payments" cannot use its store, requests with a key fail: The idempotency store has no tables. Run `await store.migrate()` or `yaoki idempotency migrate`.',
	])
	await store.migrate()
	expect((await send()).status).toBe(201)
})

test('tables of another version: 500, each message once', async () => {
	let found = 2
	const { engine, send, lines } = service(failing(() => new IdempotencySchemaError(found, 1)))
	for (let n = 0; n < MANY; n++) expect((await send()).status).toBe(500)
	found = 0
	expect((await send()).status).toBe(500)
	expect(lines()).toHaveLength(2)
	expect(lines()[0]).toContain('have version 2, this release needs version 1')
	expect(engine.stats.storeCircuit).toBe('closed')
})

test('a database user without privileges: 500', async () => {
	const denied = Object.assign(new Error('permission denied for schema yaoki'), { code: '42501' })
	const { send, lines } = service(failing(() => denied))
	for (let n = 0; n < MANY; n++) expect((await send()).status).toBe(500)
	expect(lines()).toHaveLength(1)
})

test('prints at most ten messages', async () => {
	let n = 0
	const { send, lines } = service(
		failing(() => Object.assign(new Error(`row ${++n} is invalid`), { code: '22023' })),
	)
	for (let at = 0; at < MANY; at++) await send()
	expect(lines()).toHaveLength(10)
})

test('an outage is still a 503 that opens the circuit, and prints nothing', async () => {
	const lost = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
	const { engine, send, lines } = service(failing(() => lost))
	for (let n = 0; n < MANY; n++) expect((await send()).status).toBe(503)
	expect([engine.stats.storeCircuit, lines()]).toEqual(['open', []])
})

test("onStoreError 'pass' runs the request, and the message is printed", async () => {
	const { send, lines } = service(
		failing(() => new IdempotencySchemaError(0, 1)),
		'pass',
	)
	expect((await send()).status).toBe(201)
	expect(lines()).toHaveLength(1)
})
