import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { run } from '../outbox/run-yaoki.ts'
import { UNKNOWN_ID } from '../outbox/test-outbox.ts'

describe('migrate', () => {
	test('creates the file and its tables; a second run changes nothing', async () => {
		const other = join(temporaryFolder(), 'new.db')
		const first = await run(['outbox', 'migrate', '--database', `sqlite:${other}`])
		expect(first).toMatchObject({ code: 0, stderr: '' })
		expect(first.stdout).toContain(`${other}: migrated from version 0 to 1`)
		const second = await run(['outbox', 'migrate', '--json'], { DATABASE_URL: other })
		expect(JSON.parse(second.stdout)).toMatchObject({ database: other, applied: [] })
	})

	test('exits with 5 for a missing temporaryFolder', async () => {
		const { code, stderr } = await run([
			'outbox',
			'migrate',
			'--database',
			join(temporaryFolder(), 'no', 'such.db'),
		])
		expect(code).toBe(5)
		expect(stderr).toContain('Cannot reach')
	})
})

describe('sql', () => {
	test('needs no database and prints what migrate runs', async () => {
		const other = join(temporaryFolder(), 'by-hand.db')
		const { stdout } = await run(['outbox', 'sql', '--dialect', 'sqlite'])
		expect(stdout).toMatch(/^-- 1: /)
		const database = new DatabaseSync(other)
		database.exec(stdout)
		database.close()
		expect(await run(['outbox', 'check', '--database', other])).toMatchObject({ code: 0 })
		expect((await run(['outbox', 'migrate', '--database', other])).stdout).toContain('up to date')
	})

	test('prints PostgreSQL by default, in the given schema', async () => {
		expect((await run(['outbox', 'sql'])).stdout).toMatch(/"?yaoki"?\.outbox /)
		expect((await run(['outbox', 'sql', '--schema', 'mail'])).stdout).toMatch(/"?mail"?\.outbox /)
	})

	test.each([
		[['--from', '99'], 3, 'Nothing was printed'],
		[['--from', '99'], 3, 'Migration 99 does not exist. The latest is'],
		[['--from', '0'], 2, '--from'],
		[['--dialect', 'mysql'], 2, 'Valid values: postgres, sqlite.'],
		[['--schema', 'a; drop table b'], 2, 'schema'],
		[['--dialect', 'sqlite', '--schema', 'a'], 2, '--schema requires --dialect postgres.'],
	])('rejects %j', async (args, code, message) => {
		const ran = await run(['outbox', 'sql', ...args])
		expect(ran).toMatchObject({ code, stdout: '' })
		expect(ran.stderr).toContain(message)
	})
})

describe('a missing database', () => {
	test.each([
		'status',
		'list',
		'check',
		`show ${UNKNOWN_ID}`,
		`why ${UNKNOWN_ID}`,
		'retry --all',
		'replay --all',
		'discard --all',
	])('exits with 5 for %s and is not created', async (command) => {
		const missing = join(temporaryFolder(), 'mistyped.db')
		const { code, stdout, stderr } = await run(['outbox', ...command.split(' '), '--database', missing])
		expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
		expect(stderr).toContain(`Database file "${missing}" does not exist.`)
		expect(existsSync(missing)).toBe(false)
	})

	test('exits with 5 for a file of another type', async () => {
		const other = join(temporaryFolder(), 'notes.db')
		writeFileSync(other, 'This is not a database. '.repeat(200))
		expect(await run(['outbox', 'status', '--database', other])).toMatchObject({ code: 5, stdout: '' })
	})

	test('a database without tables is reported with the command that creates them', async () => {
		const empty = join(temporaryFolder(), 'empty.db')
		new DatabaseSync(empty).close()
		const { code, stderr } = await run(['outbox', 'status', '--database', empty])
		expect(code).toBe(1)
		expect(stderr).toContain(`'yaoki outbox migrate --database ${empty}'`)
	})
})
