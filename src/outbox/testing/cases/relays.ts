/** Who is alive. */
import assert from 'node:assert/strict'
import type { RelayReport } from '../../store/rows.ts'
import { type CaseTable, HOUR, MINUTE, near, the } from '../harness/harness.ts'

const report = (part: Partial<RelayReport> = {}): RelayReport => ({
	id: 'r1',
	host: 'box',
	pid: 4_321,
	destinations: ['a', 'b'],
	inFlight: 3,
	sent: 100,
	failed: 2,
	dead: 1,
	throughput: 12.5,
	...part,
})

export const relays: CaseTable = {
	'nobody is alive at first': async ({ store }) => {
		assert.deepEqual(await store.relays(), [])
	},

	'a relay that told so is alive, with all it told and when': async (trial) => {
		const now = await trial.now()
		await trial.store.heartbeat(report(), HOUR)
		const rows = await trial.store.relays()
		assert.equal(rows.length, 1)
		const { startedAt, seenAt, ...told } = the(rows[0], 'the relay')
		assert.deepEqual(told, report())
		near(startedAt, now, 'startedAt')
		near(seenAt, now, 'seenAt')
	},

	'the latest word counts, and the start stays': async (trial) => {
		await trial.store.heartbeat(report(), 9 * HOUR)
		const [first] = await trial.store.relays()
		await trial.advance(2 * HOUR)
		const later = report({ sent: 5_000_000_000, inFlight: 0, throughput: 0, destinations: [] })
		await trial.store.heartbeat(later, 9 * HOUR)
		const [row, ...others] = await trial.store.relays()
		assert.deepEqual(others, [])
		const { startedAt, seenAt, ...told } = the(row, 'the relay')
		assert.deepEqual(told, later)
		assert.equal(startedAt, first?.startedAt)
		near(seenAt, startedAt + 2 * HOUR, 'seenAt')
	},

	'who was not heard of for long is forgotten at the next word of another': async (trial) => {
		await trial.store.heartbeat(report({ id: 'old' }), HOUR)
		await trial.advance(30 * MINUTE)
		await trial.store.heartbeat(report({ id: 'young' }), HOUR)
		assert.equal((await trial.store.relays()).length, 2)
		await trial.advance(40 * MINUTE)
		await trial.store.heartbeat(report({ id: 'new' }), HOUR)
		const ids = (await trial.store.relays()).map((row) => row.id)
		assert.deepEqual(ids.sort(), ['new', 'young'])
	},

	'who leaves is gone, and the others stay': async ({ store }) => {
		await store.heartbeat(report({ id: 'r1' }), HOUR)
		await store.heartbeat(report({ id: 'r2' }), HOUR)
		await store.removeRelay('r1')
		await store.removeRelay('nobody')
		assert.deepEqual(
			(await store.relays()).map((row) => row.id),
			['r2'],
		)
	},

	'who comes again has started again': async (trial) => {
		await trial.store.heartbeat(report(), HOUR)
		await trial.store.removeRelay('r1')
		await trial.advance(5 * HOUR)
		await trial.store.heartbeat(report(), HOUR)
		near((await trial.store.relays())[0]?.startedAt, await trial.now(), 'startedAt')
	},

	'names with odd characters are kept': async ({ store }) => {
		const odd = report({ id: 'r"1\'', host: 'höst,{}\\', destinations: ['a,b', '{"c"}', 'd"e', '🚚', ''] })
		await store.heartbeat(odd, HOUR)
		const [row] = await store.relays()
		assert.deepEqual([row?.id, row?.host, row?.destinations], [odd.id, odd.host, odd.destinations])
	},
}
