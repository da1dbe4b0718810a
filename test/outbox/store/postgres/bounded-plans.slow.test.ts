import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { OVERTAKING } from '../../../../src/outbox/store/postgres/claim-sql.ts'
import {
	type PostgresOutboxStore,
	postgresOutboxStore,
} from '../../../../src/outbox/store/postgres/postgres-store.ts'
import type { ClaimedRow, ClaimTarget } from '../../../../src/outbox/store/rows.ts'
import { PostgresExecutor } from '../../../../src/sql/postgres-executor.ts'
import { newRows } from '../rows.ts'
import { nodesOf, type PlanNode, type Recorder, recordStatements, rowsRead } from './explained.ts'
import { retry, runtimeWithClaimsOf, wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

const TABLES = [
	'outbox_history',
	'outbox_attempts',
	'outbox',
	'outbox_dead',
	'outbox_destinations',
	'webhook_endpoints',
	'webhook_events',
]
const MESSAGES = 5_000
const KEYS = 200
const LIMIT = 100

/** Messages, dead letters and destinations as a burst leaves them. */
async function fill(count: number): Promise<void> {
	await postgres.pool.query(
		`insert into ${postgres.schema}.outbox (id, destination, topic, key, payload)
		select gen_random_uuid(), 'a', 't', 'k' || i % ${KEYS}, '{}' from generate_series(1, $1::int) i`,
		[count],
	)
	await postgres.pool.query(
		`insert into ${postgres.schema}.outbox_dead (id, destination, topic, key, payload, seq, died_at, cause, blocks)
		select gen_random_uuid(), 'a', 't', 'd' || i, '{}', i, 0, 'expired', true from generate_series(1, $1::int) i`,
		[count],
	)
	await postgres.pool.query(
		`insert into ${postgres.schema}.outbox_destinations (destination) select 'other' || i from generate_series(1, $1::int) i
		on conflict do nothing`,
		[count],
	)
	await postgres.pool.query(
		`insert into ${postgres.schema}.webhook_endpoints (id, created_at, tenant, url, topics, secrets)
		select gen_random_uuid(), 0, 'acme', 'https://example.com', array['*'], '' from generate_series(1, $1::int) i`,
		[count],
	)
	await postgres.pool.query(
		`insert into ${postgres.schema}.webhook_events (id, created_at, expires_at, tenant, topic, payload)
		select gen_random_uuid(), i, i, 'acme', 't', '{}' from generate_series(1, $1::int) i`,
		[count],
	)
}

async function onEach(sql: (table: string) => string): Promise<void> {
	for (const table of TABLES) await postgres.pool.query(sql(`${postgres.schema}.${table}`))
}

/** What the statistics say when the burst arrives. */
const STATES: Readonly<Record<string, () => Promise<void>>> = {
	async 'empty tables with pages left'() {
		await fill(MESSAGES)
		await onEach((table) => `delete from ${table}`)
		await onEach((table) => `vacuum (truncate false) ${table}`)
		await onEach((table) => `analyze ${table}`)
	},
	async 'nearly empty tables'() {
		await fill(20)
		await onEach((table) => `vacuum analyze ${table}`)
	},
	async 'nothing: never analyzed'() {},
}

const keys = Array.from({ length: LIMIT }, (_, at) => `k${at}`)
const CLAIMS: Readonly<Record<string, readonly Partial<ClaimTarget>[]>> = {
	unordered: [{}],
	ordered: [{ isOrdered: true }],
	keys: [{ isOrdered: true, keys }],
	runs: [{ isOrdered: true, keys: keys.slice(0, 5), perKey: 20 }],
	'all kinds': [{ isOrdered: true, keys }, { isOrdered: true }, {}],
}

const targetsOf = (parts: readonly Partial<ClaimTarget>[]): ClaimTarget[] =>
	parts.flatMap((part) => wanted({ limit: LIMIT, ...part }).targets)

const WITH_BOUNDS = ' with bounds'

/** Runs each kind of claim once, so that its plan is cached; returns the texts. Claims after slow ones have bounds of keys. */
async function runClaims(
	store: PostgresOutboxStore,
	recorder: Recorder,
): Promise<ReadonlyMap<string, string>> {
	const texts = new Map<string, string>()
	const run = async (given: PostgresOutboxStore, suffix: string) => {
		for (const [kind, parts] of Object.entries(CLAIMS)) {
			await given.claim(wanted({}, { targets: targetsOf(parts) }))
			texts.set(`${kind}${suffix}`, recorder.latest)
		}
		for (const isOrdered of [false, true]) {
			await given.claim(wanted({ isOrdered, limit: 1 }, { poisonCandidates: true }))
			texts.set(`poison candidates, ${isOrdered ? 'ordered' : 'unordered'}${suffix}`, recorder.latest)
		}
	}
	await run(store, '')
	const slow = postgresOutboxStore({
		client: recorder.pool,
		schema: postgres.schema,
		runtime: runtimeWithClaimsOf(60_000),
	})
	await slow.claim(wanted({ isOrdered: true }))
	await run(slow, WITH_BOUNDS)
	return texts
}

/** Runs each other statement of a relay once. */
async function runOthers(store: PostgresOutboxStore): Promise<void> {
	await store.insert(newRows(5, { destination: 'settled' }))
	const { rows } = await store.claim(wanted({ destination: 'settled' }))
	await store.renew('relay', 60_000, rows)
	const [sent, failed, released, dead, last] = rows
	if (!sent || !failed || !released || !dead || !last) throw new Error('too few messages')
	await store.settle(
		'relay',
		[
			{ type: 'sent', ...ref(sent) },
			retry(failed, 'failed'),
			{ type: 'release', ...ref(released) },
			{ type: 'dead', ...ref(dead), cause: 'expired', error: null, afterDeadLetter: 'dead-letter-rest' },
		],
		false,
	)
	await store.settle('relay', [{ type: 'sent', ...ref(last) }], true)
	await store.claimsOf('relay', ['a', 'b'])
	await store.nextDueInMs(['a', 'b'])
	for (const isOrdered of [true, false]) await store.hasClaimable('a', isOrdered, 2)
	await store.dueDestinations(10)
	await store.circuits(['a', 'b'])
	const change = { state: 'open', pausedForMs: 1, reason: null, failedProbes: 0, delayMs: 0 } as const
	await store.changeCircuit({ destination: 'paused', version: 0, ...change })
	await store.pause('paused', 1, 'retry-after')
	const rate = { limit: 1, intervalMs: 1_000, burst: 1 }
	await store.acquireTokens('a', 1, rate)
	await store.returnTokens('a', 1, rate)
	await store.dropHistory(1, 10)
	await store.dropAttempts(10)
	const endpoint = randomUUID()
	await store.endpoints?.find(endpoint)
	await store.endpoints?.recordFailure(endpoint)
	await store.endpoints?.recordSuccess(endpoint)
	await store.endpoints?.dropEvents(10)
	const { rows: events } = await postgres.pool.query(
		`insert into ${postgres.schema}.webhook_events (id, created_at, expires_at, tenant, topic, payload)
		values (gen_random_uuid(), 1, 4e12, 'acme', 't', '{}') returning id::text as id`,
	)
	const all = { tenant: 'acme', topics: ['a', 'b.*'], since: 0 }
	for (const after of [undefined, randomUUID(), events[0].id]) await store.endpoints?.events(all, 10, after)
}

/** A statement that runs only if messages were replayed during a claim. */
async function runOvertaking(client: pg.Pool): Promise<void> {
	const settings = { client, schema: postgres.schema, prepare: true, warn: () => {}, offsetMs: () => 0 }
	const { bounded } = new PostgresExecutor(settings, async (error) => error)
	const [claimed] = newRows(1, { destination: 'a', key: 'k1' })
	await bounded.run(OVERTAKING, [JSON.stringify([{ ...claimed, sequence: 4_000 }]), 'relay'])
}

const ref = ({ id, attempt }: ClaimedRow) => ({ id, attempt })

const scansOf = (plan: PlanNode): PlanNode[] =>
	[...nodesOf(plan)].filter(
		(node) => TABLES.includes(node['Relation Name'] ?? '') && node['Node Type'] !== 'ModifyTable',
	)

/** Nothing but positions and conditions on an index. */
function expectBounded(plan: PlanNode, text: string): void {
	const types = [...nodesOf(plan)].map((node) => node['Node Type'])
	expect(types, text).not.toContain('Hash Join')
	expect(types, text).not.toContain('Merge Join')
	for (const node of scansOf(plan)) {
		expect(['Tid Scan', 'Index Scan', 'Index Only Scan'], text).toContain(node['Node Type'])
		if (node['Node Type'] !== 'Tid Scan') expect(node['Index Cond'], text).toBeDefined()
	}
}

const indexesOf = (plan: PlanNode): string[] =>
	[...new Set(scansOf(plan).flatMap((node) => node['Index Name'] ?? []))].sort()

const readBy = (plan: PlanNode): number => scansOf(plan).reduce((sum, node) => sum + rowsRead(node), 0)

const IN_ORDER = ['outbox_dead_blocks', 'outbox_destinations_pkey', 'outbox_order', 'outbox_replayed']
const FOR_BOUNDS = 'outbox_out_of_order'

const USED: Readonly<Record<string, readonly string[]>> = {
	unordered: ['outbox_destinations_pkey', 'outbox_due'],
	ordered: [...IN_ORDER.slice(0, 2), 'outbox_due', ...IN_ORDER.slice(2)],
	keys: IN_ORDER,
	runs: IN_ORDER,
	'poison candidates, unordered': ['outbox_crashed', 'outbox_destinations_pkey'],
	'poison candidates, ordered': ['outbox_crashed', ...IN_ORDER],
}

describe.each(Object.entries(STATES))('when a burst meets statistics of %s', (_, prepareState) => {
	let store: PostgresOutboxStore
	let recorder: Recorder
	let pool: pg.Pool

	beforeEach(async () => {
		await onEach((table) => `alter table ${table} set (autovacuum_enabled = off)`)
		pool = postgres.anotherPool({ max: 1 })
		store = postgresOutboxStore({ client: pool, schema: postgres.schema, runtime: runtimeWithClaimsOf(0) })
		recorder = await recordStatements(pool)
		await prepareState()
	})

	test('no statement of a relay reads a whole table or index, with cached and with new plans', async () => {
		await runClaims(store, recorder)
		await runOthers(store)
		await runOvertaking(pool)
		await fill(MESSAGES)
		expect(recorder.texts.size).toBe(40)
		for (const isAnalyzed of [false, true]) {
			if (isAnalyzed) await onEach((table) => `vacuum analyze ${table}`)
			for (const text of recorder.texts.values())
				for (const isCustom of [false, true]) expectBounded(await recorder.explain(text, { isCustom }), text)
		}
	})

	test('a claim uses the indexes of its kind and reads a multiple of its limit', async () => {
		const claims = await runClaims(store, recorder)
		await fill(MESSAGES)
		for (const isAnalyzed of [false, true]) {
			if (isAnalyzed) await onEach((table) => `vacuum analyze ${table}`)
			for (const [kind, text] of claims)
				for (const isCustom of [false, true]) {
					const plan = await recorder.explain(text, { isCustom, isRun: true })
					const [base, hasBounds] = [kind.replace(WITH_BOUNDS, ''), kind.endsWith(WITH_BOUNDS)]
					const used = USED[base] ?? [...IN_ORDER, 'outbox_due']
					const isOrdered = used.includes('outbox_order')
					expect(indexesOf(plan), kind).toEqual(
						[...used, ...(hasBounds && isOrdered ? [FOR_BOUNDS] : [])].sort(),
					)
					// Per message: its row, the first of its key, and the followers that are checked for one in flight.
					expect(readBy(plan), kind).toBeLessThan((CLAIMS[base]?.length ?? 1) * LIMIT * 40)
				}
		}
	})
})

test('a scan does not search for the first message of a key that the relay holds', async () => {
	const pool = postgres.anotherPool({ max: 1 })
	const store = postgresOutboxStore({
		client: pool,
		schema: postgres.schema,
		runtime: runtimeWithClaimsOf(0),
	})
	const recorder = await recordStatements(pool)
	await store.insert(newRows(LIMIT - 1, { destination: 'a', key: 'hot' }))
	const searched = async (heldKeys: readonly string[]): Promise<number> => {
		const target = { destination: 'a', isOrdered: true, limit: LIMIT, heldKeys }
		await store.claim(wanted(target))
		const plan = await recorder.explain(recorder.latest, { isRun: true })
		const lookups = scansOf(plan).filter((node) => node['Index Name'] === 'outbox_order')
		return lookups.reduce((sum, node) => sum + (node['Actual Loops'] ?? 0), 0)
	}
	// Once for all its messages.
	expect(await searched([])).toBe(1)
	expect(await searched(['hot'])).toBe(0)
})
