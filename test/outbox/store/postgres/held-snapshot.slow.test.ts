/**
 * A session that holds an old snapshot keeps the index entries of all messages that were sent since. Claims must not read them again and again. The
 * plans count visible rows only, so the tests count the pages that a claim reads: without bounds, most entries of a key are on a page of their own.
 */
import { beforeEach, expect, test } from 'vitest'
import type { Runtime } from '../../../../src/core/runtime/runtime.ts'
import {
	type PostgresOutboxStore,
	postgresOutboxStore,
} from '../../../../src/outbox/store/postgres/postgres-store.ts'
import type { ClaimTarget } from '../../../../src/outbox/store/rows.ts'
import { newRows } from '../rows.ts'
import { begin } from './concurrent.ts'
import { nodesOf, pagesRead, type Recorder, recordStatements } from './explained.ts'
import { runtimeWithClaimsOf, wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

const KEYS = ['k0', 'k1', 'k2', 'k3']
const SENT_PER_KEY = 3_000
const QUEUED_PER_KEY = 60
const SENT_NOW_PER_KEY = 40
/** For a claim of four messages. Reading the entries of the sent messages takes thousands. */
const MAX_PAGES = 250

/** Leaves what sending leaves: an insert, the update of a claim, a delete. */
async function leaveSentMessages(): Promise<void> {
	await postgres.pool.query(
		`insert into ${postgres.schema}.outbox (id, destination, topic, key, payload, in_order)
		select gen_random_uuid(), 'a', 't', 'k' || i % $1::int, '{}', true from generate_series(1, $2::int) i`,
		[KEYS.length, KEYS.length * SENT_PER_KEY],
	)
	await postgres.pool.query(
		`update ${postgres.schema}.outbox set attempts = 1, locked_by = 'r', locked_at = 1, lease_until = 2`,
	)
	await postgres.pool.query(`delete from ${postgres.schema}.outbox`)
}

interface Recorded {
	readonly store: PostgresOutboxStore
	readonly recorder: Recorder
}

/** A store with a connection of its own, as another relay has it. */
async function recordedStore(runtime: Runtime = runtimeWithClaimsOf(0)): Promise<Recorded> {
	const pool = postgres.anotherPool({ max: 1 })
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema, runtime })
	return { store, recorder: await recordStatements(pool) }
}

/** Claims, and returns how many pages the same claim reads again. */
async function pagesOf({ store, recorder }: Recorded, target: Partial<ClaimTarget>): Promise<number> {
	await store.claim(wanted({ isOrdered: true, ...target }, { owner: 'reader' }))
	return pagesRead(await recorder.explain(recorder.latest, { isRun: true }))
}

/** Sends so many messages of each key that the store uses what it knows about them. Returns when one of them was due. */
async function claimAndSend(store: PostgresOutboxStore): Promise<number> {
	const limit = KEYS.length * SENT_NOW_PER_KEY
	const { rows } = await store.claim(wanted({ isOrdered: true, keys: KEYS, perKey: SENT_NOW_PER_KEY, limit }))
	expect(rows).toHaveLength(limit)
	const sent = rows.map(({ id, attempt }) => ({ type: 'sent', id, attempt }) as const)
	expect(await store.settle('relay', sent, false)).toEqual([])
	return rows[0]?.dueAt ?? 0
}

beforeEach(async () => {
	await postgres.pool.query(`alter table ${postgres.schema}.outbox set (autovacuum_enabled = off)`)
	const holder = await begin(postgres.pool, 'repeatable read')
	await holder.query(`select count(*) from ${postgres.schema}.outbox`)
	await leaveSentMessages()
	await postgres.store.insert(KEYS.flatMap((key) => newRows(QUEUED_PER_KEY, { key })))
})

test('the first scan of a relay searches for the first message of each key once, however many of its messages are due', async () => {
	const { store, recorder } = await recordedStore()
	await store.claim(wanted({ isOrdered: true, limit: 1_000 }))
	const plan = await recorder.explain(recorder.latest, { isRun: true })
	const searches = [...nodesOf(plan)].filter((node) => node['Index Name'] === 'outbox_order')
	expect(searches.map((node) => node['Actual Loops'])).toContain(KEYS.length)
	for (const node of searches) expect(node['Actual Loops']).toBeLessThanOrEqual(KEYS.length)
})

test.each<[string, Partial<ClaimTarget>]>([
	['a scan that continues', { limit: 1_000 }],
	['a claim by key', { keys: KEYS, limit: 4 }],
	['a claim of runs', { keys: KEYS, perKey: 4, limit: 16 }],
])(
	'%s does not read the entries of sent messages of keys that the relay has claimed from',
	async (_, target) => {
		const relay = await recordedStore()
		const since = await claimAndSend(relay.store)
		expect(await pagesOf(relay, { ...target, since })).toBeLessThan(MAX_PAGES)
	},
)

test('a scan does not search again for keys that another relay holds', async () => {
	const { rows } = await postgres.store.claim(wanted({ isOrdered: true }, { owner: 'another' }))
	expect(rows).toHaveLength(KEYS.length)
	const relay = await recordedStore(runtimeWithClaimsOf(60_000))
	const since = rows[0]?.dueAt ?? 0
	expect(await pagesOf(relay, { since, limit: 1_000 })).toBeGreaterThan(SENT_PER_KEY / 10)
	// The first slow claim asks the second one to report what it finds.
	await pagesOf(relay, { since, limit: 1_000 })
	expect(await pagesOf(relay, { since, limit: 1_000 })).toBeLessThan(MAX_PAGES)
})

test('a claim by key with bounds finds a message that is replayed before them', async () => {
	const [row] = (await postgres.store.claim(wanted({ isOrdered: true, limit: 1 }))).rows
	if (!row) throw new Error('a message')
	const dead = { type: 'dead', id: row.id, attempt: 1, cause: 'permanent', error: null } as const
	await postgres.store.settle('relay', [{ ...dead, afterDeadLetter: 'skip' }], false)
	await claimAndSend(postgres.store)
	await postgres.store.replay({}, 1, { by: 'someone', reason: null })
	const claimed = await postgres.store.claim(wanted({ isOrdered: true, keys: [row.key ?? ''] }))
	expect(claimed.rows.map(({ id }) => id)).toEqual([row.id])
})
