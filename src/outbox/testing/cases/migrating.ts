/** The tables: how they come to be, and what is said while they are not there. */
import assert from 'node:assert/strict'
import { type CaseTable, target, the } from '../harness/harness.ts'

export const migrating: CaseTable = {
	'the steps are numbered upwards from 1, and each has a name and its SQL': async ({ store }) => {
		const versions = store.migrations.map((step) => step.version)
		assert.deepEqual(
			versions,
			versions.map((_, index) => index + 1),
		)
		assert.ok(versions.length > 0)
		for (const step of store.migrations) assert.ok(step.name !== '' && step.sql !== '')
	},

	'the schema is brought to the latest version, and the report tells every step that was taken': async ({
		store,
	}) => {
		const from = await store.schemaVersion()
		const report = await store.migrate()
		assert.equal(report.from, from)
		assert.equal(report.to, store.migrations.at(-1)?.version)
		assert.equal(report.applied.length, store.migrations.filter((step) => step.version > from).length)
		assert.equal(await store.schemaVersion(), report.to)
	},

	'a second time there is nothing to do, and nothing is lost': async (trial) => {
		await trial.store.migrate()
		const id = await trial.enqueueOne()
		const report = await trial.store.migrate()
		assert.deepEqual(report, { from: report.to, to: report.to, applied: [] })
		assert.equal((await trial.find(id)).status, 'pending')
	},

	'two at once take each step once': async (trial) => {
		const { store } = trial
		const other = await trial.other()
		const from = await store.schemaVersion()
		const reports = await Promise.all([store.migrate(), other.migrate(), store.migrate()])
		const steps = store.migrations.filter((step) => step.version > from).length
		assert.equal(
			reports.reduce((sum, report) => sum + report.applied.length, 0),
			steps,
		)
		for (const report of reports) assert.equal(report.to, store.migrations.at(-1)?.version)
		assert.equal(await other.schemaVersion(), store.migrations.at(-1)?.version)
		await trial.enqueueOne()
		assert.equal((await trial.claim()).length, 1)
	},

	'a store has a name and takes the transactions of its own kind only': async (trial) => {
		const { store } = trial
		assert.ok(store.kind !== '')
		assert.equal(await trial.opened.transaction(async (tx) => store.accepts(tx), 'rollback'), true)
		const foreign = await trial.opened.transaction(
			async (tx) =>
				'query' in tx ? { prepare: () => ({ all: () => [] }) } : { query: async () => ({ rows: [] }) },
			'rollback',
		)
		assert.equal(store.accepts(foreign), false)
	},
}

export const withoutTables: CaseTable = {
	'without tables every call says that they are missing and how to get them': async (trial) => {
		const { store } = trial
		if ((await store.schemaVersion()) > 0) return
		const held = { id: trial.id(), attempt: 1 }
		const gate = { state: 'open', pausedForMs: 1, reason: null, failedProbes: 0, delayMs: 1 } as const
		const report = { id: 'r1', host: 'h', pid: 1, inFlight: 0, sent: 0, failed: 0, dead: 0, throughput: 0 }
		const calls: Readonly<Record<string, () => Promise<unknown>>> = {
			insert: () => store.insert([trial.row()]),
			'insert with a dedupe key': () => store.insert([trial.row({ dedupeKey: 'd' })]),
			claim: () => trial.claimTargets([target()]),
			settle: () => store.settle('r1', [{ type: 'sent', ...held }], false),
			renew: () => store.renew('r1', 1_000, [held]),
			nextDueInMs: () => store.nextDueInMs(['a']),
			destinations: () => store.dueDestinations(10),
			dropHistory: () => store.dropHistory(1_000, 10),
			gates: () => store.circuits(['a']),
			turnGate: () => store.changeCircuit({ destination: 'a', version: 0, ...gate }),
			hold: () => store.pause('a', 1_000, 'retry-after'),
			takeTokens: () => store.acquireTokens('a', 1, { limit: 1, intervalMs: 1_000, burst: 1 }),
			returnTokens: () => store.returnTokens('a', 1, { limit: 1, intervalMs: 1_000, burst: 1 }),
			takePlaces: () =>
				store.acquirePermits({
					destination: 'a',
					owner: 'r1',
					wanted: 1,
					inUse: 0,
					total: 1,
					leaseMs: 1_000,
				}),
			beat: () => store.heartbeat({ ...report, destinations: ['a'] }, 1_000),
			leave: () => store.removeRelay('r1'),
			relays: () => store.relays(),
			find: () => store.find(held.id),
			list: () => store.list({}, 10),
			deadGroups: () => store.deadGroups({}, 10),
			countDead: () => store.countDead({}, 10),
			replay: () => store.replay({}, 10),
			discard: () => store.discard({}, 10, false),
			retryNow: () => store.retryNow({}, 10),
			ahead: () => store.findPredecessor(held.id),
			stats: () => store.stats(10),
			'stats of one destination': () => store.stats(10, 'a'),
		}
		const needed = the(store.migrations.at(-1), 'a migration').version
		for (const [name, call] of Object.entries(calls))
			await assert.rejects(
				call,
				{ name: 'SchemaVersionError', code: 'YAOKI_OUTBOX_SCHEMA', found: 0, needed },
				`${name} says so`,
			)
	},

	'before the first migration the version is 0 and afterwards everything works': async (trial) => {
		const { store } = trial
		if ((await store.schemaVersion()) > 0) return
		await assert.rejects(() => trial.enqueueOne())
		await store.migrate()
		const id = await trial.enqueueOne()
		assert.equal((await trial.find(id)).id, id)
	},
}
