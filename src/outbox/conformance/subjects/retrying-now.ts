/** Messages that wait are made due by hand. */
import assert from 'node:assert/strict'
import { retry } from '../outcomes.ts'
import { HOUR, MANY, near, type Subject, type Trial } from '../trial.ts'

const waiting = async (trial: Trial, count = 1): Promise<string[]> => {
	const notBefore = (await trial.now()) + 50 * HOUR
	return trial.enqueue(...Array.from({ length: count }, () => ({ notBefore })))
}

export const retryingNow: Subject = {
	'a message that waits for its time is due now': async (trial) => {
		const [id] = await waiting(trial)
		assert.deepEqual(await trial.store.retryNow({}, MANY), [id])
		near((await trial.find(id ?? '')).dueAt, await trial.now(), 'dueAt')
		assert.deepEqual(await trial.claimIds(), [id])
	},

	'a message that waits for a retry is due now, with the attempts that it had': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.settle([retry(await trial.claimOne(), 9 * HOUR)])
		assert.deepEqual(await trial.store.retryNow({ ids: [id] }, MANY), [id])
		assert.equal((await trial.claimOne()).attempt, 2)
	},

	'what is in flight is left alone': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.claimOne()
		const before = await trial.find(id)
		assert.deepEqual(await trial.store.retryNow({ ids: [id] }, MANY), [])
		assert.deepEqual(await trial.find(id), before)
	},

	'dead letters are left alone': async (trial) => {
		const id = await trial.bury()
		assert.deepEqual(await trial.store.retryNow({ ids: [id] }, MANY), [])
		assert.equal((await trial.find(id)).status, 'dead')
	},

	'not more than asked for become due': async (trial) => {
		await waiting(trial, 5)
		assert.equal((await trial.store.retryNow({}, 2)).length, 2)
		assert.equal((await trial.claim()).length, 2)
	},

	'only what matches becomes due': async (trial) => {
		const notBefore = (await trial.now()) + HOUR
		const [one] = await trial.enqueue({ notBefore, topic: 't' }, { notBefore, topic: 'u' })
		assert.deepEqual(await trial.store.retryNow({ topic: 't' }, MANY), [one])
		assert.deepEqual(await trial.claimIds(), [one])
	},

	'an empty list of ids means none, and not all': async (trial) => {
		await waiting(trial)
		assert.deepEqual(await trial.store.retryNow({ ids: [] }, MANY), [])
		assert.deepEqual(await trial.claimIds(), [])
	},
}
