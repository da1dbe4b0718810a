import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { toCliError } from '../../../src/cli/database/database-errors.ts'
import { resolveTarget } from '../../../src/cli/database/database-target.ts'
import { CliError } from '../../../src/cli/errors.ts'
import { OutboxSchemaError, OutboxStoreError } from '../../../src/outbox/store/errors.ts'

const postgres = resolveTarget({ database: 'postgres://ada:hunter2@db/shop', schema: undefined }, {})
const sqlite = resolveTarget({ database: 'shop.db', schema: undefined }, {})

const withCode = (code: string, message = 'no') => Object.assign(new Error(message), { code })

describe('exit code 5 for a database that', () => {
	test.each([
		['refuses the connection', withCode('ECONNREFUSED')],
		['has an unknown host name', withCode('ENOTFOUND')],
		['is starting up', withCode('57P03')],
		['is shutting down', withCode('57P01')],
		['rejects the password', withCode('28P01')],
		['does not exist on the server', withCode('3D000')],
		['has too many connections', withCode('53300')],
		['does not respond', new Error('timeout exceeded when trying to connect')],
		['closes the connection', new Error('Connection terminated unexpectedly')],
		['fails inside an error of the store', new OutboxStoreError('find', withCode('ECONNRESET'))],
		[
			'refuses the connection at every address',
			new AggregateError([withCode('ECONNREFUSED'), withCode('ECONNREFUSED')]),
		],
		['is a file that cannot be opened', Object.assign(new Error('unable to open'), { errcode: 14 })],
		['is a file of another type', Object.assign(new Error('not a database'), { errcode: 26 })],
	])('%s', (_, error) => {
		expect(toCliError(error, postgres)).toMatchObject({ kind: 'unreachable', exitCode: 5 })
		expect(toCliError(error, postgres)).toMatchObject({
			message: expect.stringContaining('Cannot reach postgres://ada@db/shop: '),
		})
	})
})

test('exit code 1 for a database that returns an error', () => {
	expect(toCliError(new OutboxSchemaError(1, 2), sqlite)).toMatchObject({
		exitCode: 1,
		message: expect.stringMatching(/^shop\.db: /),
	})
	expect(toCliError(new OutboxStoreError('settle', new Error('disk I/O error')), sqlite)).toMatchObject({
		exitCode: 1,
		message: expect.stringContaining('disk I/O error'),
	})
})

test('missing tables are reported with their schema and the command that creates them', () => {
	expect(toCliError(new OutboxSchemaError(0, 1), sqlite)).toMatchObject({
		exitCode: 1,
		message: 'shop.db has no outbox tables.',
		hint: "Create them with 'yaoki outbox migrate --database shop.db', or select another database with --database.",
	})
	const nope = resolveTarget({ database: 'postgres://ada:hunter2@db/shop', schema: 'nope' }, {})
	expect(toCliError(new OutboxSchemaError(0, 1), nope)).toMatchObject({
		message: 'postgres://ada@db/shop, schema nope has no outbox tables.',
		hint: "Create them with 'yaoki outbox migrate --database postgres://ada@db/shop --schema nope', or select another database with --database and --schema.",
	})
	expect(toCliError(new OutboxSchemaError(1, 2), nope)).toMatchObject({
		message: expect.stringMatching(/^postgres:\/\/ada@db\/shop, schema nope: /),
	})
})

test.each([[new TypeError('a bug')], ['a text'], [undefined]])(
	'an unexpected error is returned unchanged: %s',
	(thrown) => {
		expect(toCliError(thrown, postgres)).toBe(thrown)
	},
)

test('a CliError is returned unchanged', () => {
	const own = new CliError('notFound', 'Message does not exist.')
	expect(toCliError(own, postgres)).toBe(own)
})

test.each([
	['in its message', withCode('ECONNREFUSED', 'connect to postgres://ada:hunter2@db failed')],
	['in an unexpected error', new Error('odd: hunter2')],
	['in a cause', new Error('outer', { cause: new Error('inner hunter2') })],
	['in an error of the store', new OutboxStoreError('find', new Error('hunter2 is wrong'))],
])('a password %s is printed neither in the message nor by --debug', (_, error) => {
	const converted = toCliError(error, postgres)
	expect(converted).toBeInstanceOf(CliError)
	expect(inspect(converted)).not.toContain('hunter2')
})
