/** Ordered destinations: the message that another one of its key waits for. */
import assert from 'node:assert/strict'
import { assertFields, HOUR, required } from '../../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../../harness/harness.ts'
import { dead, release, retry } from '../../harness/settlements.ts'

const ORDERED = { isOrdered: true }

const k = { key: 'k' }

const expectPredecessor = async (t: StoreHarness, id: string, first: string | undefined): Promise<void> =>
	assert.equal((await t.store.findPredecessor(id))?.id, first)

export const predecessors: CaseTable = {
	'returns the first queued message of the key as predecessor, and none for the first': async (t) => {
		const [first, second, third] = await t.enqueue(k, k, k)
		await expectPredecessor(t, first, undefined)
		await expectPredecessor(t, second, first)
		await expectPredecessor(t, third, first)
		await t.send(first, ORDERED)
		await expectPredecessor(t, third, second)
	},

	'returns the predecessor with its state: in flight or scheduled for a retry': async (t) => {
		const [, second] = await t.enqueue(k, k)
		const row = await t.claimOne(ORDERED)
		const inFlight = required(await t.store.findPredecessor(second), 'the predecessor')
		assertFields(inFlight, { status: 'processing', lockedBy: 'r1', blocks: false })
		await t.settle([retry(row, HOUR)])
		assert.deepEqual(await t.store.findPredecessor(second), await t.find(row.id))
	},

	'returns the blocking dead letter as predecessor of all later messages': async (t) => {
		const [first, second, third] = await t.enqueue(k, k, k)
		await t.deadLetterHead('block')
		await expectPredecessor(t, second, first)
		assert.deepEqual(await t.store.findPredecessor(third), await t.find(first))
		await t.expectMessage(first, { status: 'dead', blocks: true })
		await t.discard(k, MANY, false)
		await expectPredecessor(t, third, second)
	},

	'ignores a dead letter that does not block': async (t) => {
		const [first, second] = await t.enqueue(k, k)
		await t.deadLetterHead('skip')
		await expectPredecessor(t, second, undefined)
		await t.expectMessage(first, { blocks: false })
	},

	'returns a dead follower as predecessor of later messages': async (t) => {
		const [first, second] = await t.enqueue(k, k)
		await t.deadLetterHead('dead-letter-rest')
		await expectPredecessor(t, await t.enqueueOne(k), first)
		await t.expectMessage(second, { blocks: true })
	},

	'a dead letter precedes only later messages, and none after its replay': async (t) => {
		const [first, second] = await t.enqueue(k, k)
		const [one, two] = await t.claimMany(2)
		await t.settle([release(one), dead(two, { afterDeadLetter: 'block' })])
		await expectPredecessor(t, first, undefined)
		await t.replay({}, MANY)
		await t.expectMessage(second, { blocks: false })
		await expectPredecessor(t, second, first)
	},

	'ignores other keys, other destinations and messages without a key': async (t) => {
		const [, , ...ids] = await t.enqueue(k, {}, { key: 'l' }, { ...k, destination: 'b' }, {})
		for (const id of ids) await expectPredecessor(t, id, undefined)
	},

	'returns no predecessor for a message that is not queued': async (t) => {
		await t.enqueueOne(k)
		await expectPredecessor(t, await t.addDeadLetter(k), undefined)
		await expectPredecessor(t, t.id(), undefined)
	},
}
