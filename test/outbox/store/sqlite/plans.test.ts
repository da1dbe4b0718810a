/** What a claim costs hangs on the plan, and a plan is chosen anew by every version of SQLite. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { CLAIM_TEXTS, MARK_LIST } from '../../../../src/outbox/store/sqlite/claim.ts'
import { NEXT_QUEUED } from '../../../../src/outbox/store/sqlite/due.ts'
import { MATCHING } from '../../../../src/outbox/store/sqlite/endpoints.ts'
import { SELECT_EVENTS } from '../../../../src/outbox/store/sqlite/events.ts'
import { BLOCKING, QUEUED_BEFORE } from '../../../../src/outbox/store/sqlite/messages.ts'
import { DELETE_BY } from '../../../../src/outbox/store/sqlite/settle.ts'
import type { SqliteOutboxStore } from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import { FAILED_FIRST, FAILING, NEXT_BLOCKED_KEY } from '../../../../src/outbox/store/sqlite/stats.ts'
import { newRows } from '../rows.ts'
import { claimRows, migratedStore } from './rows.ts'

async function emptyStore(): Promise<SqliteOutboxStore> {
	const store = await migratedStore()
	onTestFinished(() => store.close())
	return store
}

const planOf = (store: SqliteOutboxStore, sql: string): string =>
	store.database
		.prepare(`EXPLAIN QUERY PLAN ${sql}`)
		.all()
		.map(({ detail }) => String(detail))
		.join('\n')

describe('a claim', () => {
	it('reads due messages in index order without sorting', async () => {
		const plan = planOf(await emptyStore(), CLAIM_TEXTS['few crashes'].unordered)
		expect(plan).toBe('SEARCH q USING INDEX yaoki_outbox_due (destination=? AND due_at>? AND due_at<?)')
	})

	it('finds first messages and blocking dead letters by index', async () => {
		const plan = planOf(await emptyStore(), CLAIM_TEXTS['few crashes'].ordered)
		expect(plan).toContain('SEARCH q USING INDEX yaoki_outbox_due')
		expect(plan).toContain(
			'SEARCH e USING COVERING INDEX yaoki_outbox_key (destination=? AND key=? AND rowid<?)',
		)
		expect(plan).toContain('SEARCH d USING COVERING INDEX yaoki_outbox_dead_blocking')
		expect(plan).not.toMatch(/SCAN q|SCAN e|SCAN d|TEMP B-TREE/)
	})

	it('finds the first message of a key without scanning later ones', async () => {
		const plan = planOf(await emptyStore(), CLAIM_TEXTS['few crashes'].keys)
		expect(plan).toContain('SEARCH q USING INTEGER PRIMARY KEY')
		expect(plan).toContain('SEARCH f USING COVERING INDEX yaoki_outbox_key')
	})

	it('reads only rows with recorded crashes for poison candidates', async () => {
		const plan = planOf(await emptyStore(), CLAIM_TEXTS['recorded crashes'].unordered)
		expect(plan).toContain('yaoki_outbox_crashed')
		expect(plan).not.toContain('TEMP B-TREE')
	})

	it('updates no index', async () => {
		const store = await emptyStore()
		const opcodes = store.database.prepare(`EXPLAIN ${MARK_LIST}`).all()
		const opened = opcodes.filter(({ opcode }) => opcode === 'OpenWrite')
		expect(opened).toHaveLength(1)
	})

	it('uses the same plan after ANALYZE of an overfull table', async () => {
		const store = await emptyStore()
		await store.insert(newRows(3_000, { key: 'same' }))
		const before = planOf(store, CLAIM_TEXTS['few crashes'].ordered)
		store.database.exec('ANALYZE')
		expect(planOf(store, CLAIM_TEXTS['few crashes'].ordered)).toBe(before)
		expect(await claimRows(store, { isOrdered: true })).toHaveLength(1)
	})
})

it('deletes sent messages by their row numbers', async () => {
	const store = await emptyStore()
	for (const how of ['range', 'list'] as const)
		expect(planOf(store, DELETE_BY[how])).toContain('SEARCH yaoki_outbox USING INTEGER PRIMARY KEY')
})

it('finds destinations by jumping through the index', async () => {
	const plan = planOf(await emptyStore(), NEXT_QUEUED)
	expect(plan).toBe('SEARCH yaoki_outbox USING COVERING INDEX yaoki_outbox_due (destination>?)')
})

it('finds a predecessor by its key without sorting', async () => {
	const store = await emptyStore()
	expect(planOf(store, BLOCKING)).toBe(
		'SEARCH yaoki_outbox_dead USING INDEX yaoki_outbox_dead_blocking (destination=? AND key=? AND rowid<?)',
	)
	expect(planOf(store, QUEUED_BEFORE)).toBe(
		'SEARCH yaoki_outbox USING INDEX yaoki_outbox_key (destination=? AND key=? AND rowid<?)',
	)
})

describe('the statistics', () => {
	it('read the oldest failed messages in index order', async () => {
		const store = await emptyStore()
		for (const sql of [FAILING, FAILED_FIRST]) {
			const plan = planOf(store, sql)
			expect(plan).toContain('INDEX yaoki_outbox_retried (destination=?)')
			expect(plan).not.toMatch(/TEMP B-TREE|SCAN yaoki/)
		}
		expect(planOf(store, FAILED_FIRST)).toContain(
			'SEARCH e USING COVERING INDEX yaoki_outbox_key (destination=? AND key=? AND rowid<?)',
		)
	})

	it('find blocked keys by jumping through the index', async () => {
		expect(planOf(await emptyStore(), NEXT_BLOCKED_KEY)).toBe(
			'SEARCH yaoki_outbox_dead USING INDEX yaoki_outbox_dead_blocking (destination=? AND key>?)',
		)
	})
})

describe('webhooks', () => {
	it('an event finds its endpoints in the index of tenants and topics', async () => {
		const plan = planOf(await emptyStore(), MATCHING)
		expect(plan).toContain('SEARCH yaoki_webhook_subscriptions USING PRIMARY KEY (tenant=? AND topic=?)')
	})

	it('a page of events is read in the order of the index, from its start', async () => {
		const store = await emptyStore()
		const index = 'SEARCH yaoki_webhook_events USING INDEX yaoki_webhook_events_tenant'
		for (const [how, start] of [
			['first', 'tenant=? AND created_at>?'],
			['next', 'tenant=? AND (created_at,id)>(?,?)'],
			['afterDeleted', 'tenant=? AND created_at>?'],
		] as const) {
			const plan = planOf(store, SELECT_EVENTS[how])
			expect(plan).toContain(`${index} (${start})`)
			expect(plan).not.toContain('TEMP B-TREE FOR ORDER')
		}
	})
})
