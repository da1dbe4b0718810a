/**
 * The functions for ORMs with objects of their shapes: what they reject, and the statements that they pass on. test/orms runs them with the
 * real packages.
 */
import { describe, expect, test, vi } from 'vitest'
import { drizzleTx } from '../../../src/sql/orms/drizzle.ts'
import { knexTx, toQuestionMarks } from '../../../src/sql/orms/knex.ts'
import { kyselyTx } from '../../../src/sql/orms/kysely.ts'
import { mikroOrmTx } from '../../../src/sql/orms/mikro-orm.ts'
import { isCertainlyOpen, showsNoState } from '../../../src/sql/orms/orm-transaction.ts'
import { postgresJsTx } from '../../../src/sql/orms/postgres-js.ts'
import { prismaTx } from '../../../src/sql/orms/prisma.ts'
import { recognizeOrm } from '../../../src/sql/orms/recognize.ts'
import { sequelizeTx } from '../../../src/sql/orms/sequelize.ts'
import { typeormTx } from '../../../src/sql/orms/typeorm.ts'
import { isInTransaction } from '../../../src/sql/transaction-state.ts'

const work = () => {}
const rows = [{ a: 1 }]
const KIND = Symbol.for('drizzle:entityKind')

/** An object of a class of Drizzle. */
const ofKind = (kind: string, properties: object = {}): object =>
	Object.assign(Object.create({ constructor: { [KIND]: kind } }), properties)
class PostgresAdapter {}
class MysqlAdapter {}

const query = vi.fn(async (_text: string, _values?: unknown[]) => ({ rows }))
const drizzle = (client: object, dialect: object = ofKind('PgDialect')) =>
	ofKind('NodePgTransaction', { _: { session: { client } }, dialect, rollback: work })
const kysely = (adapter: object, properties: object = {}) => ({
	isTransaction: true,
	executeQuery: vi.fn(async (_: object) => ({ rows })),
	getExecutor: () => ({ adapter }),
	...properties,
})
const knex = (dialect: string, isCompleted = false) =>
	Object.assign(work.bind(undefined), {
		isTransaction: true,
		isCompleted: () => isCompleted,
		raw: vi.fn(async () => ({ rows })),
		transaction: work,
		queryBuilder: work,
		client: { dialect },
	})
const prisma = (provider = 'postgresql') => ({
	_activeProvider: provider,
	$queryRawUnsafe: vi.fn(async () => rows),
})
const runner = (type: string, properties: object = {}) => ({
	isTransactionActive: true,
	isReleased: false,
	query: vi.fn(async (): Promise<unknown> => [rows, 1]),
	connection: { options: { type } },
	...properties,
})
const sequelize = (dialect: string, properties: object = {}) => ({
	commit: work,
	rollback: work,
	afterCommit: work,
	sequelize: { query: vi.fn(async () => rows), getDialect: () => dialect, getQueryInterface: work },
	...properties,
})
const entityManager = (context: unknown, isInTransaction = true) => ({
	isInTransaction: () => isInTransaction,
	getTransactionContext: () => context,
})
const postgresJs = { unsafe: vi.fn(async () => rows), savepoint: work, typed: work }

describe('a transaction of an ORM', () => {
	test.each<[string, () => unknown]>([
		['Drizzle', () => drizzleTx(drizzle({ query, closed: false }) as never)],
		['Kysely', () => kyselyTx(kysely(new PostgresAdapter()) as never)],
		['Knex', () => knexTx(knex('postgresql') as never)],
		['Prisma', () => prismaTx(prisma() as never)],
		['TypeORM', () => typeormTx(runner('postgres') as never)],
		['TypeORM with a manager', () => typeormTx({ queryRunner: runner('postgres') } as never)],
		['Sequelize', () => sequelizeTx(sequelize('postgres') as never)],
		['MikroORM 7', () => mikroOrmTx(entityManager(kysely(new PostgresAdapter())) as never)],
		['MikroORM 6', () => mikroOrmTx(entityManager(knex('postgresql')) as never)],
		['postgres.js', () => postgresJsTx(postgresJs as never)],
	])('runs a text with values and returns its rows: %s', async (_, create) => {
		const tx = create() as { query(text: string, values: unknown[]): Promise<unknown> }
		const result = Object(await tx.query('select $1', [1]))
		expect(result.rows ?? result).toEqual(rows)
	})

	test('is one object for the transaction', () => {
		const trx = knex('postgresql')
		expect(knexTx(trx as never)).toBe(knexTx(trx as never))
		expect(knexTx(trx as never)).not.toBe(knexTx(knex('postgresql') as never))
	})

	test.each<[string, () => unknown, string]>([
		['Drizzle', () => drizzleTx(drizzle({ query }, ofKind('MySqlDialect')) as never), 'MySql'],
		['Kysely', () => kyselyTx(kysely(new MysqlAdapter()) as never), 'Mysql'],
		['Knex', () => knexTx(knex('mysql') as never), 'mysql'],
		['Prisma', () => prismaTx(prisma('sqlite') as never), 'sqlite'],
		['TypeORM', () => typeormTx(runner('better-sqlite3') as never), 'better-sqlite3'],
		['Sequelize', () => sequelizeTx(sequelize('mariadb') as never), 'mariadb'],
		['MikroORM', () => mikroOrmTx(entityManager(kysely(new MysqlAdapter())) as never), 'Mysql'],
	])('on another database than PostgreSQL is rejected: %s', (orm, create, database) => {
		expect(create).toThrow(`a transaction of ${orm} on PostgreSQL, and this one is on ${database}`)
	})

	test('of another database whose client has no query is rejected: Drizzle', () => {
		expect(() => drizzleTx(drizzle({ execute: work }) as never)).toThrow(
			'node-postgres, postgres-js, pglite or better-sqlite3',
		)
	})

	test('of another database behind MikroORM is rejected', () => {
		expect(() => mikroOrmTx(entityManager({}) as never)).toThrow('an em after em.begin(), on PostgreSQL')
	})

	test.each<[string, (given: never) => unknown, unknown]>([
		['drizzleTx', drizzleTx, { ...drizzle({ query }), rollback: undefined }],
		['kyselyTx', kyselyTx, kysely(new PostgresAdapter(), { isTransaction: false })],
		['knexTx', knexTx, { ...knex('postgresql'), isTransaction: undefined }],
		['prismaTx', prismaTx, { ...prisma(), $connect: work }],
		['typeormTx', typeormTx, { getRepository: work, queryRunner: undefined }],
		['sequelizeTx', sequelizeTx, sequelize('postgres').sequelize],
		['mikroOrmTx', mikroOrmTx, entityManager(undefined, false)],
		['postgresJsTx', postgresJsTx, { unsafe: work }],
	])('is not the object of the whole program: %s', (_, create, given) => {
		for (const wrong of [given, {}, null, undefined, 1])
			expect(() => create(wrong as never)).toThrow(
				expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT' }),
			)
	})

	test.each<[string, () => unknown]>([
		['Drizzle', () => drizzleTx(drizzle({ query, closed: true }) as never)],
		[
			'Kysely',
			() => kyselyTx(kysely(new PostgresAdapter(), { isCommitted: true, isRolledBack: false }) as never),
		],
		['Knex', () => knexTx(knex('postgresql', true) as never)],
		['TypeORM', () => typeormTx(runner('postgres', { isTransactionActive: false }) as never)],
		['Sequelize', () => sequelizeTx(sequelize('postgres', { finished: 'commit' }) as never)],
	])('that has ended runs nothing: %s', async (orm, create) => {
		const tx = create() as Parameters<typeof isCertainlyOpen>[0]
		expect(isInTransaction(tx)).toBe(false)
		await expect(tx.query('select 1')).rejects.toMatchObject({
			code: 'YAOKI_TRANSACTION_CLOSED',
			message: expect.stringContaining(`The transaction of ${orm} has ended`),
		})
	})

	test('that the ORM itself rejects has ended, and an error of the database passes through', async () => {
		const cause = Object.assign(new Error('expired'), { code: 'P2028' })
		const expired = { ...prisma(), $queryRawUnsafe: () => Promise.reject(cause) }
		const query = (prismaTx(expired as never) as { query(text: string): Promise<unknown> }).query('select 1')
		await expect(query).rejects.toMatchObject({ code: 'YAOKI_TRANSACTION_CLOSED', cause })
		const failure = Object.assign(new Error('no such table'), { code: '42P01' })
		const failing = { ...knex('postgresql'), raw: () => Promise.reject(failure) }
		const other = (knexTx(failing as never) as { query(text: string): Promise<unknown> }).query('select 1')
		await expect(other).rejects.toBe(failure)
	})

	test.each<[string, () => unknown, isOpen: boolean | undefined, showsNone: boolean]>([
		['postgres.js', () => postgresJsTx({ ...postgresJs } as never), undefined, true],
		['Kysely, in a callback', () => kyselyTx(kysely(new PostgresAdapter()) as never), undefined, true],
		[
			'Kysely, ended by the program',
			() => kyselyTx(kysely(new PostgresAdapter(), { isCommitted: false }) as never),
			undefined,
			false,
		],
		['Knex', () => knexTx(knex('postgresql') as never), undefined, false],
		['Prisma', () => prismaTx(prisma() as never), true, false],
	])('asks PostgreSQL unless the ORM runs nothing after the end: %s', (_, create, isOpen, showsNone) => {
		const tx = create() as Parameters<typeof isCertainlyOpen>[0]
		expect([isCertainlyOpen(tx), showsNoState(tx)]).toEqual([isOpen, showsNone])
	})
})

describe('a client of pg that Drizzle has checked out', () => {
	const clientOf = (status: () => string) => ({
		query,
		release: work,
		readyForQuery: true,
		getTransactionStatus: status,
	})
	const txOf = (client: object) =>
		drizzleTx(drizzle(client) as never) as unknown as Parameters<typeof isCertainlyOpen>[0]

	test('shows its state', () => {
		let status = 'T'
		const tx = txOf(clientOf(() => status))
		expect(isInTransaction(tx)).toBe(true)
		status = 'I'
		expect(isInTransaction(tx)).toBe(false)
	})

	test('runs nothing after the end, and nothing in the transaction of the next caller of the pool', async () => {
		const client = clientOf(() => 'T')
		const tx = txOf(client)
		expect(await tx.query('select 1')).toEqual({ rows })
		client.release = () => {}
		expect(isInTransaction(tx)).toBe(false)
		await expect(tx.query('select 1')).rejects.toMatchObject({ code: 'YAOKI_TRANSACTION_CLOSED' })
	})
})

describe('a transaction of Drizzle with better-sqlite3', () => {
	const sqlite = (inTransaction: boolean) => ({ prepare: work, inTransaction })

	test('is the database', () => {
		const client = sqlite(true)
		expect(drizzleTx(drizzle(client) as never)).toBe(client)
	})

	test('that has ended is rejected', () => {
		expect(() => drizzleTx(drizzle(sqlite(false)) as never)).toThrow(
			expect.objectContaining({ code: 'YAOKI_TRANSACTION_CLOSED' }),
		)
	})
})

describe('toQuestionMarks', () => {
	test('binds repeated values again, and keeps question marks of the text', () => {
		expect(toQuestionMarks("$2 || $1 || $2 ? 'a?' $10", ['a', 'b', 3, 4, 5, 6, 7, 8, 9, 'j'])).toEqual({
			sql: "? || ? || ? \\? 'a\\?' ?",
			bindings: ['b', 'a', 'b', 'j'],
		})
	})
})

describe('recognizeOrm', () => {
	test.each<[string, unknown, string]>([
		['Drizzle', drizzle({ query }), 'drizzleTx(tx)'],
		['Prisma', prisma(), 'prismaTx(tx)'],
		['Kysely', kysely(new PostgresAdapter()), 'kyselyTx(trx)'],
		['Knex', knex('postgresql'), 'knexTx(trx)'],
		['Sequelize', sequelize('postgres'), 'sequelizeTx(transaction)'],
		['Sequelize', sequelize('postgres').sequelize, 'sequelizeTx(transaction)'],
		['MikroORM', entityManager(undefined), 'mikroOrmTx(em)'],
		['postgres.js', postgresJs, 'postgresJsTx(sql)'],
		['TypeORM', { getRepository: work, createQueryBuilder: work }, 'typeormTx(manager)'],
		['TypeORM', { createQueryRunner: work }, 'typeormTx(manager)'],
	])('names the function for an object of %s', (name, tx, call) => {
		const imported = call.slice(0, call.indexOf('('))
		expect(recognizeOrm(tx, 'yaoki/outbox', 'postgres')).toEqual({
			name,
			pass: expect.stringMatching(
				new RegExp(`^${call.replace(/[()]/g, '\\$&')} in .*import { ${imported} } from 'yaoki/outbox'$`),
			),
		})
	})

	test('knows only Drizzle on SQLite, no client of a driver, and not what the functions return', () => {
		expect(recognizeOrm(drizzle({ query }), 'yaoki/outbox', 'sqlite')?.name).toBe('Drizzle')
		expect(recognizeOrm(prisma(), 'yaoki/outbox', 'sqlite')).toBeUndefined()
		for (const other of [
			{ query },
			{ prepare: work },
			null,
			undefined,
			1,
			knexTx(knex('postgresql') as never),
		])
			expect(recognizeOrm(other, 'yaoki/outbox', 'postgres')).toBeUndefined()
	})
})
