/** The history of sent messages, and discarding dead letters. */
import assert from 'node:assert/strict'
import { assertFields, assertNear, HOUR, sorted } from '../../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../../harness/harness.ts'
import { sent } from '../../harness/settlements.ts'
import { deadLetterMoves } from './dead-letters.ts'

const send = async (t: StoreHarness, count: number): Promise<string[]> => {
	const ids = await t.enqueueMany(count)
	await t.settle((await t.claim({ limit: MANY })).map(sent), true)
	return ids
}

export const history: CaseTable = {
	'keeps a sent message with all its fields': async (t) => {
		const part = { topic: 't', key: 'k', payload: '[3]', headers: '{"h":"1"}', dedupeKey: 'd', maxRetries: 5 }
		const id = await t.enqueueOne(part)
		const { createdAt, destination } = await t.find(id)
		await t.fail(0)
		await t.settle([sent(await t.claimOne())], true)
		const found = await t.find(id)
		assertFields(found, { ...part, createdAt, destination })
		assertFields(found, { status: 'sent', attempts: 2, cause: null, lockedBy: null, leaseUntil: null })
		assertNear(found.endedAt, await t.now(), 'endedAt')
	},

	'keeps messages only if requested': async (t) => {
		await t.enqueue({}, {})
		const [one, two] = await t.claimMany(2)
		await t.settle([sent(one)], true)
		await t.settle([sent(two)], false)
		assert.deepEqual(await t.list({ status: 'sent' }), [one.id])
		await t.expectGone(two.id)
	},

	'is not part of the queue': async (t) => {
		await send(t, 3)
		await t.advance(9 * HOUR)
		await t.expectClaim([])
		assert.deepEqual(await t.list(), [])
		assert.deepEqual((await t.store.dueDestinations(MANY)).names, [])
		assert.deepEqual(await t.replay({}, MANY), [])
		assert.equal(await t.countDead(), 0)
	},

	'drops rows older than the limit and keeps the rest': async (t) => {
		const old = await send(t, 2)
		await t.advance(2 * HOUR)
		const young = await send(t, 3)
		assert.equal(await t.store.dropHistory(5 * HOUR, MANY), 0)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 2)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 0)
		await t.expectGone(...old)
		assert.deepEqual(sorted(await t.list({ status: 'sent' })), young)
	},

	'counts the age from sending, not from enqueuing': async (t) => {
		const id = await t.enqueueOne()
		await t.advance(9 * HOUR)
		await t.settle([sent(await t.claimOne())], true)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 0)
		await t.expectStatus('sent', [id])
	},

	'drops the oldest first, at most limit': async (t) => {
		const ids: string[] = []
		for (let n = 0; n < 5; n++) {
			ids.push(...(await send(t, 1)))
			await t.advance(HOUR)
		}
		assert.equal(await t.store.dropHistory(HOUR / 2, 2), 2)
		assert.deepEqual(await t.list({ status: 'sent' }), ids.slice(2))
	},

	'drops discarded messages too': async (t) => {
		const id = await t.addDeadLetter()
		await t.discard({}, MANY, true)
		await t.advance(2 * HOUR)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 1)
		await t.expectGone(id)
	},

	'drops neither queued nor dead messages': async (t) => {
		const [scheduled, dead] = [await t.enqueueOne({ destination: 'b' }), await t.addDeadLetter()]
		await t.advance(99 * HOUR)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 0)
		await t.expectStatus('pending', [scheduled])
		await t.expectStatus('dead', [dead])
	},
}

export const discard: CaseTable = {
	// Some with history and some without.
	...deadLetterMoves('discards', (t, filter, limit) => t.discard(filter, limit, limit === MANY)),

	'removes the dead letter': async (t) => {
		const id = await t.addDeadLetter()
		assert.deepEqual(await t.discard({}, MANY, false), [id])
		await t.expectGone(id)
		assert.deepEqual(await t.list(), [])
		assert.deepEqual(await t.replay({}, MANY), [])
	},

	'keeps the message in the history if requested, no longer listed as dead': async (t) => {
		const id = await t.addDeadLetter({ payload: '["kept"]' }, { cause: 'expired' })
		assert.deepEqual(await t.discard({}, MANY, true), [id])
		await t.expectMessage(id, { payload: '["kept"]', attempts: 1, cause: 'expired' })
		assert.equal(await t.countDead(), 0)
		assert.deepEqual(await t.list(), [])
		assert.deepEqual(await t.replay({ ids: [id] }, MANY), [])
		assert.deepEqual(await t.discard({ ids: [id] }, MANY, false), [])
	},

	'never lists a discarded message as sent': async (t) => {
		const id = await t.addDeadLetter()
		await t.discard({}, MANY, true)
		assert.notEqual((await t.find(id)).status, 'sent')
		await t.expectCounts({ pending: 0, processing: 0, sent: 0, dead: 0 })
	},

	'matches nothing with another status than dead': async (t) => {
		await t.addDeadLetter()
		for (const status of ['pending', 'processing', 'sent'] as const) {
			assert.deepEqual(await t.discard({ status }, MANY, false), [])
			assert.deepEqual(await t.replay({ status }, MANY), [])
			assert.equal(await t.countDead({ status }), 0)
			assert.deepEqual(await t.store.deadGroups({ status }, MANY), [])
		}
		assert.equal(await t.countDead({ status: 'dead' }), 1)
		assert.equal((await t.discard({ status: 'dead' }, MANY, false)).length, 1)
	},
}
