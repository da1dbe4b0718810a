import { describe, expect, test } from 'vitest'
import { resolveTarget } from '../../../src/cli/database/database-target.ts'

const target = (database?: string, env: Record<string, string> = {}, schema?: string) =>
	resolveTarget({ database, schema }, env)

describe('the database', () => {
	test.each([
		['outbox.db', 'outbox.db'],
		['./data/shop.sqlite', './data/shop.sqlite'],
		['shop.sqlite3', 'shop.sqlite3'],
		['sqlite:shop', 'shop'],
		['sqlite:/var/lib/shop.db', '/var/lib/shop.db'],
		['sqlite:///var/lib/shop.db', '/var/lib/shop.db'],
		['file:shop.db', 'shop.db'],
		['file:///var/lib/my%20shop.db', '/var/lib/my shop.db'],
	])('%s is a SQLite file', (text, file) => {
		expect(target(text)).toMatchObject({ kind: 'sqlite', file, name: file })
	})

	test.each(['postgres://localhost/shop', 'postgresql://ada@db:5433/shop?sslmode=require'])(
		'%s is a PostgreSQL database',
		(url) => {
			expect(target(url, {}, 'mail')).toMatchObject({ kind: 'postgres', url, schema: 'mail' })
		},
	)

	test('defaults to DATABASE_URL, then to ./outbox.db', () => {
		expect(target(undefined, { DATABASE_URL: 'postgres://db/shop' })).toMatchObject({
			name: 'postgres://db/shop',
		})
		expect(target('a.db', { DATABASE_URL: 'postgres://db/shop' })).toMatchObject({ name: 'a.db' })
		expect(target(undefined, { DATABASE_URL: '' })).toMatchObject({ name: './outbox.db' })
		expect(target()).toMatchObject({ name: './outbox.db' })
	})

	describe('without a URL, the variables of PostgreSQL', () => {
		test.each([
			[{ PGHOST: 'db' }, 'postgres://db/'],
			[{ PGDATABASE: 'shop' }, 'postgres://localhost/shop'],
			[{ PGHOST: 'db', PGPORT: '6432', PGUSER: 'ada', PGDATABASE: 'shop' }, 'postgres://ada@db:6432/shop'],
			[{ PGHOST: '/run/postgresql', PGDATABASE: 'shop' }, 'postgres:///shop?host=/run/postgresql'],
		])('%j select PostgreSQL instead of creating a file', (env, name) => {
			expect(target(undefined, { ...env, PGPASSWORD: 'hunter2' }, 'mail')).toMatchObject({
				kind: 'postgres',
				url: '',
				name,
				flags: ' --schema mail',
				secrets: ['hunter2'],
			})
		})

		test('the variables of PostgreSQL are ignored with a URL, and if neither PGHOST nor PGDATABASE is set', () => {
			const env = { PGHOST: 'db' }
			expect(target('a.db', env)).toMatchObject({ name: 'a.db' })
			expect(target(undefined, { ...env, DATABASE_URL: 'b.db' })).toMatchObject({ name: 'b.db' })
			expect(target(undefined, { PGHOST: '', PGUSER: 'ada' })).toMatchObject({ name: './outbox.db' })
		})
	})

	test.each([
		['mysql://ada:hunter2@db/shop', 'mysql:...'],
		['shop', 'shop'],
		['', ''],
		['sqlite:', 'sqlite:'],
		['sqlite::memory:', 'sqlite::memory:'],
		['postgres://ada:hunter2@[db/shop', 'postgres:...'],
	])('%j is rejected, and the message contains no password', (text, received) => {
		expect(() => target(text)).toThrow(expect.objectContaining({ code: 'YAOKI_INVALID_OPTION', received }))
		expect(() => target(text)).not.toThrow(/hunter2/)
	})

	test('rejects --schema for SQLite', () => {
		expect(() => target('a.db', {}, 'mail')).toThrow('--schema requires a PostgreSQL database.')
	})

	test('--no-prepare is for PostgreSQL, and part of the flags that select the database again', () => {
		const args = { database: 'postgres://db/shop', schema: 'mail' }
		expect(resolveTarget({ ...args, noPrepare: true }, {})).toMatchObject({
			prepare: false,
			flags: ' --database postgres://db/shop --schema mail --no-prepare',
		})
		expect(resolveTarget({ ...args, noPrepare: false }, {})).toMatchObject({
			prepare: true,
			flags: ' --database postgres://db/shop --schema mail',
		})
		expect(() => resolveTarget({ database: 'a.db', schema: undefined, noPrepare: true }, {})).toThrow(
			'--no-prepare requires a PostgreSQL database.',
		)
	})
})

describe('the flags that select the same database again', () => {
	test.each<[string, string | undefined, string | undefined, string]>([
		['a file', 'shop.db', undefined, ' --database shop.db'],
		['a file with a space in its name', "my 'shop'.db", undefined, " --database 'my '\\''shop'\\''.db'"],
		['a schema', 'postgres://db/shop', 'mail', ' --database postgres://db/shop --schema mail'],
		['nothing for the default', undefined, undefined, ''],
		[
			'a URL without its password',
			'postgres://ada:hunter2@db/shop',
			undefined,
			' --database postgres://ada@db/shop',
		],
	])('contain %s', (_, database, schema, flags) => {
		expect(target(database, {}, schema)).toMatchObject({ flags })
	})

	test('the flags do not repeat DATABASE_URL', () => {
		expect(target(undefined, { DATABASE_URL: 'postgres://db/shop' }, 'mail')).toMatchObject({
			flags: ' --schema mail',
		})
	})
})

describe('a password', () => {
	test.each([
		'postgres://ada:hunter2@db:5433/shop',
		'postgres://ada@db:5433/shop?password=hunter2',
		'postgres://ada:hunter2@db:5433/shop?sslpassword=hunter2',
	])('a password of %s is not part of the name', (url) => {
		expect(target(url)).toMatchObject({ name: 'postgres://ada@db:5433/shop' })
	})

	test('a password is known encoded and decoded, so that both can be removed from messages', () => {
		expect(target('postgres://ada:p%40ss@db/shop')).toMatchObject({ secrets: ['p%40ss', 'p@ss'] })
		expect(target('postgres://ada:100%@db/shop')).toMatchObject({ secrets: ['100%', '100%'] })
	})
})
