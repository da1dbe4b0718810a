import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { classify } from 'yaoki'
import { catchFailure, classifyFailure, PERMANENT, TRANSIENT } from './expected.ts'

function open(): DatabaseSync {
	const database = new DatabaseSync(':memory:')
	onTestFinished(() => database.close())
	database.exec(`
		create table users (id integer primary key, email text not null unique, age integer check (age > 0)) strict;
		create table orders (id integer primary key, user_id integer references users (id)) strict;
		insert into users values (1, 'timeout', 36);
	`)
	return database
}

test('a database that another connection has locked is transient', async () => {
	const directory = mkdtempSync(join(tmpdir(), 'yaoki-sqlite-'))
	const [holder, other] = [0, 1].map(() => new DatabaseSync(join(directory, 'data.db'), { timeout: 0 }))
	onTestFinished(() => {
		holder?.close()
		other?.close()
		rmSync(directory, { recursive: true })
	})
	holder?.exec('begin exclusive')
	expect(await classifyFailure(() => other?.exec('create table a (id int)'))).toEqual(TRANSIENT)
})

test.each([
	['a duplicate primary key', "insert into users values (1, 'b', 1)"],
	['a violated unique constraint', "insert into users values (2, 'timeout', 1)"],
	['a missing value', 'insert into users values (2, null, 1)'],
	['a violated check', "insert into users values (2, 'b', 0)"],
	['a violated foreign key', 'insert into orders values (1, 99)'],
	['a value of another type', "insert into users values (2, 'b', 'timeout')"],
	['a table that does not exist', 'select * from timeout'],
	['a syntax error', 'selec timeout'],
])('%s is permanent', async (_, sql) => {
	const error = await catchFailure(() => open().exec(sql))
	expect(error).toHaveProperty('code', 'ERR_SQLITE_ERROR')
	expect(classify(error)).toEqual(PERMANENT)
})

test.each([
	[5, TRANSIENT],
	[6, TRANSIENT],
	[261, TRANSIENT],
	[517, TRANSIENT],
	[19, PERMANENT],
	[1555, PERMANENT],
	[2067, PERMANENT],
	[787, PERMANENT],
])('result code %i of node:sqlite is known, with and without its extension', (errcode, meaning) => {
	expect(classify(Object.assign(new Error('Other'), { errcode }))).toEqual(meaning)
})

test.each(['SQLITE_CONSTRAINT', 'SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_FOREIGNKEY', 'SQLITE_ERROR'])(
	'code %s is permanent',
	(code) => expect(classify(Object.assign(new Error('Other'), { code }))).toEqual(PERMANENT),
)

test.each(['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT', 'SQLITE_LOCKED', 'SQLITE_LOCKED_SHAREDCACHE'])(
	'code %s is transient',
	(code) => expect(classify(Object.assign(new Error('Other'), { code }))).toEqual(TRANSIENT),
)
