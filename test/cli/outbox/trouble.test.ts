import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { CliError } from '../../../src/cli/errors.ts'
import { targetOf } from '../../../src/cli/outbox/target.ts'
import { troubleWith } from '../../../src/cli/outbox/trouble.ts'
import { SchemaVersionError, StoreError } from '../../../src/outbox/store/errors.ts'

const postgres = targetOf({ database: 'postgres://ada:hunter2@db/shop', schema: undefined }, {})
const sqlite = targetOf({ database: 'shop.db', schema: undefined }, {})

const coded = (code: string, message = 'no') => Object.assign(new Error(message), { code })

describe('a database that can not be reached is exit code 5', () => {
	test.each([
		['refuses', coded('ECONNREFUSED')],
		['has no address', coded('ENOTFOUND')],
		['is starting up', coded('57P03')],
		['is shutting down', coded('57P01')],
		['does not know the password', coded('28P01')],
		['is not there on that server', coded('3D000')],
		['has no place left', coded('53300')],
		['does not answer', new Error('timeout exceeded when trying to connect')],
		['hangs up', new Error('Connection terminated unexpectedly')],
		['does so behind an error of the store', new StoreError('find', coded('ECONNRESET'))],
		['does so at every address', new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')])],
		['is a file that can not be opened', Object.assign(new Error('unable to open'), { errcode: 14 })],
		['is a file of another kind', Object.assign(new Error('not a database'), { errcode: 26 })],
	])('%s', (_, error) => {
		expect(troubleWith(postgres, error)).toMatchObject({ kind: 'unreachable', exitCode: 5 })
		expect(troubleWith(postgres, error)).toMatchObject({
			message: expect.stringContaining('postgres://ada@db/shop could not be reached: '),
		})
	})
})

test('one that answers with an error is another matter', () => {
	expect(troubleWith(sqlite, new SchemaVersionError(1, 2))).toMatchObject({
		exitCode: 1,
		message: expect.stringMatching(/^shop\.db: the outbox's tables are of version 1 /),
	})
	expect(troubleWith(sqlite, new StoreError('settle', new Error('disk I/O error')))).toMatchObject({
		exitCode: 1,
		message: 'settle: disk I/O error',
	})
})

test('tables that are not there are told with their schema, and with the whole command that makes them', () => {
	expect(troubleWith(sqlite, new SchemaVersionError(0, 1))).toMatchObject({
		exitCode: 1,
		message: 'shop.db: there are no tables of an outbox',
		hint: 'yaoki outbox migrate --database shop.db makes them; --database names another place.',
	})
	const nope = targetOf({ database: 'postgres://ada:hunter2@db/shop', schema: 'nope' }, {})
	expect(troubleWith(nope, new SchemaVersionError(0, 1))).toMatchObject({
		message: 'postgres://ada@db/shop, schema nope: there are no tables of an outbox',
		hint: 'yaoki outbox migrate --database postgres://ada@db/shop --schema nope makes them; --database and --schema name another place.',
	})
	expect(troubleWith(nope, new SchemaVersionError(1, 2))).toMatchObject({
		message: expect.stringMatching(/^postgres:\/\/ada@db\/shop, schema nope: the outbox's tables are/),
	})
})

test.each([[new TypeError('a bug')], ['a text'], [undefined]])(
	'what nobody foresaw stays what it is: %s',
	(thrown) => {
		expect(troubleWith(postgres, thrown)).toBe(thrown)
	},
)

test('what a command said itself is not said again', () => {
	const own = new CliError('notFound', 'there is no message')
	expect(troubleWith(postgres, own)).toBe(own)
})

test.each([
	['in its words', coded('ECONNREFUSED', 'connect to postgres://ada:hunter2@db failed')],
	['in what nobody foresaw', new Error('odd: hunter2')],
	['in a cause', new Error('outer', { cause: new Error('inner hunter2') })],
	['in an error of the store', new StoreError('find', new Error('hunter2 is wrong'))],
])('a password %s is told neither in the message nor by --debug', (_, error) => {
	const told = troubleWith(postgres, error)
	expect(told).toBeInstanceOf(CliError)
	expect(inspect(told)).not.toContain('hunter2')
})
