/** What was sent is kept where somebody asked for it, and dropped when its time is over. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, idsOf, MANY, near, type StoreHarness } from '../harness/harness.ts'
import { retry, sent } from '../harness/settlements.ts'

const send = async (trial: StoreHarness, count: number): Promise<string[]> => {
	const ids = await trial.enqueue(...Array.from({ length: count }, () => ({})))
	await trial.settle((await trial.claim({ limit: MANY })).map(sent), true)
	return ids
}

export const history: CaseTable = {
	'a message that was sent is kept with all that it had': async (trial) => {
		const part = { topic: 't', key: 'k', payload: '[3]', headers: '{"h":"1"}', dedupeKey: 'd', maxRetries: 5 }
		const id = await trial.enqueueOne(part)
		const before = await trial.find(id)
		await trial.settle([retry(await trial.claimOne(), 0)])
		const row = await trial.claimOne()
		const now = await trial.now()
		await trial.settle([sent(row)], true)
		const found = await trial.find(id)
		assert.deepEqual([found.status, found.attempts, found.cause], ['sent', 2, null])
		for (const name of [
			'topic',
			'destination',
			'key',
			'payload',
			'headers',
			'dedupeKey',
			'createdAt',
		] as const)
			assert.deepEqual(found[name], before[name], name)
		assert.deepEqual([found.lockedBy, found.leaseUntil], [null, null])
		near(found.endedAt, now, 'endedAt')
	},

	'only what is to be kept is kept': async (trial) => {
		await trial.enqueue({}, {})
		const [one, two] = await trial.claim()
		assert.ok(one && two)
		await trial.settle([sent(one)], true)
		await trial.settle([sent(two)], false)
		assert.deepEqual(idsOf(await trial.store.list({ status: 'sent' }, MANY)), [one.id])
		assert.equal(await trial.store.find(two.id), undefined)
	},

	'the history is no part of the queue': async (trial) => {
		await send(trial, 3)
		await trial.advance(9 * HOUR)
		assert.deepEqual(await trial.claimIds(), [])
		assert.deepEqual(await trial.store.list({}, MANY), [])
		assert.deepEqual((await trial.store.dueDestinations(MANY)).names, [])
		assert.deepEqual(await trial.store.replay({}, MANY), [])
		assert.equal((await trial.store.countDead({}, MANY)).count, 0)
	},

	'what is older than its time is dropped, and the rest stays': async (trial) => {
		const old = await send(trial, 2)
		await trial.advance(2 * HOUR)
		const young = await send(trial, 3)
		assert.equal(await trial.store.dropHistory(5 * HOUR, MANY), 0)
		assert.equal(await trial.store.dropHistory(HOUR, MANY), 2)
		assert.equal(await trial.store.dropHistory(HOUR, MANY), 0)
		for (const id of old) assert.equal(await trial.store.find(id), undefined)
		assert.deepEqual(idsOf(await trial.store.list({ status: 'sent' }, MANY)).sort(), young.sort())
	},

	'its age counts from when it was sent and not from when it was enqueued': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.advance(9 * HOUR)
		await trial.settle([sent(await trial.claimOne())], true)
		assert.equal(await trial.store.dropHistory(HOUR, MANY), 0)
		assert.equal((await trial.find(id)).status, 'sent')
	},

	'the oldest go first, and not more than asked for': async (trial) => {
		const ids: string[] = []
		for (let n = 0; n < 5; n++) {
			ids.push(...(await send(trial, 1)))
			await trial.advance(HOUR)
		}
		assert.equal(await trial.store.dropHistory(HOUR / 2, 2), 2)
		assert.deepEqual(idsOf(await trial.store.list({ status: 'sent' }, MANY)), ids.slice(2))
	},

	'discarded letters are dropped with it': async (trial) => {
		const id = await trial.bury()
		await trial.store.discard({}, MANY, true)
		await trial.advance(2 * HOUR)
		assert.equal(await trial.store.dropHistory(HOUR, MANY), 1)
		assert.equal(await trial.store.find(id), undefined)
	},

	'neither the queue nor the dead are dropped': async (trial) => {
		const [waiting, dead] = [await trial.enqueueOne({ destination: 'b' }), await trial.bury()]
		await trial.advance(99 * HOUR)
		assert.equal(await trial.store.dropHistory(HOUR, MANY), 0)
		assert.equal((await trial.find(waiting)).status, 'pending')
		assert.equal((await trial.find(dead)).status, 'dead')
	},
}
