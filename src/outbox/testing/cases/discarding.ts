/** Dead letters are taken away for good. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MANY, MINUTE, sorted } from '../harness/harness.ts'

export const discarding: CaseTable = {
	'a discarded letter is gone': async (trial) => {
		const id = await trial.bury()
		assert.deepEqual(await trial.store.discard({}, MANY, false), [id])
		assert.equal(await trial.store.find(id), undefined)
		assert.deepEqual(await trial.store.list({}, MANY), [])
		assert.deepEqual(await trial.store.replay({}, MANY), [])
	},

	'with a history it is still known, and dead no more': async (trial) => {
		const id = await trial.bury({ payload: '["kept"]' }, { cause: 'expired' })
		assert.deepEqual(await trial.store.discard({}, MANY, true), [id])
		const found = await trial.find(id)
		assert.deepEqual([found.payload, found.attempts, found.cause], ['["kept"]', 1, 'expired'])
		assert.equal((await trial.store.countDead({}, MANY)).count, 0)
		assert.deepEqual(await trial.store.list({}, MANY), [])
		assert.deepEqual(await trial.store.replay({ ids: [id] }, MANY), [])
		assert.deepEqual(await trial.store.discard({ ids: [id] }, MANY, false), [])
	},

	'what was discarded was never sent, and no list says so': async (trial) => {
		const id = await trial.bury()
		await trial.store.discard({}, MANY, true)
		assert.notEqual((await trial.find(id)).status, 'sent')
		for (const status of ['pending', 'processing', 'sent', 'dead'] as const)
			assert.deepEqual(await trial.store.list({ status }, MANY), [], status)
	},

	'another status than that of the dead means none of them': async (trial) => {
		await trial.bury()
		for (const status of ['pending', 'processing', 'sent'] as const) {
			assert.deepEqual(await trial.store.discard({ status }, MANY, false), [])
			assert.deepEqual(await trial.store.replay({ status }, MANY), [])
			assert.equal((await trial.store.countDead({ status }, MANY)).count, 0)
			assert.deepEqual(await trial.store.deadGroups({ status }, MANY), [])
		}
		assert.equal((await trial.store.countDead({ status: 'dead' }, MANY)).count, 1)
		assert.equal((await trial.store.discard({ status: 'dead' }, MANY, false)).length, 1)
	},

	'the oldest go first, and not more than asked for': async (trial) => {
		const ids: string[] = []
		for (let n = 0; n < 4; n++) {
			ids.push(await trial.bury())
			await trial.advance(MINUTE)
		}
		assert.deepEqual(sorted(await trial.store.discard({}, 3, false)), sorted(ids.slice(0, 3)))
		assert.deepEqual(await trial.store.discard({}, 3, true), ids.slice(3))
	},

	'only what matches is discarded': async (trial) => {
		const id = await trial.bury({ topic: 't' })
		const other = await trial.bury({ topic: 'u' })
		assert.deepEqual(await trial.store.discard({ topic: 't' }, MANY, false), [id])
		assert.equal((await trial.find(other)).status, 'dead')
	},

	'an empty list of ids means none, and not all': async (trial) => {
		await trial.bury()
		assert.deepEqual(await trial.store.discard({ ids: [] }, MANY, false), [])
		assert.equal((await trial.store.countDead({}, MANY)).count, 1)
	},

	'what is no dead letter is left alone': async (trial) => {
		const waiting = await trial.enqueueOne({ notBefore: (await trial.now()) + HOUR })
		const flying = await trial.enqueueOne()
		await trial.claimOne()
		assert.deepEqual(await trial.store.discard({ ids: [waiting, flying, trial.id()] }, MANY, false), [])
		assert.deepEqual(await trial.store.discard({}, MANY, false), [])
		assert.equal((await trial.find(waiting)).status, 'pending')
		assert.equal((await trial.find(flying)).status, 'processing')
	},
}
