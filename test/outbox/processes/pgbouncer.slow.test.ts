import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Outbox, postgresOutboxStore, Relay } from '../../../src/outbox/index.ts'
import { run } from '../../cli/outbox/run-yaoki.ts'
import { type PostgresDatabase, postgresDatabase } from '../../support/postgres-database.ts'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from './pgbouncer.ts'

describe.skipIf(!hasPgbouncer)('behind pgbouncer in transaction mode', () => {
	let database: PostgresDatabase
	let pooler: Pgbouncer

	beforeAll(async () => {
		database = await postgresDatabase()
		pooler = await startPgbouncer(database.url, 3)
	})

	afterAll(async () => {
		await pooler?.[Symbol.asyncDispose]()
		await database?.[Symbol.asyncDispose]()
	})

	/** Enqueues in 40 transactions, 8 at a time, and resolves when a relay has sent everything. Returns the warnings. */
	async function sendAll(schema: string, prepare: boolean) {
		const warnings: unknown[] = []
		const spy = vi.spyOn(console, 'warn').mockImplementation((text) => void warnings.push(text))
		const pool = new Pool({ connectionString: pooler.url, max: 8 })
		const outbox = new Outbox({
			store: postgresOutboxStore({ client: pool, schema, prepare }),
			outsideTransaction: 'reject',
		})
		await outbox.migrate()
		const sent = new Set<unknown>()
		const all = Promise.withResolvers<void>()
		const relay = new Relay(outbox, {
			destinations: {
				mail: ({ payload }) => {
					sent.add(payload)
					if (sent.size === 40) all.resolve()
				},
			},
		})
		await relay.start()
		let failed = 0
		const enqueue = async (payload: number): Promise<void> => {
			const client = await pool.connect()
			try {
				await client.query('begin')
				await outbox.enqueue({ topic: 'mail', payload }, { tx: client })
				await client.query('commit')
			} catch {
				failed++
				await client.query('rollback')
				return enqueue(payload)
			} finally {
				client.release()
			}
		}
		const left = Array.from({ length: 40 }, (_, payload) => payload)
		const worker = async (): Promise<void> => {
			for (let next = left.pop(); next !== undefined; next = left.pop()) await enqueue(next)
		}
		await Promise.all(Array.from({ length: 8 }, worker))
		await all.promise
		await relay.stop()
		await outbox.close()
		await pool.end()
		spy.mockRestore()
		return { warnings, failed }
	}

	test('with prepare: false nothing fails and no warning is printed', async () => {
		expect(await sendAll('plain', false)).toEqual({ warnings: [], failed: 0 })
	})

	test('without prepare: false everything is sent, with one warning about lost statements', async () => {
		const { warnings } = await sendAll('prepared', true)
		expect(warnings).toEqual([expect.stringContaining('no longer prepared')])
	})

	test('pause and resume work without --no-prepare', async () => {
		// Regression: they failed if another client had prepared the statement on the server's connection.
		const env = { DATABASE_URL: pooler.url }
		await run(['outbox', 'migrate', '--schema', 'paused'], env)
		for (let n = 0; n < 4; n++)
			for (const action of ['pause', 'resume']) {
				const { code, stderr } = await run(['outbox', action, 'billing', '--schema', 'paused'], env)
				expect({ action, code, stderr }).toEqual({ action, code: 0, stderr })
				expect(stderr).not.toContain('{ prepare: false }.')
			}
	})

	test('the commands work with --no-prepare and print no warning', async () => {
		for (const args of ['outbox migrate', 'outbox status', 'outbox list', 'outbox check', 'outbox status']) {
			const given = [...args.split(' '), '--no-prepare', '--schema', 'commands']
			const { code, stderr } = await run(given, { DATABASE_URL: pooler.url })
			expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
		}
	})
})
