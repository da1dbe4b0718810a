/** What a message waits for where order is kept, for whoever asks why it was not sent. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MANY, type StoreHarness, the } from '../harness/harness.ts'
import { dead, release, retry, sent } from '../harness/settlements.ts'

const ORDERED = { isOrdered: true }
const k = { key: 'k' }

const aheadOf = async (trial: StoreHarness, id: string | undefined): Promise<string | undefined> =>
	(await trial.store.findPredecessor(the(id, 'an id')))?.id

export const ahead: CaseTable = {
	'the first of a key has nothing ahead, and the others have the first': async (trial) => {
		const [first, second, third] = await trial.enqueue(k, k, k)
		assert.equal(await aheadOf(trial, first), undefined)
		assert.equal(await aheadOf(trial, second), first)
		assert.equal(await aheadOf(trial, third), first)
		await trial.settle([sent(await trial.claimOne(ORDERED))])
		assert.equal(await aheadOf(trial, third), second)
	},

	'it is told with how it stands: in flight, or waiting for its retry': async (trial) => {
		const [, second] = await trial.enqueue(k, k)
		const row = await trial.claimOne(ORDERED)
		const flying = the(await trial.store.findPredecessor(second ?? ''), 'what is ahead')
		assert.deepEqual([flying.status, flying.lockedBy, flying.blocks], ['processing', 'r1', false])
		await trial.settle([retry(row, HOUR)])
		assert.deepEqual(await trial.store.findPredecessor(second ?? ''), await trial.find(row.id))
	},

	'a dead letter that blocks is what all behind it wait for': async (trial) => {
		const [first, second, third] = await trial.enqueue(k, k, k)
		await trial.settle([dead(await trial.claimOne(ORDERED), { afterDeadLetter: 'block' })])
		assert.equal(await aheadOf(trial, second), first)
		const letter = the(await trial.store.findPredecessor(third ?? ''), 'what is ahead')
		assert.deepEqual([letter.id, letter.status, letter.blocks], [first, 'dead', true])
		assert.deepEqual(letter, await trial.find(first ?? ''))
		await trial.store.discard({ key: 'k' }, MANY, false)
		assert.equal(await aheadOf(trial, third), second)
	},

	'a dead letter that holds nobody up is not ahead': async (trial) => {
		const [first, second] = await trial.enqueue(k, k)
		await trial.settle([dead(await trial.claimOne(ORDERED), { afterDeadLetter: 'skip' })])
		assert.equal(await aheadOf(trial, second), undefined)
		assert.equal((await trial.find(first ?? '')).blocks, false)
	},

	'what was parked blocks those that come later': async (trial) => {
		const [first, second] = await trial.enqueue(k, k)
		await trial.settle([dead(await trial.claimOne(ORDERED), { afterDeadLetter: 'dead-letter-rest' })])
		const late = await trial.enqueueOne(k)
		assert.equal(await aheadOf(trial, late), first)
		assert.equal((await trial.find(second ?? '')).blocks, true)
	},

	'a dead letter holds up only those behind it, and blocks nobody once it was replayed': async (trial) => {
		const [first, second] = await trial.enqueue(k, k)
		const [one, two] = await trial.claim()
		assert.ok(one && two)
		await trial.settle([release(one), dead(two, { afterDeadLetter: 'block' })])
		assert.equal(await aheadOf(trial, first), undefined)
		await trial.store.replay({}, MANY)
		assert.equal((await trial.find(second ?? '')).blocks, false)
		assert.equal(await aheadOf(trial, second), first)
	},

	'other keys, other destinations, and messages without a key have nothing to do with it': async (trial) => {
		await trial.enqueue(k, {})
		const ids = await trial.enqueue({ key: 'l' }, { ...k, destination: 'b' }, {})
		for (const id of ids) assert.equal(await aheadOf(trial, id), undefined)
	},

	'nothing is ahead of what is not in the queue': async (trial) => {
		await trial.enqueueOne(k)
		const letter = await trial.bury(k)
		assert.equal(await aheadOf(trial, letter), undefined)
		assert.equal(await aheadOf(trial, trial.id()), undefined)
	},
}
