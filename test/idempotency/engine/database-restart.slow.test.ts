/** A PostgreSQL that restarts while handlers run: what a deployment or a failover of the database looks like to a service. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import pg from 'pg'
import { expect, test } from 'vitest'
import { nodeIdempotency } from '../../../src/idempotency/adapters/node.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import { postgresIdempotencyStore } from '../../../src/idempotency/store/postgres/postgres-store.ts'
import { listen } from '../../support/listen.ts'
import { startPostgres } from '../../support/real-postgres.ts'

test('a response that ends during the restart is stored afterwards: one effect', async () => {
	await using server = await startPostgres()
	const pool = new pg.Pool({ ...server.connection, max: 4 })
	// `end` resolves before the connections are closed, and the server ends them.
	pool.on('error', () => {})
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
	await expect.poll(() => engine.stats.unstored, { timeout: 120_000 }).toBe(0)
	expect(await post()).toEqual([201, 'charge 1', 'true'])
	expect(effects).toBe(1)
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
