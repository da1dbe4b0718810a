/**
 * The client and the server of this package with their defaults. The client failed immediately with "server asked for 60 s, 46.3 s left" if its
 * connection was reset while the handler ran, if the handler took longer than an attempt, and if the server was killed and restarted.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, test } from 'vitest'
import { explain } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { end, guard } from '../../guard/guard.ts'
import { listen } from '../../support/listen.ts'
import { type PostgresDatabase, postgresDatabase } from '../../support/postgres-database.ts'
import { stablePort } from '../../support/stable-port.ts'
import type { Order } from './server-process.ts'

const PROGRAM = fileURLToPath(new URL('./server-process.ts', import.meta.url))

type Report = 'loaded' | 'listening' | 'started' | 'charged'

let database: PostgresDatabase
let pool: pg.Pool
let bankUrl = ''
const closing: (() => unknown)[] = []

/** Keys of charges, by order. A key that the bank knows has no second effect. */
const charges = new Map<string, Set<string>>()
/** Requests to charge an order. */
const chargeRequests = new Map<string, number>()

const bank = createHttpServer(async (request, response) => {
	const id = await text(request)
	const key = String(request.headers['idempotency-key'])
	charges.set(id, (charges.get(id) ?? new Set()).add(key))
	chargeRequests.set(id, (chargeRequests.get(id) ?? 0) + 1)
	response.end(`receipt of ${id}`)
})

beforeAll(async () => {
	database = await postgresDatabase()
	pool = new pg.Pool(database.connection)
	await pool.query('create table orders (id text not null)')
	bankUrl = `http://127.0.0.1:${await listen(bank)}`
})

afterAll(async () => {
	for (const close of closing) await close()
	bank.close()
	bank.closeAllConnections()
	await pool?.end()
	await database?.[Symbol.asyncDispose]()
})

class Server {
	readonly #child: ChildProcess
	readonly #reports = new Set<Report>()

	private constructor(port: number, areApart: boolean) {
		const args = [database.url, bankUrl, String(port), areApart ? 'apart' : '']
		this.#child = guard(fork(PROGRAM, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }))
		this.#child.on('message', (report: Report) => this.#reports.add(report))
		closing.push(() => this.kill())
	}

	/** Resolves when the server has loaded everything. It does not listen yet. */
	static async load(port: number, areApart: boolean): Promise<Server> {
		const server = new Server(port, areApart)
		await server.reported('loaded')
		return server
	}

	async listen(): Promise<void> {
		this.#child.send('listen')
		await this.reported('listening')
	}

	reported(report: Report): Promise<void> {
		return new Promise((resolve, reject) => {
			const check = () => {
				if (this.#reports.has(report)) resolve()
			}
			this.#child.on('message', check)
			this.#child.once('exit', () => reject(new Error(`the server has ended before it was ${report}`)))
			check()
		})
	}

	kill(): Promise<void> {
		return end(this.#child)
	}
}

/** A network whose first connection can be reset. */
async function resettable(port: number): Promise<{ readonly port: number; reset(): void }> {
	const clients: Socket[] = []
	const network = createServer((client) => {
		const upstream = connect(port, '127.0.0.1')
		clients.push(client)
		client.on('error', () => {}).on('close', () => upstream.destroy())
		upstream.on('error', () => {}).on('close', () => client.destroy())
		client.pipe(upstream)
		upstream.pipe(client)
	})
	closing.push(() => {
		network.close()
		for (const client of clients) client.destroy()
	})
	return { port: await listen(network), reset: () => clients[0]?.resetAndDestroy() }
}

type Case = {
	readonly name: string
	readonly order: Omit<Order, 'id'>
	/** When the connection is reset. */
	readonly resetAt?: Report
	/** When the server is killed; another one replaces it. */
	readonly killAt?: Report
	/** Whether each server is on a machine of its own. */
	readonly areApart?: boolean
	/** The server asked the client to wait. */
	readonly hasRetryAfter: boolean
	/** The response was stored by an earlier attempt. */
	readonly isReplayed: boolean
}

const CASES: readonly Case[] = [
	{
		name: 'the connection is reset while the handler runs',
		order: { beforeMs: 2_000, afterMs: 2_000 },
		resetAt: 'started',
		hasRetryAfter: false,
		isReplayed: true,
	},
	{
		name: 'the handler takes longer than an attempt',
		order: { beforeMs: 6_000, afterMs: 6_000 },
		hasRetryAfter: false,
		isReplayed: true,
	},
	{
		name: 'the handler takes longer than an attempt and the wait of the next one, and than its lease',
		order: { beforeMs: 11_000, afterMs: 11_000 },
		hasRetryAfter: true,
		isReplayed: true,
	},
	{
		name: 'the server is killed in the handler, before its effect',
		order: { beforeMs: 3_000, afterMs: 0 },
		killAt: 'started',
		hasRetryAfter: false,
		isReplayed: false,
	},
	{
		name: 'the server is killed after its step was stored, before the response',
		order: { beforeMs: 0, afterMs: 3_000 },
		killAt: 'charged',
		hasRetryAfter: false,
		isReplayed: false,
	},
	{
		name: 'the server is killed before its effect, and replaced on another machine',
		order: { beforeMs: 3_000, afterMs: 0 },
		killAt: 'started',
		areApart: true,
		hasRetryAfter: true,
		isReplayed: false,
	},
	{
		name: 'the server is killed after its step was stored, and replaced on another machine',
		order: { beforeMs: 0, afterMs: 3_000 },
		killAt: 'charged',
		areApart: true,
		hasRetryAfter: true,
		isReplayed: false,
	},
]

test.concurrent.for(CASES)('$name: 201 and one effect', async ({ name, order, ...fault }, { expect }) => {
	const port = await stablePort()
	const { areApart = false } = fault
	const server = await Server.load(port, areApart)
	const next = fault.killAt ? await Server.load(port, areApart) : undefined
	await server.listen()
	const network = fault.resetAt ? await resettable(port) : undefined
	const client = new ResilientHttpClient({
		baseUrl: `http://127.0.0.1:${network?.port ?? port}`,
		idempotency: 'auto',
	})
	const retries: number[] = []
	client.subscribe((event) => {
		if (event.type === 'retry_attempt') retries.push(event.delayMs)
	})
	const sent = client.post('/orders', { json: { id: name, ...order } satisfies Order })
	const received = sent.then(
		(response) => response,
		(error) => expect.fail(`${error}\n${explain(error)}`),
	)
	if (fault.resetAt) {
		await server.reported(fault.resetAt)
		network?.reset()
	}
	if (fault.killAt) {
		await server.reported(fault.killAt)
		await server.kill()
		await next?.listen()
	}
	const response = await received
	expect([response.status, await response.json()]).toEqual([201, { id: name, receipt: `receipt of ${name}` }])
	expect(response.headers.get('idempotency-replayed')).toBe(fault.isReplayed ? 'true' : null)
	expect(charges.get(name)?.size).toBe(1)
	// A step that was stored does not run again.
	if (fault.killAt === 'charged') expect(chargeRequests.get(name)).toBe(1)
	expect((await pool.query('select from orders where id = $1', [name])).rows).toHaveLength(1)
	const attempts = explain(response)?.attempts ?? []
	const waits = attempts.flatMap(({ delaySource }) => delaySource ?? [])
	expect(waits).toHaveLength(attempts.length - 1)
	expect(retries).toHaveLength(waits.length)
	expect(waits.length).toBeGreaterThan(0)
	expect(waits.includes('retry-after')).toBe(fault.hasRetryAfter)
})
