/** The servers of docs/guide/orms-servers.md: order, message and response of a request are committed together, whatever ends the transaction. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { end, guard } from '../guard/guard.ts'
import { eventually } from '../support/eventually.ts'
import { listen } from '../support/listen.ts'
import { postgresDatabase } from '../support/postgres-database.ts'
import { stablePort } from '../support/stable-port.ts'
import { temporaryFolder } from '../support/temporary-file.ts'
import { type Program, programs, writeProject } from './support/programs.ts'

interface Delivered {
	readonly key: string | undefined
	readonly order: unknown
}

/** A service that gets the messages. */
async function startLedger() {
	const delivered: Delivered[] = []
	const server = createServer(async (request, response) => {
		const chunks = await request.toArray()
		const order: unknown = JSON.parse(Buffer.concat(chunks).toString())
		delivered.push({ key: request.headers['idempotency-key']?.toString(), order })
		response.writeHead(204).end()
	})
	const port = await listen(server)
	onTestFinished(() => {
		server.close()
		server.closeAllConnections()
	})
	return { delivered, url: `http://127.0.0.1:${port}/orders` }
}

/** The server in an empty project, with a database in which the orders of the program fit. */
async function startShop(program: Program) {
	const database = await postgresDatabase()
	const pool = new pg.Pool(database.connection)
	await pool.query('create table orders (id text primary key, customer text not null, amount int not null)')
	const ledger = await startLedger()
	const folder = temporaryFolder()
	writeProject(folder, program)
	const port = await stablePort()
	let server: ChildProcess | undefined
	const start = async (): Promise<ChildProcess> => {
		const env = { ...process.env, DATABASE_URL: database.url, LEDGER_URL: ledger.url, PORT: String(port) }
		const child = guard(
			spawn(process.execPath, [program.name], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] }),
		)
		server = child
		for await (const line of createInterface({ input: child.stdout })) if (line === 'listening') return child
		throw new Error(`${program.name} ended before it was listening`)
	}
	const kill = async () => {
		if (server) await end(server)
	}
	onTestFinished(async () => {
		await kill()
		await pool.end()
		await database[Symbol.asyncDispose]()
	})
	const post = (key: string, amount = 1_200): Promise<Response> =>
		fetch(`http://127.0.0.1:${port}/orders`, {
			method: 'POST',
			headers: {
				authorization: 'Bearer token-of-ada',
				'content-type': 'application/json',
				'idempotency-key': key,
			},
			body: JSON.stringify({ amount }),
		})
	const count = async (table: string) =>
		Number((await pool.query(`select count(*) from ${table}`)).rows[0].count)
	/** What is committed: orders, messages that were not sent yet, and stored responses. */
	const committed = async () => ({
		orders: await count('orders'),
		messages: await count('yaoki.outbox'),
		responses: await count("yaoki.idempotency_keys where state = 'completed'"),
	})
	return { pool, post, count, committed, ledger, start, kill }
}

/** In its COMMIT a transaction waits for a lock of the test. Order, message and response are written by then. */
const WAIT_IN_COMMIT = `
	create function wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return null; end $$;
	create constraint trigger wait after insert on orders deferrable initially deferred for each row execute function wait()`
const WAITING = "from pg_stat_activity where datname = current_database() and wait_event = 'advisory'"

/** Kills the server while a request is in its COMMIT. `decide` is called before the COMMIT may continue. */
async function killInCommit(
	shop: Awaited<ReturnType<typeof startShop>>,
	decide: () => unknown,
): Promise<void> {
	const { pool, post, start, kill } = shop
	await start()
	await pool.query(WAIT_IN_COMMIT)
	const holder = await pool.connect()
	await holder.query('select pg_advisory_lock(1)')
	const lost = post('k1').catch((error: unknown) => error)
	await eventually(async () => expect((await pool.query(`select ${WAITING}`)).rows).toHaveLength(1))
	await kill()
	expect(await lost).toBeInstanceOf(Error)
	await decide()
	await holder.query('select pg_advisory_unlock(1)')
	holder.release()
}

const seen = async (response: Response) => ({
	status: response.status,
	body: await response.text(),
	isReplay: response.headers.has('idempotency-replayed'),
})

describe.each(
	programs.filter(({ name }) => name.endsWith('-server.ts')).map((program) => [program.name, program]),
)('%s', (_, program) => {
	test('a repeated request gets the response of the first one, and the message is delivered', async () => {
		const { post, count, ledger, start } = await startShop(program)
		const server = await start()
		const first = await seen(await post('k1'))
		expect(first).toMatchObject({ status: 201, isReplay: false })
		expect(await seen(await post('k1'))).toEqual({ ...first, isReplay: true })
		const order: unknown = JSON.parse(first.body)
		expect(order).toEqual({ id: expect.any(String), customer: 'ada', amount: 1_200 })
		await eventually(() => expect(ledger.delivered).toEqual([{ key: expect.any(String), order }]))
		expect(await count('orders')).toBe(1)
		expect(await seen(await post('k2', -1))).toMatchObject({ status: 422 })
		const exited = once(server, 'exit')
		server.kill('SIGTERM')
		expect(await exited).toEqual([0, null])
	})

	test('a COMMIT that fails leaves no order, no message and no response, and the repeated request places the order', async () => {
		const { pool, post, committed, ledger, start } = await startShop(program)
		await start()
		await pool.query(`
				create function fail() returns trigger language plpgsql as $$ begin raise exception 'no commit'; end $$;
				create constraint trigger fail after insert on orders deferrable initially deferred for each row execute function fail()`)
		expect(await seen(await post('k1'))).toMatchObject({ status: 500 })
		expect(await committed()).toEqual({ orders: 0, messages: 0, responses: 0 })
		await pool.query('drop trigger fail on orders')
		expect(await seen(await post('k1'))).toMatchObject({ status: 201, isReplay: false })
		await eventually(async () => expect(await committed()).toEqual({ orders: 1, messages: 0, responses: 1 }))
		expect(ledger.delivered).toHaveLength(1)
	})

	test('a server that is killed in the transaction leaves nothing, and the repeated request places the order once', async () => {
		const shop = await startShop(program)
		const { pool, post, committed, ledger, start } = shop
		// PostgreSQL finishes a COMMIT whose client has gone, if nothing ends it.
		await killInCommit(shop, () => pool.query(`select pg_terminate_backend(pid) ${WAITING}`))
		await eventually(async () => expect((await pool.query(`select ${WAITING}`)).rows).toEqual([]))
		expect(await committed()).toEqual({ orders: 0, messages: 0, responses: 0 })
		await start()
		expect(await seen(await post('k1'))).toMatchObject({ status: 201, isReplay: false })
		await eventually(() => expect(ledger.delivered).toHaveLength(1))
		expect(await committed()).toMatchObject({ orders: 1, responses: 1 })
	})

	test('a server that is killed before it has sent the response has placed the order, and the repeated request gets the response', async () => {
		const shop = await startShop(program)
		const { post, committed, ledger, start } = shop
		await killInCommit(shop, () => {})
		await eventually(async () => expect(await committed()).toEqual({ orders: 1, messages: 1, responses: 1 }))
		await start()
		expect(await seen(await post('k1'))).toMatchObject({ status: 201, isReplay: true })
		await eventually(() => expect(ledger.delivered).toHaveLength(1))
		expect(await committed()).toMatchObject({ orders: 1, responses: 1 })
	})
})
