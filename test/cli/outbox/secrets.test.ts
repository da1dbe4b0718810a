/** Passwords must not reach the screen or the process list. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { toCliError } from '../../../src/cli/database/database-errors.ts'
import { resolveTarget } from '../../../src/cli/database/database-target.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { run } from './run-yaoki.ts'
import { testOutbox } from './test-outbox.ts'

const env = testOutbox()

const secretFile = (text: string, mode = 0o600): string => {
	const file = join(temporaryFolder(), 'secret')
	writeFileSync(file, text)
	chmodSync(file, mode)
	return file
}

describe('no output contains the password of', () => {
	test.each([
		'host=127.0.0.1 port=1 password=hunter2 dbname=shop',
		"host=127.0.0.1 password = 'hunter2 hunter2' dbname=shop.db",
		'password=hunter2',
		'postgres://ada:hunter2@127.0.0.1:1/shop',
		'postgres://ada:x/hunter2@127.0.0.1:1/shop',
		'postgres://ada:12/hunter2@127.0.0.1:1/shop',
		'postgres://ada:12#hunter2@127.0.0.1:1/shop',
		'postgres://ada:12?hunter2@127.0.0.1:1/shop',
		'postgres://ada:hun@ter2/hunter2@127.0.0.1:1/shop',
		'postgres://127.0.0.1:1/shop?user=ada&password=hunter2&sslpassword=hunter2',
		'postgres://ada:hunter2@[127.0.0.1/shop',
		'mysql://ada:hunter2@127.0.0.1/shop',
		'sqlite:shop.db?key=hunter2',
		'sqlite://ada:hunter2@127.0.0.1/shop.db',
		'file:shop.db?key=hunter2',
		'file://elsewhere/shop.db?key=hunter2',
		'ada:hunter2@127.0.0.1/shop',
	])('%s', async (database) => {
		const runs = await Promise.all([
			run(['outbox', 'status', '-d', database, '--debug']),
			run(['outbox', 'status', `--database=${database}`, '--json']),
			run(['outbox', 'status', '--debug'], { DATABASE_URL: database }),
			run(['outbox', 'status', '--database-file', secretFile(database), '--debug']),
			run(['outbox', 'migrate', '-d', database, '--no-prepare', '--debug']),
			// In the wrong place.
			run(['outbox', 'status', database, '--debug']),
			run(['outbox', database]),
			run([database]),
			run(['relay', '--to', database, '-d', env.file]),
		])
		for (const { code, stdout, stderr } of runs) {
			expect(code).not.toBe(0)
			expect(stdout + stderr).not.toMatch(/hunter2|hun@ter2/)
		}
	})
})

test('a keyword string is rejected with what to write instead', async () => {
	const { code, stderr } = await run(['outbox', 'status', '-d', 'host=db password=x'])
	expect(code).toBe(2)
	expect(stderr).toContain('keywords such as host=... are not supported')
	expect(stderr).toContain('postgres://USER@HOST/DATABASE')
})

test('an error with the password in a property loses its cause', () => {
	const target = resolveTarget({ database: 'postgres://ada:hunter2@db/shop' }, {})
	const error = Object.assign(new TypeError('Invalid URL'), { input: 'postgres://ada:hunter2@db/shop' })
	const shown = toCliError(error, target)
	expect(shown).toMatchObject({ message: 'Invalid URL' })
	expect(shown).not.toHaveProperty('input')
	expect((shown as Error).cause).toBeUndefined()
})

describe('the database from a file', () => {
	test('--database-file and DATABASE_URL_FILE name a file with the URL', async () => {
		const file = secretFile(`# the shop\n\n  ${env.file}\n`)
		const expected = { code: 0, stderr: '' }
		expect(await run(['outbox', 'status', '--database-file', file])).toMatchObject(expected)
		expect(await run(['outbox', 'status'], { DATABASE_URL_FILE: file })).toMatchObject(expected)
	})

	test('arguments win over the environment, and DATABASE_URL over DATABASE_URL_FILE', () => {
		const file = secretFile('postgres://file/shop')
		const name = (args: { database?: string; databaseFile?: string }, variables = {}) =>
			resolveTarget(args, variables).name
		const variables = { DATABASE_URL: 'postgres://variable/shop', DATABASE_URL_FILE: file }
		expect(name({ database: 'a.db' }, variables)).toBe('a.db')
		expect(name({ databaseFile: file }, variables)).toBe('postgres://file/shop')
		expect(name({}, variables)).toBe('postgres://variable/shop')
		expect(name({}, { DATABASE_URL_FILE: file })).toBe('postgres://file/shop')
	})

	test('a file that others can read gets a warning only', async () => {
		const file = secretFile(env.file, 0o644)
		const { code, stderr } = await run(['outbox', 'status', '--database-file', file])
		expect(code).toBe(0)
		expect(stderr).toContain(`warning: Other users can read ${file} (mode 644).`)
	})

	test('suggested commands repeat the flag and not the content', async () => {
		const file = secretFile('shop-without-tables.db')
		const { code, stderr } = await run(['outbox', 'status', '--database-file', file])
		expect(code).toBe(5)
		expect(stderr).toContain(`migrate --database-file ${file}`)
	})

	test.each([
		['is missing', () => join(temporaryFolder(), 'none'), 3],
		['is empty', () => secretFile('\n'), 2],
		['has several lines', () => secretFile('postgres://ada:hunter2@db/a\npostgres://ada:hunter2@db/b'), 2],
	])('a file that %s is an error without its content', async (_, file, code) => {
		const ran = await run(['outbox', 'status', '--database-file', file()])
		expect(ran.code).toBe(code)
		expect(ran.stderr).not.toContain('hunter2')
	})

	test('--database and --database-file exclude each other', async () => {
		const args = ['outbox', 'status', '-d', env.file, '--database-file', secretFile(env.file)]
		expect(await run(args)).toMatchObject({ code: 2 })
	})
})
