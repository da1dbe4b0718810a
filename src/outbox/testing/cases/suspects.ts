/** A message that kills the processes that work on it is kept apart from the others, so that it takes none of them along. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MINUTE, type StoreHarness } from '../harness/harness.ts'
import { release, retry, sent } from '../harness/settlements.ts'

const AFTER_3 = { poisonAfter: 3 }

/** Claims everything so many times with relays that die. */
const crash = async (trial: StoreHarness, times: number): Promise<void> => {
	for (let n = 0; n < times; n++) {
		await trial.claim({ leaseMs: MINUTE })
		await trial.advance(MINUTE + 1)
	}
}

export const suspects: CaseTable = {
	'with too few deaths a message is no suspect': async (trial) => {
		const id = await trial.enqueueOne()
		await crash(trial, 2)
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, poisonCandidates: true }), [])
		const row = await trial.claimOne({ ...AFTER_3, poisonCandidates: false })
		assert.deepEqual([row.id, row.crashes], [id, 2])
	},

	'the death that a claim discovers counts already': async (trial) => {
		const id = await trial.enqueueOne()
		await crash(trial, 3)
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, poisonCandidates: false }), [])
		const row = await trial.claimOne({ ...AFTER_3, poisonCandidates: true })
		assert.deepEqual([row.id, row.crashes, row.attempt], [id, 3, 4])
	},

	'one death is enough where one is too many': async (trial) => {
		const id = await trial.enqueueOne()
		await crash(trial, 1)
		assert.deepEqual(await trial.claimIds({ poisonAfter: 1 }), [])
		assert.deepEqual(await trial.claimIds({ poisonAfter: 1, poisonCandidates: true }), [id])
	},

	'a claim of suspects gives nothing else, and other claims everything else': async (trial) => {
		const suspect = await trial.enqueueOne()
		await crash(trial, 3)
		const healthy = await trial.enqueue({}, {})
		assert.deepEqual(await trial.claimIds({ ...AFTER_3 }), healthy)
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, poisonCandidates: true }), [suspect])
	},

	'suspects at the head of the queue leave the places of a batch to others': async (trial) => {
		await trial.enqueue({}, {}, {})
		await crash(trial, 3)
		const healthy = await trial.enqueue({}, {})
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, limit: 2 }), healthy)
	},

	'a suspect that somebody works on is not given again': async (trial) => {
		await trial.enqueueOne()
		await crash(trial, 3)
		await trial.claimOne({ ...AFTER_3, poisonCandidates: true })
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, poisonCandidates: true, owner: 'r2' }), [])
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, owner: 'r2' }), [])
	},

	'suspects come in their order and not more than asked for': async (trial) => {
		const ids = await trial.enqueue({}, {}, {})
		await crash(trial, 3)
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, poisonCandidates: true, limit: 1 }), ids.slice(0, 1))
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, poisonCandidates: true, limit: 5 }), ids.slice(1))
	},

	'suspects of other destinations are not given': async (trial) => {
		await trial.enqueueOne()
		await crash(trial, 3)
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, poisonCandidates: true, destination: 'b' }), [])
	},

	'a suspect that was given back stays one': async (trial) => {
		const id = await trial.enqueueOne()
		await crash(trial, 3)
		await trial.settle([release(await trial.claimOne({ ...AFTER_3, poisonCandidates: true }))])
		assert.deepEqual(await trial.claimIds({ ...AFTER_3 }), [])
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, poisonCandidates: true }), [id])
	},

	'a suspect that failed without killing anybody is one no more': async (trial) => {
		const id = await trial.enqueueOne()
		await crash(trial, 3)
		await trial.settle([retry(await trial.claimOne({ ...AFTER_3, poisonCandidates: true }), MINUTE)])
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds({ ...AFTER_3, poisonCandidates: true }), [])
		const row = await trial.claimOne({ ...AFTER_3 })
		assert.deepEqual([row.id, row.crashes], [id, 0])
	},

	'a suspect may be sent like any other': async (trial) => {
		const id = await trial.enqueueOne()
		await crash(trial, 3)
		await trial.settle([sent(await trial.claimOne({ ...AFTER_3, poisonCandidates: true }))])
		assert.equal(await trial.store.find(id), undefined)
	},

	'a suspect at the head of a key holds those behind it, and is given to who asks for suspects': async (
		trial,
	) => {
		const ordered = { ...AFTER_3, isOrdered: true }
		const [head] = await trial.enqueue({ key: 'k' }, { key: 'k' })
		for (let n = 0; n < 3; n++) {
			assert.deepEqual(await trial.claimIds({ ...ordered, leaseMs: MINUTE }), [head])
			await trial.advance(MINUTE + 1)
		}
		assert.deepEqual(await trial.claimIds(ordered), [])
		assert.deepEqual(await trial.claimIds({ ...ordered, poisonCandidates: true }), [head])
	},
}
