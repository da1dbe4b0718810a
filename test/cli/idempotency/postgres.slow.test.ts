/** The commands on a real PostgreSQL. */
import { existsSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { identityHash } from '../../../src/idempotency/key/identity.ts'
import { postgresIdempotencyStore } from '../../../src/idempotency/store/postgres/postgres-store.ts'
import { postgresPool } from '../../support/postgres-pool.ts'
import { run } from '../outbox/run-yaoki.ts'

const postgres = postgresPool()

test('migrate, show, resolve and purge, in a schema and without prepared statements', async () => {
	const yaoki = (...args: string[]) =>
		run(['idempotency', ...args, '--schema', 'shop', '--no-prepare'], { DATABASE_URL: postgres.url })
	const selected = ['k', '--name', 'payments', '--principal', 'p', '--route', '/charges']
	expect((await yaoki('show', ...selected)).stderr).toContain(
		"'yaoki idempotency migrate --schema shop --no-prepare'",
	)
	expect((await yaoki('migrate')).stdout).toContain('migrated from version 0 to 1')
	expect((await yaoki('migrate')).stdout).toContain('up to date at version 1')

	let offsetMs = -3_600_000
	const store = postgresIdempotencyStore({
		client: postgres.pool,
		schema: 'shop',
		clockOffsetMs: () => offsetMs,
	})
	const id = await identityHash('payments', {
		principal: 'p',
		method: 'POST',
		route: '/charges',
		key: 'k',
	})
	const request = { fingerprint: 'f', token: 't', leaseMs: 1_000, abandoned: 'reject' } as const
	await store.claim({ id, ...request, retentionMs: 86_400_000 })
	await store.claim({ id: 'expired', ...request, retentionMs: 1_000 })
	offsetMs = 0
	expect((await yaoki('show', ...selected)).stdout).toMatch(/state +abandoned/)
	expect((await yaoki('resolve', ...selected, '--status', '201')).code).toBe(0)
	expect((await yaoki('show', ...selected)).stdout).toMatch(/status +201/)
	expect((await yaoki('purge')).stdout).toBe('Deleted 1 expired key.\n')
	await store.close()
})

describe('without a URL', () => {
	test.each(['idempotency', 'outbox'])(
		'%s migrate uses the PG* variables and creates no file',
		async (group) => {
			const { hostname, port, username, password, pathname } = new URL(postgres.url)
			const env = {
				PGHOST: hostname,
				PGPORT: port,
				PGUSER: username,
				PGPASSWORD: password,
				PGDATABASE: pathname.slice(1),
			}
			for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
			const { code, stdout, stderr } = await run([group, 'migrate', '--schema', 'by_variables'], env)
			expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
			expect(stdout).toBe(
				`postgres://${username}@${hostname}:${port}/${pathname.slice(1)}: migrated from version 0 to 1\n  ${group === 'outbox' ? 'tables' : 'keys'}\n`,
			)
			expect(existsSync(`./${group}.db`)).toBe(false)
			vi.unstubAllEnvs()
		},
	)
})

test('an unreachable server exits with 5 and does not print the password', async () => {
	const env = { DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/shop' }
	const { code, stderr } = await run(['idempotency', 'purge', '--debug'], env)
	expect(code).toBe(5)
	expect(stderr).not.toContain('hunter2')
})
