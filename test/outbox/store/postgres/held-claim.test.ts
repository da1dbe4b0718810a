/** A relay whose claim is not committed yet, for example because the server waits for a replica, beside another relay. */
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import type { ClaimedRow } from '../../../../src/outbox/store/rows.ts'
import type { OutboxStore } from '../../../../src/outbox/store/store.ts'
import { newRow, newRows } from '../rows.ts'
import { wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

const ORDERED = { isOrdered: true }
const BY_KEY = { ...ORDERED, keys: ['k'] }

/** A store all of whose statements belong to one transaction, until `commit`. */
async function heldStore(): Promise<{ readonly store: OutboxStore; commit(): Promise<unknown> }> {
	const client = await postgres.pool.connect()
	onTestFinished(() => client.release(true))
	// Another store may have used this connection; a statement that exists already would abort the transaction.
	await client.query('deallocate all')
	await client.query('begin')
	const query = (given: string | pg.QueryConfig, values?: unknown[]) => {
		if (typeof given !== 'string') return client.query(given)
		return /^(begin|commit)/.test(given) ? client.query('select 1') : client.query(given, values)
	}
	const held = { query, release() {}, on() {}, removeListener() {} }
	const pool = { ...held, connect: async () => held }
	return {
		store: postgresOutboxStore({ client: pool, schema: postgres.schema }),
		commit: () => client.query('commit'),
	}
}

const idsClaimed = async (store: OutboxStore, target: object, owner: string): Promise<string[]> =>
	(await store.claim(wanted(target, { owner }))).rows.map(({ id }: ClaimedRow) => id)

/** Claims by scan and by key, as another relay. */
const claimedByAnother = async (): Promise<string[]> => [
	...(await idsClaimed(postgres.store, ORDERED, 'another')),
	...(await idsClaimed(postgres.store, BY_KEY, 'another')),
]

test('the next message of a key is not claimed while the claim of the first is not committed', async () => {
	const rows = newRows(3, { key: 'k' })
	await postgres.store.insert(rows)
	const { store, commit } = await heldStore()
	expect(await idsClaimed(store, ORDERED, 'held')).toEqual([rows[0]?.id])
	expect(await claimedByAnother()).toEqual([])
	await commit()
	expect(await claimedByAnother()).toEqual([])
})

test.each([
	['one follower', 0],
	['several followers', 3],
])(
	'a message that was inserted earlier but committed later is not claimed while the claim of a later one of its key is not committed: %s',
	async (_, more) => {
		const user = await postgres.pool.connect()
		onTestFinished(() => user.release(true))
		await user.query('begin')
		const [early, late] = [newRow({ key: 'k' }), newRow({ key: 'k' })]
		await postgres.store.insert([early], user, { lockKeys: false })
		await postgres.store.insert([late, ...newRows(more, { key: 'k' })], undefined, { lockKeys: false })
		const { store, commit } = await heldStore()
		expect(await idsClaimed(store, ORDERED, 'held')).toEqual([late.id])
		await user.query('commit')
		expect(await claimedByAnother()).toEqual([])
		await commit()
		expect(await claimedByAnother()).toEqual([])
		await postgres.store.settle('held', [{ type: 'sent', id: late.id, attempt: 1 }], false)
		expect(await claimedByAnother()).toEqual([early.id])
	},
)

test('a replayed message is not claimed while the claim of a later one of its key is not committed', async () => {
	const [first, second] = newRows(2, { key: 'k' })
	if (!first || !second) throw new Error('two rows')
	await postgres.store.insert([first, second])
	await postgres.store.claim(wanted(ORDERED))
	const dead = { type: 'dead', id: first.id, attempt: 1, cause: 'permanent', error: null } as const
	await postgres.store.settle('relay', [{ ...dead, afterDeadLetter: 'skip' }], false)
	const { store, commit } = await heldStore()
	expect(await idsClaimed(store, BY_KEY, 'held')).toEqual([second.id])
	expect(await postgres.store.replay({}, 10, { by: 'someone', reason: null })).toEqual([first.id])
	expect(await claimedByAnother()).toEqual([])
	await commit()
	expect(await claimedByAnother()).toEqual([])
	await postgres.store.settle('held', [{ type: 'sent', id: second.id, attempt: 1 }], false)
	expect(await claimedByAnother()).toEqual([first.id])
})

test('several replayed messages are not claimed while the claim of a later one of their key is not committed (regression: only the next message was checked)', async () => {
	const [first, second, third] = newRows(3, { key: 'k' })
	if (!first || !second || !third) throw new Error('three rows')
	await postgres.store.insert([first, second, third])
	for (const { id } of [first, second]) {
		await postgres.store.claim(wanted(ORDERED))
		const dead = { type: 'dead', id, attempt: 1, cause: 'permanent', error: null } as const
		await postgres.store.settle('relay', [{ ...dead, afterDeadLetter: 'skip' }], false)
	}
	const { store, commit } = await heldStore()
	expect(await idsClaimed(store, BY_KEY, 'held')).toEqual([third.id])
	expect(await postgres.store.replay({}, 10, { by: 'someone', reason: null })).toEqual([first.id, second.id])
	expect(await claimedByAnother()).toEqual([])
	await commit()
	await postgres.store.settle('held', [{ type: 'sent', id: third.id, attempt: 1 }], false)
	expect(await claimedByAnother()).toEqual([first.id])
})

/** A store whose statements stop when they read the clock, after their snapshot, until `resume`. */
async function stallingStore(): Promise<{
	readonly store: OutboxStore
	untilStalled(): Promise<void>
	resume(): Promise<unknown>
}> {
	const holder = await postgres.pool.connect()
	onTestFinished(() => holder.release(true))
	const lock = `hashtext('${postgres.schema}')`
	await holder.query(`select pg_advisory_lock(${lock})`)
	await holder.query(`create function ${postgres.schema}.clock_timestamp() returns timestamptz language plpgsql as $$
		begin
			perform pg_advisory_lock_shared(${lock});
			perform pg_advisory_unlock_shared(${lock});
			return pg_catalog.clock_timestamp();
		end $$`)
	const client = postgres.anotherPool({ options: `-c search_path=${postgres.schema},pg_catalog` })
	const waiting = `select from pg_locks
		where locktype = 'advisory' and not granted and objid::bigint = ${lock}::bigint & 4294967295`
	return {
		store: postgresOutboxStore({ client, schema: postgres.schema }),
		async untilStalled() {
			while ((await postgres.pool.query(waiting)).rowCount === 0);
		},
		resume: () => holder.query(`select pg_advisory_unlock(${lock})`),
	}
}

test.each([
	['by scan', ORDERED],
	['by key', BY_KEY],
	['in a run', { ...BY_KEY, perKey: 10 }],
])(
	'a claim that stalls after its snapshot claims nothing after a replayed message of its key that is in flight by now: %s',
	async (_, target) => {
		const [first, second, third] = newRows(3, { key: 'k' })
		if (!first || !second || !third) throw new Error('three rows')
		await postgres.store.insert([first, second, third])
		await postgres.store.claim(wanted(ORDERED))
		const dead = { type: 'dead', id: first.id, attempt: 1, cause: 'permanent', error: null } as const
		await postgres.store.settle('relay', [{ ...dead, afterDeadLetter: 'skip' }], false)
		const { store, untilStalled, resume } = await stallingStore()
		const claimed = idsClaimed(store, target, 'stalled')
		await untilStalled()
		await postgres.store.replay({}, 10, { by: 'someone', reason: null })
		expect(await idsClaimed(postgres.store, ORDERED, 'another')).toEqual([first.id])
		await resume()
		expect(await claimed).toEqual([])
		const left = await postgres.store.list({}, 10)
		expect(left.map(({ attempts, lockedBy }) => [attempts, lockedBy])).toEqual([
			[1, 'another'],
			[0, null],
			[0, null],
		])
	},
)
