/** Calls about webhooks in transactions of clients that are not those of `pg`. The conformance suite uses real databases. */
import type pg from 'pg'
import { expect, test } from 'vitest'
import { OutboxStoreError } from '../../../../src/outbox/store/errors.ts'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { required } from '../../../../src/outbox/testing/harness/assertions.ts'
import type { SqlClient } from '../../../../src/sql/clients.ts'

const unused = async (): Promise<never> => {
	throw new Error('the pool is not used')
}
const pool = { query: unused, connect: unused, on() {}, removeListener() {} } as unknown as pg.Pool
const store = required(postgresOutboxStore({ client: pool }).endpoints, 'the endpoints')

const ID = '01890a5d-ac96-7000-8000-000000000001'
const OTHER_ID = '01890a5d-ac96-7000-8000-000000000002'
const EVENT = { id: ID, tenant: '', topic: 'a', key: null, payload: '{}', headers: null, keepForMs: 1.5 }

/** Returns a client with a result, and the values that it received. */
function clientWith(result: unknown): { tx: SqlClient; sent: unknown[][] } {
	const sent: unknown[][] = []
	const tx = {
		async query(_: string, values: unknown[] = []) {
			sent.push(values)
			return result as readonly unknown[]
		},
	}
	return { tx, sent }
}

test('reads ids from clients that return rows, and from those that return a list of rows', async () => {
	const row = { ids: `${ID},${OTHER_ID}` }
	for (const result of [{ rows: [row] }, [row]]) {
		const { tx, sent } = clientWith(result)
		expect(await store.matching('acme', ['a"b', 'c\\d', '*'], tx)).toEqual([ID, OTHER_ID])
		expect(sent).toEqual([['acme', '{"a\\"b","c\\\\d","*"}']])
	}
})

test('sends an event to the client with whole milliseconds', async () => {
	const { tx, sent } = clientWith([])
	await store.insertEvent(EVENT, tx)
	await store.insertEvent({ ...EVENT, keepForMs: Infinity }, tx)
	expect(sent.map((values) => values.at(-1))).toEqual([2, 8_640_000_000_000_000])
})

test('rejects a result that is not rows: it would be mistaken for no endpoints', async () => {
	for (const result of [undefined, [[ID]], 'ok']) {
		const { tx } = clientWith(result)
		await expect(store.matching('acme', ['a'], tx)).rejects.toThrow(OutboxStoreError)
		await expect(store.insertEvent(EVENT, tx)).rejects.toThrow(OutboxStoreError)
	}
})
