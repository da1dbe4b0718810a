/** Migrations, and calls without tables. */
import assert from 'node:assert/strict'
import type { Queryable } from '../../../sql/clients.ts'
import { required } from '../harness/assertions.ts'
import type { EndpointCase } from '../harness/endpoints.ts'
import { type CaseTable, OPERATOR, type StoreHarness, target } from '../harness/harness.ts'

export const schema: CaseTable = {
	'numbers its steps from 1, each with a name and SQL': async ({ store }) => {
		const versions = store.migrations.map((step) => step.version)
		for (const [index, version] of versions.entries()) assert.equal(version, index + 1)
		assert.ok(versions.length > 0)
		for (const step of store.migrations) assert.ok(step.name !== '' && step.sql !== '')
	},

	'migrates to the latest version and reports every applied step': async ({ store }) => {
		const from = await store.schemaVersion()
		const report = await store.migrate()
		assert.equal(report.from, from)
		assert.equal(report.to, store.migrations.at(-1)?.version)
		assert.equal(report.applied.length, store.migrations.filter((step) => step.version > from).length)
		assert.equal(await store.schemaVersion(), report.to)
	},

	'applies nothing the second time and keeps all messages': async (t) => {
		await t.store.migrate()
		const id = await t.enqueueOne()
		const report = await t.store.migrate()
		assert.deepEqual(report, { from: report.to, to: report.to, applied: [] })
		await t.expectStatus('pending', [id])
	},

	'applies each step once in two concurrent migrations': async (t) => {
		const { store } = t
		const other = await t.other()
		const from = await store.schemaVersion()
		const reports = await Promise.all([store.migrate(), other.migrate(), store.migrate()])
		const steps = store.migrations.filter((step) => step.version > from).length
		assert.equal(reports.flatMap((report) => report.applied).length, steps)
		for (const report of reports) assert.equal(report.to, store.migrations.at(-1)?.version)
		assert.equal(await other.schemaVersion(), store.migrations.at(-1)?.version)
		await t.enqueueAndClaim()
	},

	'has a kind and accepts only transactions of its own kind': async (t) => {
		const { store } = t
		assert.ok(store.kind !== '')
		assert.equal(await t.transaction(async (tx) => store.accepts(tx), 'rollback'), true)
		const isSql = await t.transaction(async (tx) => 'query' in tx, 'rollback')
		const foreign = isSql ? { prepare: () => ({ all: () => [] }) } : { query: async () => ({ rows: [] }) }
		assert.equal(store.accepts(foreign), false)
	},
}

const expectSchemaErrors = async (
	{ store }: StoreHarness,
	calls: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<void> => {
	const needed = required(store.migrations.at(-1), 'a migration').version
	const error = { name: 'OutboxSchemaError', code: 'YAOKI_OUTBOX_SCHEMA', found: 0, needed }
	for (const [name, call] of Object.entries(calls)) await assert.rejects(call, error, `${name} says so`)
}

export const withoutTables: CaseTable = {
	'rejects every call with OutboxSchemaError if there are no tables': async (t) => {
		const { store } = t
		if ((await store.schemaVersion()) > 0) return
		const claim = { id: t.id(), attempt: 1 }
		const change = { state: 'open', pausedForMs: 1, reason: null, failedProbes: 0, delayMs: 1 } as const
		const report = { id: 'r1', host: 'h', pid: 1, inFlight: 0, sent: 0, failed: 0, dead: 0, throughput: 0 }
		const permits = { destination: 'a', owner: 'r1', wanted: 1, inUse: 0, total: 1, leaseMs: 1_000 }
		const rate = { limit: 1, intervalMs: 1_000, burst: 1 }
		const calls: Readonly<Record<string, () => Promise<unknown>>> = {
			insert: () => store.insert([t.row()]),
			'insert with a dedupe key': () => store.insert([t.row({ dedupeKey: 'd' })]),
			claim: () => t.claimTargets([target()]),
			settle: () => store.settle('r1', [{ type: 'sent', ...claim }], false),
			renew: () => store.renew('r1', 1_000, [claim]),
			claimsOf: () => store.claimsOf('r1', ['a']),
			hasClaimable: () => store.hasClaimable('a', true, 2),
			nextDueInMs: () => store.nextDueInMs(['a']),
			destinations: () => store.dueDestinations(10),
			dropHistory: () => store.dropHistory(1_000, 10),
			circuits: () => store.circuits(['a']),
			changeCircuit: () => store.changeCircuit({ destination: 'a', version: 0, ...change }),
			hold: () => store.pause('a', 1_000, 'retry-after'),
			changeByOperator: () =>
				store.changeByOperator({ destination: 'a', action: 'pause', forMs: 1, by: 'ada', reason: null }),
			operatorPauses: () => store.operatorPauses(10),
			takeTokens: () => store.acquireTokens('a', 1, rate),
			returnTokens: () => store.returnTokens('a', 1, rate),
			takePlaces: () => store.acquirePermits(permits),
			beat: () =>
				store.heartbeat(
					{ ...report, destinations: ['a'], orderedDestinations: [], heartbeatMs: 5_000 },
					1_000,
				),
			leave: () => store.removeRelay('r1'),
			relays: () => store.relays(),
			find: () => store.find(claim.id),
			list: () => store.list({}, 10),
			deadGroups: () => store.deadGroups({}, 10),
			countDead: () => store.countDead({}, 10),
			replay: () => t.replay({}, 10),
			discard: () => t.discard({}, 10, false),
			audit: () => store.audit({}, 10),
			dropAudit: () => store.dropAudit(1_000, 10),
			retryNow: () => store.retryNow({}, 10),
			expire: () => store.expire({}, 10, OPERATOR),
			findPredecessor: () => store.findPredecessor(claim.id),
			stats: () => store.stats(10),
			'stats of one destination': () => store.stats(10, 'a'),
		}
		await expectSchemaErrors(t, calls)
	},

	'reports version 0 before the first migration and works after it': async (t) => {
		const { store } = t
		if ((await store.schemaVersion()) > 0) return
		await assert.rejects(() => t.enqueueOne())
		await store.migrate()
		await t.find(await t.enqueueOne())
	},
}

/** Rejects as the call does. */
async function inTransaction(t: StoreHarness, call: (tx: Queryable) => Promise<unknown>): Promise<void> {
	const failed = await t.transaction(async (tx) => {
		try {
			await call(tx)
			return undefined
		} catch (error) {
			return { error }
		}
	}, 'rollback')
	if (failed) throw failed.error
}

export const endpointsWithoutTables: Readonly<Record<string, EndpointCase>> = {
	'rejects every call with OutboxSchemaError if there are no tables': async (e) => {
		const { t, store } = e
		if ((await t.store.schemaVersion()) > 0) return
		await expectSchemaErrors(t, {
			insert: () => e.insert(),
			find: () => store.find(t.id()),
			list: () => store.list({}, 10),
			change: () => e.enable(t.id()),
			delete: () => store.delete(t.id(), OPERATOR),
			matching: async () => store.matching('', ['*']),
			'matching in a transaction': () => inTransaction(t, async (tx) => store.matching('', ['*'], tx)),
			recordFailure: () => store.recordFailure(t.id()),
			recordSuccess: () => store.recordSuccess(t.id()),
			stats: () => store.stats(),
			insertEvent: async () => store.insertEvent(e.event()),
			'insertEvent in a transaction': () => inTransaction(t, async (tx) => store.insertEvent(e.event(), tx)),
			events: () => e.events(),
			dropEvents: () => store.dropEvents(10),
		})
	},
}
