import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createdTables, type TableSet, versionText } from '../../../src/sql/schema/migration.ts'
import { postgresMigrations } from '../../../src/sql/schema/postgres-migrations.ts'
import {
	migrateSqlite,
	sqliteMigrations,
	sqliteSchemaVersion,
} from '../../../src/sql/schema/sqlite-migrations.ts'
import { SqliteConnection } from '../../../src/sql/sqlite-connection.ts'

const tables = (count: number): TableSet => ({
	versions: 'schema_versions',
	steps: [
		{
			version: 1,
			name: 'first',
			sql: 'CREATE TABLE letters (id INTEGER);\nCREATE TABLE stamps (id INTEGER);',
		},
		{ version: 2, name: "letters' colour", sql: 'ALTER TABLE letters ADD COLUMN colour TEXT;' },
	].slice(0, count),
	versionError: (found, needed) => new Error(`found ${found}, needed ${needed}`),
})

function setup() {
	const connection = new SqliteConnection(
		() => new DatabaseSync(':memory:'),
		() => 77,
	)
	onTestFinished(() => connection.close())
	return connection
}

describe('a migration', () => {
	test('applies the missing steps, once', () => {
		const connection = setup()
		expect(sqliteSchemaVersion(connection, tables(2))).toBe(0)
		expect(migrateSqlite(connection, tables(1))).toEqual({ from: 0, to: 1, applied: ['first'] })
		expect(migrateSqlite(connection, tables(2))).toEqual({ from: 1, to: 2, applied: ["letters' colour"] })
		expect(migrateSqlite(connection, tables(2))).toEqual({ from: 2, to: 2, applied: [] })
		expect(sqliteSchemaVersion(connection, tables(2))).toBe(2)
	})

	test('rejects tables of a newer release', () => {
		const connection = setup()
		migrateSqlite(connection, tables(2))
		expect(() => migrateSqlite(connection, tables(1))).toThrow('found 2, needed 1')
	})

	test('rejects a table without a version, with the statement that adds the version', () => {
		const connection = setup()
		migrateSqlite(connection, tables(2))
		connection.exec('DELETE FROM schema_versions')
		const failing = () => migrateSqlite(connection, tables(2))
		expect(failing).toThrow('Table letters exists, but schema_versions contains no version')
		expect(failing).toThrow(/insert into schema_versions \(version, name, applied_at\) values \(2, '/)
	})
})

describe('the printed steps', () => {
	test('of SQLite can be run by hand, and the migration then finds nothing to do', () => {
		const connection = setup()
		for (const { sql } of sqliteMigrations(tables(2))) connection.exec(sql)
		expect(migrateSqlite(connection, tables(2))).toEqual({ from: 2, to: 2, applied: [] })
	})

	test('of PostgreSQL create the schema first, and record each version', () => {
		const [first, second] = postgresMigrations(tables(2), 'shop')
		expect(first?.sql).toMatch(/^create schema if not exists "shop";\ncreate table "shop"\.schema_versions/)
		expect(second?.sql).not.toContain('create schema')
		for (const [at, step] of [first, second].entries())
			expect(step?.sql).toContain(`insert into "shop".schema_versions (version, name) values (${at + 1}, `)
	})
})

test('the created tables are read from the first step', () => {
	expect(createdTables(tables(2))).toEqual(['letters', 'stamps'])
	expect(createdTables({ ...tables(1), steps: [] })).toEqual([])
})

test('the text about another version says what to do', () => {
	const text = (found: number) => versionText('The shop', 'The shop tables', found, 2, 'Run migrate().')
	expect(text(0)).toBe('The shop has no tables. Run migrate().')
	expect(text(1)).toBe('The shop tables have version 1, this release needs version 2. Run migrate().')
	expect(text(3)).toContain('Install the newer release')
})
