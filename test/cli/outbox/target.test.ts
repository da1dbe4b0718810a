import { describe, expect, test } from 'vitest'
import { targetOf } from '../../../src/cli/outbox/target.ts'

const target = (database?: string, env: Record<string, string> = {}, schema?: string) =>
	targetOf({ database, schema }, env)

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
	])('%s is a file of SQLite', (text, file) => {
		expect(target(text)).toMatchObject({ kind: 'sqlite', file, name: file })
	})

	test.each(['postgres://localhost/shop', 'postgresql://ada@db:5433/shop?sslmode=require'])(
		'%s is a PostgreSQL',
		(url) => {
			expect(target(url, {}, 'mail')).toMatchObject({ kind: 'postgres', url, schema: 'mail' })
		},
	)

	test('is the one of DATABASE_URL when none is named, and else a file beside you', () => {
		expect(target(undefined, { DATABASE_URL: 'postgres://db/shop' })).toMatchObject({
			name: 'postgres://db/shop',
		})
		expect(target('a.db', { DATABASE_URL: 'postgres://db/shop' })).toMatchObject({ name: 'a.db' })
		expect(target(undefined, { DATABASE_URL: '' })).toMatchObject({ name: './outbox.db' })
		expect(target()).toMatchObject({ name: './outbox.db' })
	})

	test.each([
		['mysql://ada:hunter2@db/shop', "--database: got 'mysql:...'; takes postgres://"],
		['shop', "--database: got 'shop'; takes postgres://"],
		['', "--database: got ''; takes postgres://"],
		['sqlite:', "--database: got 'sqlite:'; takes"],
		['sqlite::memory:', "--database: got 'sqlite::memory:'; takes"],
		['postgres://ada:hunter2@[db/shop', "--database: got 'postgres:...'; takes"],
	])('%j is none that is known', (text, message) => {
		expect(() => target(text)).toThrow(message)
	})

	test('of SQLite has no schema', () => {
		expect(() => target('a.db', {}, 'mail')).toThrow('--schema goes with a database of postgres://')
	})
})

describe('what has to be typed to mean the same database again', () => {
	test.each<[string, string | undefined, string | undefined, string]>([
		['a file', 'shop.db', undefined, ' --database shop.db'],
		['a file with a space in its name', "my 'shop'.db", undefined, " --database 'my '\\''shop'\\''.db'"],
		['a schema', 'postgres://db/shop', 'mail', ' --database postgres://db/shop --schema mail'],
		['nothing for what is the default', undefined, undefined, ''],
		[
			'an address without its password',
			'postgres://ada:hunter2@db/shop',
			undefined,
			' --database postgres://ada@db/shop',
		],
	])('is %s', (_, database, schema, flags) => {
		expect(target(database, {}, schema)).toMatchObject({ flags })
	})

	test('does not repeat DATABASE_URL, which is still there', () => {
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
	])('of %s is not in the name of the database', (url) => {
		expect(target(url)).toMatchObject({ name: 'postgres://ada@db:5433/shop' })
	})

	test('is known as it is typed and as it is meant, so that neither is told', () => {
		expect(target('postgres://ada:p%40ss@db/shop')).toMatchObject({ secrets: ['p%40ss', 'p@ss'] })
		expect(target('postgres://ada:100%@db/shop')).toMatchObject({ secrets: ['100%', '100%'] })
	})
})
