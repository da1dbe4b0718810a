/** Messages that wait are made due by hand. */
import assert from 'node:assert/strict'
import type { NewRow } from '../../store/rows.ts'
import { type CaseTable, HOUR, MANY, near, type StoreHarness } from '../harness/harness.ts'
import { retry } from '../harness/settlements.ts'

/** Messages that have failed once. */
const waiting = async (trial: StoreHarness, ...parts: readonly Partial<NewRow>[]): Promise<string[]> => {
	const ids = await trial.enqueue(...parts)
	await trial.settle((await trial.claim()).map((row) => retry(row, 50 * HOUR)))
	return ids
}

export const retryingNow: CaseTable = {
	'a message that was put off on purpose is due now only when it is named: a filter used to send it early':
		async (trial) => {
			const notBefore = (await trial.now()) + 50 * HOUR
			const [id] = await trial.enqueue({ notBefore, topic: 't' })
			assert.deepEqual(await trial.store.retryNow({}, MANY), [])
			assert.deepEqual(await trial.store.retryNow({ topic: 't' }, MANY), [])
			assert.deepEqual(await trial.store.retryNow({ ids: [id ?? ''] }, MANY), [id])
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
		await waiting(trial, {}, {}, {}, {}, {})
		assert.equal((await trial.store.retryNow({}, 2)).length, 2)
		assert.equal((await trial.claim()).length, 2)
	},

	'only what matches becomes due': async (trial) => {
		const [one] = await waiting(trial, { topic: 't' }, { topic: 'u' })
		assert.deepEqual(await trial.store.retryNow({ topic: 't' }, MANY), [one])
		assert.deepEqual(await trial.claimIds(), [one])
	},

	'an empty list of ids means none, and not all': async (trial) => {
		await waiting(trial, {})
		assert.deepEqual(await trial.store.retryNow({ ids: [] }, MANY), [])
		assert.deepEqual(await trial.claimIds(), [])
	},
}
