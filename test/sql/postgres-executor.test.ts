import { describe, expect, test, vi } from 'vitest'
import { postgresOutboxStore } from '../../src/outbox/store/postgres/postgres-store.ts'
import type { PgClient, PgPool } from '../../src/sql/clients.ts'

type Query = Parameters<PgPool['query']>[0]

/** A pool behind a pooler: prepared statements fail with `code`. Records the others. */
function pooler(code: string) {
	const texts: string[] = []
	const names: string[] = []
	const query = async (given: Query) => {
		if (typeof given !== 'string') {
			names.push(String(given.name))
			throw Object.assign(new Error('prepared statement'), { code })
		}
		texts.push(given)
		return { rows: given.includes('default_transaction_isolation') ? [{ level: 'read committed' }] : [] }
	}
	const on = () => {}
	const client: PgClient = { query, release: () => {}, on, removeListener: on }
	const pool: PgPool = { query, connect: async () => client, on, removeListener: on }
	return { pool, client, texts, names }
}

function warningsOf<T>(work: (warnings: unknown[]) => Promise<T>): Promise<T> {
	const warnings: unknown[] = []
	const spy = vi.spyOn(console, 'warn').mockImplementation((text) => void warnings.push(text))
	return work(warnings).finally(() => spy.mockRestore())
}

describe.each([
	['26000', 'a statement that does not exist'],
	['42P05', 'a statement that exists already'],
])('a pooler that reports %s, %s', (code) => {
	test('is detected: the statement is repeated, no further one is prepared, and one warning is printed', async () => {
		await warningsOf(async (warnings) => {
			const { pool, texts, names } = pooler(code)
			const store = postgresOutboxStore({ client: pool })
			await store.notify()
			await store.notify()
			await store.relays()
			expect(names).toHaveLength(1)
			expect(texts.filter((text) => text.includes('pg_notify'))).toHaveLength(2)
			expect(warnings).toEqual([expect.stringMatching(/pooler.*no longer prepared.*\{ prepare: false \}/)])
		})
	})

	test('aborts the transaction of the user once, with the option to set, and works in the next one', async () => {
		await warningsOf(async (warnings) => {
			const { pool, client, texts } = pooler(code)
			const store = postgresOutboxStore({ client: pool })
			const tx = Object.assign(client, { getTransactionStatus: () => 'T' })
			await expect(store.insert([row], tx)).rejects.toThrow('{ prepare: false }')
			expect(texts).toEqual([])
			await store.insert([row], tx)
			expect(texts).toEqual([expect.stringContaining('insert into')])
			expect(warnings).toHaveLength(1)
		})
	})

	test('is not noticed with prepare: false', async () => {
		await warningsOf(async (warnings) => {
			const { pool, names } = pooler(code)
			await postgresOutboxStore({ client: pool, prepare: false }).notify()
			expect(names).toEqual([])
			expect(warnings).toEqual([])
		})
	})
})

const row = {
	id: '01890a5d-ac96-7000-8000-000000000001',
	topic: 'a',
	destination: 'a',
	key: null,
	payload: '1',
	headers: null,
	dedupeKey: null,
	notBefore: null,
	expiresAt: null,
	maxRetries: null,
}

test('another error is not repeated', async () => {
	const { pool, texts, names } = pooler('57014')
	await expect(postgresOutboxStore({ client: pool }).notify()).rejects.toMatchObject({ code: '57014' })
	expect(names).toHaveLength(1)
	expect(texts.filter((text) => text.includes('pg_notify'))).toEqual([])
})
