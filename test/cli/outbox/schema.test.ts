import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { NOBODY } from './shop.ts'
import { folder, run } from './terminal.ts'

describe('migrate', () => {
	test('makes the file and its tables, and says so; the second time there is nothing to do', async () => {
		const other = join(folder(), 'new.db')
		const first = await run(['outbox', 'migrate', '--database', `sqlite:${other}`])
		expect(first).toMatchObject({ code: 0, stderr: '' })
		expect(first.stdout).toContain(`${other}: from version 0 to 1`)
		const second = await run(['outbox', 'migrate', '--json'], { DATABASE_URL: other })
		expect(JSON.parse(second.stdout)).toMatchObject({ database: other, applied: [] })
	})

	test('of a folder that is not there is exit code 5', async () => {
		const { code, stderr } = await run(['outbox', 'migrate', '--database', join(folder(), 'no', 'such.db')])
		expect(code).toBe(5)
		expect(stderr).toContain('could not be reached')
	})
})

describe('sql', () => {
	test('needs no database, and is what migrate would have done', async () => {
		const other = join(folder(), 'by-hand.db')
		const { stdout } = await run(['outbox', 'sql', '--dialect', 'sqlite'])
		expect(stdout).toMatch(/^-- 1: /)
		const database = new DatabaseSync(other)
		database.exec(stdout)
		database.close()
		expect(await run(['outbox', 'check', '--database', other])).toMatchObject({ code: 0 })
		expect((await run(['outbox', 'migrate', '--database', other])).stdout).toContain('nothing to do')
	})

	test('is for PostgreSQL unless it is told otherwise, in the schema that is asked for', async () => {
		expect((await run(['outbox', 'sql'])).stdout).toMatch(/"?yaoki"?\.outbox /)
		expect((await run(['outbox', 'sql', '--schema', 'mail'])).stdout).toMatch(/"?mail"?\.outbox /)
	})

	test.each([
		[['--from', '99'], 3, 'Nothing was printed'],
		[['--from', '99'], 3, 'there is no migration 99; the latest is'],
		[['--from', '0'], 2, '--from'],
		[['--dialect', 'mysql'], 2, 'Valid values: postgres, sqlite.'],
		[['--schema', 'a; drop table b'], 2, 'schema'],
		[['--dialect', 'sqlite', '--schema', 'a'], 2, '--schema goes with --dialect postgres'],
	])('%j is refused', async (words, code, told) => {
		const ran = await run(['outbox', 'sql', ...words])
		expect(ran).toMatchObject({ code, stdout: '' })
		expect(ran.stderr).toContain(told)
	})
})

describe('a database that is not there', () => {
	test.each([
		'status',
		'list',
		'check',
		`show ${NOBODY}`,
		`why ${NOBODY}`,
		'retry --all',
		'replay --all',
		'discard --all',
	])('is exit code 5 for %s, and is not made', async (words) => {
		const missing = join(folder(), 'mistyped.db')
		const { code, stdout, stderr } = await run(['outbox', ...words.split(' '), '--database', missing])
		expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
		expect(stderr).toContain(`there is no database '${missing}'`)
		expect(existsSync(missing)).toBe(false)
	})

	test('nor is one that is a file of another kind', async () => {
		const other = join(folder(), 'notes.db')
		writeFileSync(other, 'Dear diary, today I was no database. '.repeat(200))
		expect(await run(['outbox', 'status', '--database', other])).toMatchObject({ code: 5, stdout: '' })
	})

	test('one without the tables is told what to do', async () => {
		const empty = join(folder(), 'empty.db')
		new DatabaseSync(empty).close()
		const { code, stderr } = await run(['outbox', 'status', '--database', empty])
		expect(code).toBe(1)
		expect(stderr).toContain(`yaoki outbox migrate --database ${empty} makes them`)
	})
})
