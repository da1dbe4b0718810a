/** Who has sent the head of a key asks for the next of that very key, wherever the claims of the destination have got to. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR } from '../harness/harness.ts'
import { dead, retry, sent } from '../harness/settlements.ts'

const of = (...keys: string[]) => ({ isOrdered: true, keys })

export const keys: CaseTable = {
	'only the first of each of the keys is given': async (trial) => {
		const [k1, , l1] = await trial.enqueue({ key: 'k' }, { key: 'k' }, { key: 'l' }, { key: 'm' }, {})
		assert.deepEqual((await trial.claimIds(of('l', 'k'))).sort(), [k1, l1].sort())
	},

	'they are given whatever the lower bound on the due time is': async (trial) => {
		const id = await trial.enqueueOne({ key: 'k' })
		const since = (await trial.now()) + HOUR
		assert.deepEqual(await trial.claimIds({ isOrdered: true, since }), [])
		assert.deepEqual(await trial.claimIds({ ...of('k'), since }), [id])
	},

	'the next of a key comes when the first was sent': async (trial) => {
		const ids = await trial.enqueue({ key: 'k' }, { key: 'k' }, { key: 'k' })
		const seen: string[] = []
		for (const _ of ids) {
			const row = await trial.claimOne(of('k'))
			seen.push(row.id)
			assert.deepEqual(await trial.claimIds(of('k')), [])
			await trial.settle([sent(row)])
		}
		assert.deepEqual(seen, ids)
	},

	'a first that is not due yet gives nothing for its key': async (trial) => {
		await trial.enqueue({ key: 'k' }, { key: 'k' })
		await trial.settle([retry(await trial.claimOne(of('k')), HOUR)])
		assert.deepEqual(await trial.claimIds(of('k')), [])
	},

	'a first that is a dead letter and blocks gives nothing for its key': async (trial) => {
		await trial.enqueue({ key: 'k' }, { key: 'k' })
		await trial.settle([dead(await trial.claimOne(of('k')), { afterDeadLetter: 'block' })])
		assert.deepEqual(await trial.claimIds(of('k')), [])
	},

	'keys that nobody uses give nothing, nor do no keys at all': async (trial) => {
		await trial.enqueue({ key: 'k' }, {})
		assert.deepEqual(await trial.claimIds(of('x', 'y')), [])
		assert.deepEqual(await trial.claimIds(of()), [])
	},

	'a key of another destination is not meant': async (trial) => {
		await trial.enqueueOne({ key: 'k', destination: 'b' })
		assert.deepEqual(await trial.claimIds(of('k')), [])
	},

	'the limit holds': async (trial) => {
		await trial.enqueue({ key: 'k' }, { key: 'l' }, { key: 'm' })
		assert.equal((await trial.claim({ ...of('k', 'l', 'm'), limit: 2 })).length, 2)
	},

	'a key that is named twice is given once': async (trial) => {
		const id = await trial.enqueueOne({ key: 'k' })
		const row = await trial.claimOne(of('k', 'k'))
		assert.deepEqual([row.id, row.attempt], [id, 1])
	},

	'a shut gate is shut to them as well': async (trial) => {
		await trial.enqueueOne({ key: 'k' })
		await trial.store.pause('a', HOUR, 'retry-after')
		assert.deepEqual(await trial.claimIds(of('k')), [])
	},
}
