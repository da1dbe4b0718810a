/** A store that knows where the messages of a key start still finds those that appear before, and lets none of the key overtake them. */
import type pg from 'pg'
import { expect, test } from 'vitest'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import type { ClaimedRow, ClaimTarget, NewRow } from '../../../../src/outbox/store/rows.ts'
import type { OutboxStore } from '../../../../src/outbox/store/store.ts'
import { newRow, newRows } from '../rows.ts'
import { begin } from './concurrent.ts'
import { retry, wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

const k = { key: 'k' }
const TARGETS: readonly (readonly [string, Partial<ClaimTarget>])[] = [
	['by scan', { isOrdered: true }],
	['by key', { isOrdered: true, keys: ['k'] }],
	['in a run', { isOrdered: true, keys: ['k'], perKey: 10 }],
]

const OTHER = { owner: 'other' }

async function enqueue(lockKeys = true, tx?: pg.PoolClient): Promise<NewRow> {
	const row = newRow(k)
	await postgres.store.insert([row], tx, { lockKeys })
	return row
}

async function claimed(
	target: Partial<ClaimTarget>,
	store: OutboxStore = postgres.store,
): Promise<ClaimedRow[]> {
	return [...(await store.claim(wanted(target))).rows]
}

const idsOf = (rows: readonly ClaimedRow[]): string[] => rows.map(({ id }) => id)

const send = (...rows: readonly ClaimedRow[]): Promise<unknown> =>
	postgres.store.settle(
		'relay',
		rows.map(({ id, attempt }) => ({ type: 'sent', id, attempt })),
		false,
	)

/** Claims and sends so many messages that the store uses what it knows about the key. */
async function learn(): Promise<void> {
	await postgres.store.insert(newRows(50, k))
	const run = await claimed({ isOrdered: true, keys: ['k'], perKey: 40, limit: 40 })
	expect(run).toHaveLength(40)
	await send(...run)
	await send(...(await claimed({ isOrdered: true, keys: ['k'], perKey: 10, limit: 10 })))
	expect(await claimed({ isOrdered: true })).toEqual([])
}

test.each(TARGETS)(
	'a message that was committed late without the lock of its key comes first: %s',
	async (_, target) => {
		const late = await begin(postgres.pool)
		const early = await enqueue(false, late)
		await learn()
		const next = await enqueue()
		await late.query('commit')
		const [first, ...rest] = await claimed(target)
		expect(first?.id).toBe(early.id)
		expect(idsOf(rest)).toEqual(target.perKey ? [next.id] : [])
	},
)

test.each(TARGETS)(
	'a message that was committed late and waits for a retry is not overtaken: %s',
	async (_, target) => {
		const late = await begin(postgres.pool)
		await enqueue(false, late)
		await learn()
		await late.query('commit')
		const [early] = await claimed({ isOrdered: true })
		if (!early) throw new Error('a message')
		await postgres.store.settle('relay', [retry(early, 'failed')], false)
		await enqueue()
		expect(await claimed(target)).toEqual([])
	},
)

test.each(TARGETS)(
	'a message that was committed late and that another relay holds is not overtaken: %s',
	async (_, target) => {
		const late = await begin(postgres.pool)
		const early = await enqueue(false, late)
		await learn()
		await late.query('commit')
		const another = postgresOutboxStore({ client: postgres.pool, schema: postgres.schema })
		expect(idsOf((await another.claim(wanted({ isOrdered: true }, OTHER))).rows as ClaimedRow[])).toEqual([
			early.id,
		])
		await enqueue()
		expect(await claimed(target)).toEqual([])
	},
)

test.each(TARGETS)(
	'a message enqueued under the lock of its key is found although a later one without the lock was sent before its commit: %s',
	async (_, target) => {
		const slow = await begin(postgres.pool)
		const locked = await enqueue(true, slow)
		for (let round = 0; round < 40; round++) {
			await enqueue(false)
			await send(...(await claimed({ isOrdered: true })))
		}
		await slow.query('commit')
		expect(idsOf(await claimed(target))).toEqual([locked.id])
	},
)

test.each(TARGETS)('a replayed message comes before the next one of its key: %s', async (_, target) => {
	const first = await enqueue()
	const [head] = await claimed({ isOrdered: true })
	const dead = { type: 'dead', id: head?.id ?? '', attempt: 1, cause: 'permanent', error: null } as const
	await postgres.store.settle('relay', [{ ...dead, afterDeadLetter: 'skip' }], false)
	await learn()
	await enqueue()
	await postgres.store.replay({}, 1, { by: 'someone', reason: null })
	expect(idsOf(await claimed(target))[0]).toBe(first.id)
})

test.each(TARGETS)(
	'messages that other relays have claimed and sent meanwhile do not matter: %s',
	async (_, target) => {
		await learn()
		const another = postgresOutboxStore({ client: postgres.pool, schema: postgres.schema })
		for (let round = 0; round < 3; round++) {
			await enqueue()
			const rows = await claimed({ isOrdered: true }, another)
			expect(rows).toHaveLength(1)
			await send(...rows)
		}
		const [held, next] = [await enqueue(), await enqueue()]
		expect(idsOf((await another.claim(wanted({ isOrdered: true }, OTHER))).rows as ClaimedRow[])).toEqual([
			held.id,
		])
		expect(await claimed(target)).toEqual([])
		await postgres.store.settle('other', [{ type: 'sent', id: held.id, attempt: 1 }], false)
		expect(idsOf(await claimed(target))).toEqual([next.id])
	},
)

test('a sequence that was set back, for example by a restored backup, hides no message', async () => {
	await learn()
	await postgres.pool.query(`alter table ${postgres.schema}.outbox alter column seq restart with 1`)
	const rows = [await enqueue(), await enqueue()]
	for (const row of rows) {
		const found = await claimed({ isOrdered: true })
		expect(idsOf(found)).toEqual([row.id])
		await send(...found)
	}
})

test('a scan finds the message of another key behind any number of followers that are due at the same time', async () => {
	const limit = 3
	const hot = Array.from({ length: 100 }, () => newRow({ key: 'hot' }))
	const other = newRow({ key: 'other' })
	await postgres.store.insert([...hot, other])
	expect(idsOf(await claimed({ isOrdered: true, keys: ['hot'] }))).toEqual([hot[0]?.id])
	expect(idsOf(await claimed({ isOrdered: true, limit }))).toEqual([other.id])
	expect(await claimed({ isOrdered: true, limit })).toEqual([])
})
