/** A shop on a PostgreSQL of its own: this package's server and client with their defaults, and a table of effects. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { ResilientHttpClient } from 'yaoki/http'
import {
	type IdempotencyEngine,
	idempotency,
	nodeIdempotency,
	postgresIdempotencyStore,
} from 'yaoki/idempotency'
import { listen } from '../../support/listen.ts'
import { type RealPostgres, startPostgres } from '../../support/real-postgres.ts'

export interface Shop {
	readonly database: RealPostgres
	readonly pool: pg.Pool
	readonly engine: IdempotencyEngine<pg.PoolClient>
	/** States of the store's circuit, as the events of the engine found them. */
	readonly circuitStates: ReadonlySet<string>
	/** The names of the errors with which claims failed. */
	readonly claimErrors: ReadonlySet<string>
	/** Resolves with the status, or the error of the client. */
	order(id: string): Promise<unknown>
	/** The ids of all orders with an effect, sorted. */
	effects(): Promise<readonly string[]>
}

/** `query` is what the handler runs on the pool, before the transaction with its effect. */
export async function openShop(query: string): Promise<Shop> {
	const database = await startPostgres()
	onTestFinished(() => database[Symbol.asyncDispose]())
	const pool = new pg.Pool({ ...database.connection, max: 10 })
	// As `pg` recommends. Connections are lost here, and `end` resolves before they are closed.
	pool.on('error', () => {})
	const store = postgresIdempotencyStore({ client: pool })
	await store.migrate()
	await pool.query('create table effects (id text not null)')
	const engine = idempotency({ name: 'shop', store, principal: () => 'ada' })
	const circuitStates = new Set<string>()
	const claimErrors = new Set<string>()
	engine.subscribe((event) => {
		circuitStates.add(engine.stats.storeCircuit)
		if (event.type === 'idempotency_store_error' && event.operation === 'claim')
			claimErrors.add(String(event.errorType))
	})
	const server = createServer(
		nodeIdempotency(engine, async (request: IncomingMessage, _response: ServerResponse, context) => {
			const chunks: Buffer[] = []
			for await (const chunk of request) chunks.push(chunk)
			const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { id: string }
			await pool.query(query)
			await context.transaction(async (tx) => {
				await tx.query('insert into effects values ($1)', [id])
				return Response.json({ id }, { status: 201 })
			})
		}),
	)
	const client = new ResilientHttpClient({
		baseUrl: `http://127.0.0.1:${await listen(server)}`,
		idempotency: 'auto',
	})
	onTestFinished(async () => {
		server.closeAllConnections()
		server.close()
		await engine.close()
		await pool.end()
	})
	return {
		database,
		pool,
		engine,
		circuitStates,
		claimErrors,
		async order(id) {
			try {
				const response = await client.post('/orders', { json: { id } })
				await response.arrayBuffer()
				return response.status
			} catch (error) {
				return error
			}
		},
		async effects() {
			const { rows } = await pool.query('select id from effects order by id')
			return rows.map(({ id }) => id)
		},
	}
}
