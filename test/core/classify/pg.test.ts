import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { classify } from 'yaoki'
import { type RealPostgres, startPostgres } from '../../real-postgres.ts'
import {
	closeAtOnce,
	deadPort,
	type Fault,
	faultServer,
	neverAnswers,
	resetOnRequest,
} from './fault-server.ts'
import { failureOf, PERMANENT, TRANSIENT, verdict } from './verdicts.ts'

let postgres: RealPostgres
const open: pg.Client[] = []

/** A connected client of the real server; it is closed after the test, however the test ended. */
async function connect(settings: pg.ClientConfig = {}): Promise<pg.Client> {
	const client = new pg.Client({ ...postgres.connection, ...settings })
	// A terminated connection is told here as well, and unheard it would end the process.
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
		create role stranger login password 'secret';
	`)
}, 60_000)
afterEach(async () => {
	await Promise.all(open.splice(0).map((client) => client.end()))
})
afterAll(() => postgres?.[Symbol.asyncDispose]())

test.each([
	['23505', 'a key that is already there', 'insert into account values (1, 0)'],
	['23502', 'a missing value', 'insert into account (id) values (3)'],
	['22P02', 'a value that can not be read', "select 'many'::int"],
	['42601', 'a syntax error', 'selekt 1'],
	['42P01', 'a table that does not exist', 'select * from "ThrottlingException"'],
	['42704', 'a setting that does not exist', 'show "timed out"'],
	['21000', 'two rows where one was asked for', 'select (select id from account)'],
	['3F000', 'a schema that does not exist', 'create table nowhere.a (id int)'],
])('SQLSTATE %s, %s, is permanent', async (code, _, sql) => {
	const client = await connect()
	const error = await failureOf(() => client.query(sql))
	expect(codeOf(error)).toBe(code)
	expect(classify(error)).toEqual(PERMANENT)
})

test.each([
	['28P01', 'a wrong password', { password: 'guess' }],
	['3D000', 'a database that does not exist', { database: 'nowhere' }],
])('SQLSTATE %s, %s, is permanent', async (code, _, settings) => {
	const error = await failureOf(() => connect(settings))
	expect(codeOf(error)).toBe(code)
	expect(classify(error)).toEqual(PERMANENT)
})

test('a missing right is permanent', async () => {
	const client = await connect({ user: 'stranger' })
	const error = await failureOf(() => client.query('select * from account'))
	expect(codeOf(error)).toBe('42501')
	expect(classify(error)).toEqual(PERMANENT)
})

test('a role without a free connection is transient', async () => {
	const error = await failureOf(() => connect({ user: 'crowded' }))
	expect(codeOf(error)).toBe('53300')
	expect(classify(error)).toEqual(TRANSIENT)
})

test('a serialization failure is transient', async () => {
	const [slow, quick] = [await connect(), await connect()]
	await slow.query('begin isolation level repeatable read; select * from account')
	await quick.query('update account set balance = balance + 1 where id = 1')
	const error = await failureOf(() => slow.query('update account set balance = 0 where id = 1'))
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
	const error = await failureOf(() => Promise.all([touch(one, 2), touch(two, 1)]))
	expect(codeOf(error)).toBe('40P01')
	expect(classify(error)).toEqual(TRANSIENT)
})

test('a connection that the server ended is transient, for the query in flight and for the next one', async () => {
	const [victim, administrator] = [await connect(), await connect()]
	const { rows } = await victim.query('select pg_backend_pid() as pid')
	const inFlight = failureOf(() => victim.query('select pg_sleep(60)'))
	const ended = new Promise((resolve) => victim.once('end', resolve))
	await administrator.query('select pg_terminate_backend($1)', [rows[0].pid])
	const error = await inFlight
	expect(codeOf(error)).toBe('57P01')
	expect(classify(error)).toEqual(TRANSIENT)
	await ended
	expect(await verdict(() => victim.query('select 1'))).toEqual(TRANSIENT)
})

test.each([
	['57014', 'statement_timeout', { statement_timeout: 10 }, 'select pg_sleep(60)'],
	['55P03', 'lock_timeout', { lock_timeout: 10 }, 'update account set balance = 0 where id = 1'],
	[undefined, 'query_timeout', { query_timeout: 10 }, 'select pg_sleep(1)'],
])('SQLSTATE %s, a %s that has passed, is transient', async (code, _, settings, sql) => {
	const [holder, client] = [await connect(), await connect(settings)]
	await holder.query('begin; lock table account')
	const error = await failureOf(() => client.query(sql))
	expect(codeOf(error)).toBe(code)
	expect(classify(error)).toEqual(TRANSIENT)
})

test('a pool with nothing to give is transient', async () => {
	const pool = new pg.Pool({ ...postgres.connection, max: 1, connectionTimeoutMillis: 500 })
	const held = await pool.connect()
	expect(await verdict(() => pool.query('select 1'))).toEqual(TRANSIENT)
	held.release()
	await pool.end()
})

test('a refused connection is transient', async () => {
	const port = await deadPort()
	expect(await verdict(() => connect({ port }))).toEqual(TRANSIENT)
})

test.each<[string, Fault]>([
	['closes', closeAtOnce],
	['resets', resetOnRequest],
	['never answers', neverAnswers],
])('a server that %s during the handshake is transient', async (_, fault) => {
	await using server = await faultServer(fault)
	expect(await verdict(() => connect({ port: server.port, connectionTimeoutMillis: 50 }))).toEqual(TRANSIENT)
})
