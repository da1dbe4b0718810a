/** Heartbeats of relays and notifications between processes. */
import assert from 'node:assert/strict'
import type { RelayReport } from '../../store/rows.ts'
import { assertFields, assertNear, HOUR, idsOf, MINUTE, required, sorted } from '../harness/assertions.ts'
import type { CaseTable, StoreHarness } from '../harness/harness.ts'

const report = (part: Partial<RelayReport> = {}): RelayReport => ({
	id: 'r1',
	host: 'box',
	pid: 4_321,
	destinations: ['a', 'b'],
	throughput: 12.5,
	orderedDestinations: ['b'],
	heartbeatMs: 16.5,
	inFlight: 3,
	sent: 100,
	failed: 2,
	dead: 1,
	...part,
})

const names = async ({ store }: StoreHarness): Promise<string[]> => sorted(idsOf(await store.relays()))

export const relays: CaseTable = {
	'lists no relay at first': async (t) => assert.deepEqual(await names(t), []),

	'lists a relay after its heartbeat, with its report and times': async (t) => {
		const now = await t.now()
		await t.store.heartbeat(report(), HOUR)
		const rows = await t.store.relays()
		assert.equal(rows.length, 1)
		const { startedAt, seenAt, ...found } = required(rows[0], 'the relay')
		assert.deepEqual(found, report())
		assertNear(startedAt, now, 'startedAt')
		assertNear(seenAt, now, 'seenAt')
	},

	'keeps the latest report and the first start time': async (t) => {
		await t.store.heartbeat(report(), 9 * HOUR)
		const [first] = await t.store.relays()
		await t.advance(2 * HOUR)
		const later = report({ sent: 5_000_000_000, inFlight: 0, throughput: 0, destinations: [] })
		await t.store.heartbeat(later, 9 * HOUR)
		const [row, ...others] = await t.store.relays()
		assert.deepEqual(others, [])
		const { startedAt, seenAt, ...found } = required(row, 'the relay')
		assert.deepEqual(found, later)
		assert.equal(startedAt, first?.startedAt)
		assertNear(seenAt, startedAt + 2 * HOUR, 'seenAt')
	},

	'forgets relays without a heartbeat at the next heartbeat of another': async (t) => {
		await t.store.heartbeat(report({ id: 'old' }), HOUR)
		await t.advance(30 * MINUTE)
		await t.store.heartbeat(report({ id: 'young' }), HOUR)
		assert.equal((await t.store.relays()).length, 2)
		await t.advance(40 * MINUTE)
		await t.store.heartbeat(report({ id: 'new' }), HOUR)
		assert.deepEqual(await names(t), ['new', 'young'])
	},

	'removes one relay and keeps the others': async (t) => {
		await t.store.heartbeat(report({ id: 'r1' }), HOUR)
		await t.store.heartbeat(report({ id: 'r2' }), HOUR)
		await t.store.removeRelay('r1')
		await t.store.removeRelay('unknown')
		assert.deepEqual(await names(t), ['r2'])
	},

	'a relay that returns starts again': async (t) => {
		await t.store.heartbeat(report(), HOUR)
		await t.store.removeRelay('r1')
		await t.advance(5 * HOUR)
		await t.store.heartbeat(report(), HOUR)
		assertNear((await t.store.relays())[0]?.startedAt, await t.now(), 'startedAt')
	},

	'accepts unusual names': async ({ store }) => {
		const unusual = { id: 'r"1\'', host: 'höst,{}\\', destinations: ['a,b', '{"c"}', 'd"e', '🚚', ''] }
		await store.heartbeat(report(unusual), HOUR)
		assertFields(required((await store.relays())[0], 'the relay'), unusual)
	},
}

export const notifications: CaseTable = {
	'accepts a notification without listeners': async ({ store }) => {
		await store.notify()
		await store.notify()
	},

	'a listener is notified of a message that another store inserted': async (t) => {
		const other = await t.another()
		if (other === undefined) return
		let stop = async (): Promise<void> => undefined
		const notified = new Promise<void>((resolve, reject) => {
			t.store.listen(resolve, reject).then(async (unlisten) => {
				stop = unlisten
				await other.insert([t.row()])
				await other.notify()
			}, reject)
		})
		await notified
		await stop()
		await t.claimOne()
	},

	'listening can be stopped and started again': async ({ store }) => {
		const ignore = () => undefined
		const stop = await store.listen(ignore, ignore)
		await stop()
		await stop()
		await store.notify()
	},
}
