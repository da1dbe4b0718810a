/** A PostgreSQL that restarts while handlers run: what a deployment or a failover of the database looks like to a service. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import pg from 'pg'
import { expect, test } from 'vitest'
import { nodeIdempotency } from '../../../src/idempotency/adapters/node.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import { postgresIdempotencyStore } from '../../../src/idempotency/store/postgres/postgres-store.ts'
import { listen } from '../../listen.ts'
import { startPostgres } from '../../real-postgres.ts'

test('a response that ends during the restart is stored afterwards: one effect', {
	timeout: 120_000,
}, async () => {
	await using server = await startPostgres()
	const pool = new pg.Pool({ ...server.connection, max: 4 })
	const store = postgresIdempotencyStore({ client: pool })
	await store.migrate()
	const engine = idempotency({ name: 'shop', store, principal: () => 'ada' })
	let effects = 0
	let restarted: Promise<void> | undefined
	const http = createServer(
		nodeIdempotency(engine, async (_request: IncomingMessage, response: ServerResponse) => {
			effects++
			restarted = server.restart()
			while (await isUp(pool));
			response.writeHead(201).end(`charge ${effects}`)
		}),
	)
	const port = await listen(http)
	const post = async () => {
		const response = await fetch(`http://127.0.0.1:${port}/charges`, {
			method: 'POST',
			headers: { 'idempotency-key': 'k1' },
		})
		return [response.status, await response.text(), response.headers.get('idempotency-replayed')]
	}
	expect(await post()).toEqual([201, 'charge 1', null])
	await restarted
	await expect.poll(() => engine.stats.unstored, { timeout: 30_000 }).toBe(0)
	expect(await post()).toEqual([201, 'charge 1', 'true'])
	expect(effects).toBe(1)
	await engine.close()
	http.closeAllConnections()
	http.close()
	await pool.end()
})

test('a burst of 70 on a pool of 10, whose handlers use the pool: no request is rejected by the circuit', {
	timeout: 120_000,
}, async () => {
	await using server = await startPostgres()
	const pool = new pg.Pool({ ...server.connection, max: 10 })
	const store = postgresIdempotencyStore({ client: pool })
	await store.migrate()
	const engine = idempotency({ name: 'shop', store, principal: () => 'ada' })
	const failures = new Set<string>()
	engine.subscribe((event) => {
		if (event.type === 'idempotency_store_error' && event.operation === 'claim')
			failures.add(String(event.errorType))
	})
	// To open connections is a matter of the database, and may take long on a busy machine.
	await Promise.all(Array.from({ length: 10 }, () => pool.query('select pg_sleep(0.1)')))
	const http = createServer(
		nodeIdempotency(engine, async (_request: IncomingMessage, response: ServerResponse) => {
			await pool.query('select pg_sleep(0.1)')
			response.writeHead(201).end('charged')
		}),
	)
	const port = await listen(http)
	const post = async (key: string): Promise<number> => {
		const response = await fetch(`http://127.0.0.1:${port}/charges`, {
			method: 'POST',
			headers: { 'idempotency-key': key },
		})
		await response.text()
		return response.status
	}
	// Queries of the application hold all connections for longer than storeTimeoutMs.
	const queries = Promise.all(Array.from({ length: 10 }, () => pool.query('select pg_sleep(3)')))
	const statuses = await Promise.all(Array.from({ length: 70 }, (_, n) => post(`k${n}`)))
	expect(statuses).toContain(503)
	expect(failures).toEqual(new Set(['BulkheadRejectedError']))
	expect(engine.stats.storeCircuit).toBe('closed')
	await queries
	// The database was healthy: each request works as soon as a connection is free.
	expect(await Promise.all(statuses.map((_, n) => post(`k${n}`)))).toEqual(Array(70).fill(201))
	// A restart of the database: after it requests work again within the first open time.
	const restarted = server.restart()
	await expect.poll(() => post(crypto.randomUUID()), { timeout: 30_000, interval: 1 }).toBe(503)
	await restarted
	await expect.poll(() => post(crypto.randomUUID()), { timeout: 5_000 }).toBe(201)
	await engine.close()
	http.closeAllConnections()
	http.close()
	await pool.end()
})

const isUp = (pool: pg.Pool): Promise<boolean> =>
	pool.query('select 1').then(
		() => true,
		() => false,
	)
