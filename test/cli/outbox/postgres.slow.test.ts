import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Outbox, postgresOutboxStore } from '../../../src/outbox/index.ts'
import { type PostgresDatabase, postgresDatabase } from '../../support/postgres-database.ts'
import { enqueue, killMessages } from './fixtures.ts'
import { run, start } from './run-yaoki.ts'

let database: PostgresDatabase
let pool: pg.Pool
let outbox: Outbox

beforeAll(async () => {
	database = await postgresDatabase()
	pool = new pg.Pool(database.connection)
	// The server stops before the last connection is closed.
	pool.on('connect', (client) => client.on('error', () => {}))
	outbox = new Outbox({ store: postgresOutboxStore({ client: pool, schema: 'shop' }) })
})

afterAll(async () => {
	await outbox.close()
	await pool.end()
	await database[Symbol.asyncDispose]()
})

const cli = (args: string) =>
	run([...args.split(' '), '--schema', 'shop', '--json'], { DATABASE_URL: database.url })

const resultOf = async (args: string) => {
	const { code, stdout, stderr } = await cli(args)
	expect(code, stderr).toBe(0)
	return JSON.parse(stdout)
}

test('all commands work with PostgreSQL in the given schema', async () => {
	expect(await resultOf('outbox migrate')).toMatchObject({ from: 0 })
	expect(await resultOf('outbox migrate')).toMatchObject({ applied: [] })
	const [id = ''] = await enqueue(outbox, 'billing', 2)
	await killMessages(outbox.store, 'billing', new TypeError('bad amount'))
	const [later = ''] = await enqueue(outbox, 'mail', 1, { notBefore: new Date('2099-01-01') })

	expect(await resultOf('outbox status')).toMatchObject({
		totals: { dead: { count: 2 }, scheduled: { count: 1 } },
	})
	expect(await resultOf('outbox list --status dead --destination billing --since 1h')).toHaveLength(2)
	expect(await resultOf('outbox list --groups')).toMatchObject([{ count: 2, errorType: 'TypeError' }])
	expect(await resultOf(`outbox show ${id}`)).toMatchObject({ id, status: 'dead' })
	expect(await resultOf(`outbox why ${id}`)).toMatchObject({ why: expect.stringContaining('bad amount') })
	expect(await resultOf('outbox check --max-dead 2 --min-relays 0')).toMatchObject({ ok: true })
	expect(await cli('outbox check')).toMatchObject({ code: 4 })
	expect(await cli('outbox show nonsense')).toMatchObject({ code: 3 })
	expect(await resultOf('outbox retry --destination mail')).toEqual({ retried: 0 })
	expect(await resultOf(`outbox retry ${later}`)).toEqual({ retried: 1 })
	expect(await resultOf(`outbox replay ${id} --expires 2h`)).toMatchObject({ replayed: 1 })
	expect(await resultOf('outbox discard --all --yes')).toMatchObject({ discarded: 1 })
	expect(await resultOf('outbox pause mail --for 2h --by ada@ops')).toMatchObject({ by: 'ada@ops' })
	expect(await resultOf(`outbox why ${later}`)).toMatchObject({
		why: expect.stringContaining('paused by ada@ops'),
	})
	expect(await resultOf('outbox resume mail --close-circuit')).toMatchObject({ resumed: true })
	expect(await resultOf('outbox retry --destination mail --close-circuit')).toMatchObject({
		circuitClosed: false,
	})
	const records = await resultOf('outbox audit')
	expect(records.map(({ action }: { action: string }) => action)).toEqual([
		...['resume', 'pause', 'discard', 'edit', 'retry'],
	])
	expect(records[3]).toMatchObject({ messageId: id, payload: { number: 0 } })

	const server = createServer((request, response) => request.resume().on('end', () => response.end()))
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	const { port } = server.address() as AddressInfo
	const to = `http://127.0.0.1:${port}`
	const relay = start(['relay', '--database', database.url, '--schema', 'shop', '--to', to, '--json'])
	const left = async () => {
		const { due, inFlight } = (await outbox.stats()).totals
		return due.count + inFlight.count
	}
	await expect.poll(left, { timeout: 120_000 }).toBe(0)
	relay.interrupt()
	const { stdout, stderr } = await relay.ended
	server.close()
	expect(JSON.parse(stdout)).toMatchObject({ sent: 2 })
	expect(stderr).not.toContain(new URL(database.url).password || 'no password')
})

test('outbox sql prints the migrations that outbox migrate runs', async () => {
	const { stdout } = await run(['outbox', 'sql', '--schema', 'by_hand'])
	await pool.query(stdout)
	const args = ['outbox', 'migrate', '--schema', 'by_hand', '--json']
	const ran = await run(args, { DATABASE_URL: database.url })
	expect(JSON.parse(ran.stdout)).toMatchObject({ applied: [] })
})

describe('a PostgreSQL database', () => {
	test('a database without tables is reported with the command that creates them', async () => {
		const { code, stderr } = await run(['outbox', 'status', '--schema', 'nowhere'], {
			DATABASE_URL: database.url,
		})
		expect(code).toBe(1)
		expect(stderr).toContain('schema nowhere has no outbox tables.')
		expect(stderr).toContain("'yaoki outbox migrate --schema nowhere'")
	})

	test('rejects an invalid schema name and reports it as --schema', async () => {
		const { code, stderr } = await run(['outbox', 'status', '--schema', 'a;b'], {
			DATABASE_URL: database.url,
		})
		expect(code).toBe(2)
		expect(stderr).toContain('--schema')
	})

	const exitCodeWith = async (change: Partial<URL>) => {
		const url = Object.assign(new URL(database.url), change)
		const ran = await run(['outbox', 'status', '--debug'], { DATABASE_URL: url.href })
		expect(ran.stderr).not.toContain(url.password || 'no password')
		expect(ran.stdout).toBe('')
		return ran.code
	}

	test.each([
		['on a closed port', { port: '1' }],
		['that does not exist', { pathname: '/no_such_database' }],
	])('%s exits with 5, and --debug does not print the password', async (_, change) => {
		expect(await exitCodeWith(change)).toBe(5)
	})

	test('a database with a wrong password exits with 5 and does not print the password', async () => {
		// A server that trusts local connections accepts any password; then the tables are missing.
		expect([5, 1]).toContain(await exitCodeWith({ password: 'hunter2' }))
	})
})

test('check exits with 5 behind a lock, and with 6 and the missing grant without a privilege', async () => {
	// Regression: it waited until the lock was released.
	await resultOf('outbox migrate')
	const holder = await pool.connect()
	await holder.query('begin; lock table shop.outbox in access exclusive mode')
	const blocked = await cli('outbox check --timeout 300ms')
	await holder.query('rollback')
	holder.release()
	expect(blocked.code).toBe(5)
	expect(blocked.stderr).toContain('did not answer in time')
	await pool.query("create role reader login password 'secret'")
	const url = new URL(database.url)
	url.username = 'reader'
	url.password = 'secret'
	const asReader = () => run(['outbox', 'check', '--schema', 'shop'], { DATABASE_URL: url.href })
	const outside = await asReader()
	expect(outside).toMatchObject({
		code: 6,
		stderr: expect.stringContaining('grant usage on schema "shop" to "reader"'),
	})
	await pool.query('grant usage on schema shop to reader')
	const inside = await asReader()
	expect(inside).toMatchObject({
		code: 6,
		stderr: expect.stringContaining('on all tables in schema "shop" to "reader"'),
	})
	await pool.query('grant select on all tables in schema shop to reader')
	expect((await asReader()).code).not.toBe(6)
})

test('check --timeout limits the whole command, not each of its statements', async () => {
	// Regression: eight statements could take eight times as long.
	await resultOf('outbox migrate')
	const { hostname, port } = new URL(database.url)
	const DELAY_MS = 400
	const proxy = createTcpServer((client) => {
		const server = connect(Number(port), hostname)
		client.pipe(server)
		server.on('data', (bytes) => setTimeout(() => client.writable && client.write(bytes), DELAY_MS))
		for (const socket of [client, server]) {
			socket.on('error', () => {})
			socket.on('close', () => [client, server].forEach((one) => void one.destroy()))
		}
	})
	await once(proxy.listen(0, '127.0.0.1'), 'listening')
	const url = new URL(database.url)
	url.hostname = '127.0.0.1'
	url.port = String((proxy.address() as AddressInfo).port)
	const check = (timeout: string) =>
		run(['outbox', 'check', '--schema', 'shop', '--timeout', timeout], { DATABASE_URL: url.href })
	// Each statement takes less than this, all of them take longer.
	const slow = await check(`${3 * DELAY_MS}ms`)
	const patient = await check('10m')
	proxy.close()
	expect(slow).toMatchObject({ code: 5, stderr: expect.stringContaining('did not answer in time') })
	expect([0, 4]).toContain(patient.code)
})
