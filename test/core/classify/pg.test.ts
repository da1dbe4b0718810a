import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { classify } from 'yaoki'
import { type RealPostgres, startPostgres } from '../../support/real-postgres.ts'
import { catchFailure, classifyFailure, PERMANENT, TRANSIENT } from './expected.ts'
import {
	closeImmediately,
	deadPort,
	type Fault,
	faultServer,
	neverResponds,
	resetOnRequest,
} from './fault-server.ts'

let postgres: RealPostgres
const open: pg.Client[] = []

/** Returns a connected client of the real server, which is closed after the test. */
async function connect(settings: pg.ClientConfig = {}): Promise<pg.Client> {
	const client = new pg.Client({ ...postgres.connection, ...settings })
	// A terminated connection emits an error event, which would end the process without a listener.
	client.on('error', () => {})
	open.push(client)
	await client.connect()
	return client
}

const codeOf = (error: unknown) => (error instanceof pg.DatabaseError ? error.code : undefined)

beforeAll(async () => {
	postgres = await startPostgres()
	const client = await connect()
	await client.query(`
		create table account (id int primary key, balance int not null);
		insert into account values (1, 0), (2, 0);
		create role crowded login password 'secret' connection limit 0;
		create role unprivileged login password 'secret';
	`)
}, 60_000)
afterEach(async () => {
	await Promise.all(open.splice(0).map((client) => client.end()))
})
afterAll(() => postgres?.[Symbol.asyncDispose]())

test.each([
	['23505', 'a duplicate key', 'insert into account values (1, 0)'],
	['23502', 'a missing value', 'insert into account (id) values (3)'],
	['22P02', 'an invalid value', "select 'many'::int"],
	['42601', 'a syntax error', 'selekt 1'],
	['42P01', 'an unknown table', 'select * from "ThrottlingException"'],
	['42704', 'an unknown setting', 'show "timed out"'],
	['21000', 'two rows instead of one', 'select (select id from account)'],
	['3F000', 'an unknown schema', 'create table nowhere.a (id int)'],
])('SQLSTATE %s, %s, is permanent', async (code, _, sql) => {
	const client = await connect()
	const error = await catchFailure(() => client.query(sql))
	expect(codeOf(error)).toBe(code)
	expect(classify(error)).toEqual(PERMANENT)
})

test.each([
	['28P01', 'a wrong password', { password: 'guess' }],
	['3D000', 'an unknown database', { database: 'nowhere' }],
])('SQLSTATE %s, %s, is permanent', async (code, _, settings) => {
	const error = await catchFailure(() => connect(settings))
	expect(codeOf(error)).toBe(code)
	expect(classify(error)).toEqual(PERMANENT)
})

test('a missing privilege is permanent', async () => {
	const client = await connect({ user: 'unprivileged' })
	const error = await catchFailure(() => client.query('select * from account'))
	expect(codeOf(error)).toBe('42501')
	expect(classify(error)).toEqual(PERMANENT)
})

test('a role without a free connection is transient', async () => {
	const error = await catchFailure(() => connect({ user: 'crowded' }))
	expect(codeOf(error)).toBe('53300')
	expect(classify(error)).toEqual(TRANSIENT)
})

test('a serialization failure is transient', async () => {
	const [slow, quick] = [await connect(), await connect()]
	await slow.query('begin isolation level repeatable read; select * from account')
	await quick.query('update account set balance = balance + 1 where id = 1')
	const error = await catchFailure(() => slow.query('update account set balance = 0 where id = 1'))
	expect(codeOf(error)).toBe('40001')
	expect(classify(error)).toEqual(TRANSIENT)
})

test('a deadlock is transient', async () => {
	const [one, two] = [await connect(), await connect()]
	const touch = (client: pg.Client, id: number) =>
		client.query('update account set balance = 0 where id = $1', [id])
	await one.query('begin')
	await two.query('begin')
	await touch(one, 1)
	await touch(two, 2)
	const error = await catchFailure(() => Promise.all([touch(one, 2), touch(two, 1)]))
	expect(codeOf(error)).toBe('40P01')
	expect(classify(error)).toEqual(TRANSIENT)
})

test('a connection that the server terminates is transient, for the query in flight and for the next one', async () => {
	const [victim, administrator] = [await connect(), await connect()]
	const { rows } = await victim.query('select pg_backend_pid() as pid')
	const inFlight = catchFailure(() => victim.query('select pg_sleep(60)'))
	const ended = new Promise((resolve) => victim.once('end', resolve))
	await administrator.query('select pg_terminate_backend($1)', [rows[0].pid])
	const error = await inFlight
	expect(codeOf(error)).toBe('57P01')
	expect(classify(error)).toEqual(TRANSIENT)
	await ended
	expect(await classifyFailure(() => victim.query('select 1'))).toEqual(TRANSIENT)
})

test.each([
	['57014', 'statement_timeout', { statement_timeout: 10 }, 'select pg_sleep(60)'],
	['55P03', 'lock_timeout', { lock_timeout: 10 }, 'update account set balance = 0 where id = 1'],
	[undefined, 'query_timeout', { query_timeout: 10 }, 'select pg_sleep(1)'],
])('SQLSTATE %s, an expired %s, is transient', async (code, _, settings, sql) => {
	const [holder, client] = [await connect(), await connect(settings)]
	await holder.query('begin; lock table account')
	const error = await catchFailure(() => client.query(sql))
	expect(codeOf(error)).toBe(code)
	expect(classify(error)).toEqual(TRANSIENT)
})

test('an exhausted pool is transient', async () => {
	const pool = new pg.Pool({ ...postgres.connection, max: 1, connectionTimeoutMillis: 500 })
	const held = await pool.connect()
	expect(await classifyFailure(() => pool.query('select 1'))).toEqual(TRANSIENT)
	held.release()
	await pool.end()
})

test('ECONNREFUSED is transient', async () => {
	const port = await deadPort()
	expect(await classifyFailure(() => connect({ port }))).toEqual(TRANSIENT)
})

test.each<[string, Fault]>([
	['closes', closeImmediately],
	['resets', resetOnRequest],
	['never responds', neverResponds],
])('a server that %s during the handshake is transient', async (_, fault) => {
	await using server = await faultServer(fault)
	expect(await classifyFailure(() => connect({ port: server.port, connectionTimeoutMillis: 50 }))).toEqual(
		TRANSIENT,
	)
})
