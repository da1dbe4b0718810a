import { expect, test, vi } from 'vitest'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { newRows } from '../rows.ts'
import { retry, wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

test('settles a hundred messages beside one whose error PostgreSQL cannot store', async () => {
	await postgres.store.insert(newRows(100))
	const { rows } = await postgres.store.claim(wanted())
	const outcomes = rows.map((row, at) => (at === 37 ? retry(row, 'a\0b\ud800c') : retry(row, 'down')))
	expect(await postgres.store.settle('relay', outcomes, false)).toEqual([])
	const found = await postgres.store.list({}, 1_000)
	expect(found.filter(({ error }) => error?.message === 'down')).toHaveLength(99)
	expect((await postgres.store.find(rows[37]?.id ?? ''))?.error?.message).toBe('a\uFFFDb\uFFFDc')
})

test('settles a message whose error violates a constraint with a substitute error', async () => {
	await postgres.pool.query(`alter table ${postgres.schema}.outbox add check (error_message <> 'forbidden')`)
	await postgres.store.insert(newRows(10))
	const { rows } = await postgres.store.claim(wanted())
	const outcomes = rows.map((row, at) =>
		at === 3 ? retry(row, 'forbidden') : ({ type: 'sent', id: row.id, attempt: row.attempt } as const),
	)
	expect(await postgres.store.settle('relay', outcomes, false)).toEqual([])
	const left = await postgres.store.list({}, 100)
	expect(left.map(({ error, status }) => [error?.message, status])).toEqual([
		['(the error text could not be stored)', 'pending'],
	])
})

test('settles sent messages in one statement and a mixed batch in one transaction', async () => {
	const pool = postgres.anotherPool({ max: 1 })
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	await store.insert(newRows(20))
	const { rows } = await store.claim(wanted())
	const client = await pool.connect()
	const query = vi.spyOn(client, 'query')
	client.release()
	const executions = () =>
		query.mock.calls.flatMap(([text]) => /^begin|\bexecute|^commit/.exec(String(text)) ?? [])
	const sent = rows.slice(0, 10).map(({ id, attempt }) => ({ type: 'sent', id, attempt }) as const)
	await store.settle('relay', sent, false)
	expect(executions()).toEqual(['execute'])
	query.mockClear()
	const [first, ...others] = rows.slice(10)
	if (!first) throw new Error('there are ten more')
	await store.settle(
		'relay',
		[retry(first, 'down'), ...others.map(({ id, attempt }) => ({ type: 'sent', id, attempt }) as const)],
		false,
	)
	expect(executions()).toEqual(['begin', 'execute', 'execute', 'commit'])
	expect(await store.list({}, 100)).toHaveLength(1)
})

test('a failing mixed batch changes nothing', async () => {
	await postgres.store.insert(newRows(2))
	const { rows } = await postgres.store.claim(wanted())
	const [first, second] = rows
	if (!first || !second) throw new Error('two rows')
	await postgres.pool.query(`alter table ${postgres.schema}.outbox_dead rename to elsewhere`)
	await expect(
		postgres.store.settle(
			'relay',
			[
				{ type: 'sent', id: first.id, attempt: 1 },
				{
					type: 'dead',
					id: second.id,
					attempt: 1,
					cause: 'permanent',
					error: null,
					afterDeadLetter: 'block',
				},
			],
			false,
		),
	).rejects.toThrow(/outbox_dead/)
	await postgres.pool.query(`alter table ${postgres.schema}.elsewhere rename to outbox_dead`)
	expect(await postgres.store.list({ status: 'processing' }, 100)).toHaveLength(2)
})
