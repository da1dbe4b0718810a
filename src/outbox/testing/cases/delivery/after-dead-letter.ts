/** The effect of a dead letter on later messages of its key: skip, block or dead-letter-rest. */
import assert from 'node:assert/strict'
import type { AfterDeadLetter } from '../../../store/rows.ts'
import { type CaseTable, HOUR, MANY, type StoreHarness } from '../../harness/harness.ts'
import { dead, release, sent } from '../../harness/settlements.ts'

const ORDERED = { isOrdered: true }
const k = { key: 'k' }

/** Enqueues three messages of a key and dead-letters the first. */
const threeWithDeadHead = async (t: StoreHarness, afterDeadLetter: AfterDeadLetter): Promise<string[]> => {
	const ids = await t.enqueue(k, k, k)
	await t.settle([dead(await t.claimOne(ORDERED), { afterDeadLetter })])
	return ids
}

export const afterDeadLetter: CaseTable = {
	'skip: later messages are sent': async (t) => {
		const [, second, third] = await threeWithDeadHead(t, 'skip')
		const row = await t.claimOne(ORDERED)
		assert.equal(row.id, second)
		await t.settle([sent(row)])
		assert.deepEqual(await t.claimIds(ORDERED), [third])
	},

	'skip: a replayed message returns to its position': async (t) => {
		const [first, second] = await threeWithDeadHead(t, 'skip')
		await t.store.replay({}, MANY)
		const row = await t.claimOne(ORDERED)
		assert.equal(row.id, first)
		await t.settle([sent(row)])
		assert.deepEqual(await t.claimIds(ORDERED), [second])
	},

	'block: later messages wait, including new ones': async (t) => {
		await threeWithDeadHead(t, 'block')
		await t.enqueueOne(k)
		await t.advance(100 * HOUR)
		assert.deepEqual(await t.claimIds(ORDERED), [])
		assert.equal((await t.store.list({ status: 'pending' }, MANY)).length, 3)
	},

	'block: a message enqueued when none is left waits': async (t) => {
		await t.enqueueOne(k)
		await t.deadLetterHead('block')
		await t.enqueueOne(k)
		assert.deepEqual(await t.claimIds(ORDERED), [])
	},

	'block: other keys, other destinations and messages without a key are sent': async (t) => {
		await threeWithDeadHead(t, 'block')
		const [other, free] = await t.enqueue({ key: 'l' }, {})
		const away = await t.enqueueOne({ ...k, destination: 'b' })
		assert.deepEqual(await t.claimIds(ORDERED), [other, free])
		assert.deepEqual(await t.claimIds({ ...ORDERED, destination: 'b' }), [away])
	},

	'block: a dead letter blocks only later messages': async (t) => {
		const [first] = await threeWithDeadHead(t, 'skip')
		await t.deadLetterHead('block')
		assert.deepEqual(await t.claimIds(ORDERED), [])
		await t.store.replay({ ids: [first ?? ''] }, 1)
		assert.deepEqual(await t.claimIds(ORDERED), [first])
	},

	'block: a replayed message comes first, then the others': async (t) => {
		const ids = await threeWithDeadHead(t, 'block')
		await t.store.replay({ key: 'k' }, MANY)
		assert.deepEqual(await t.sendInOrder(ids.length), ids)
	},

	'block: discarding releases the others, with and without history': async (t) => {
		const [, second] = await threeWithDeadHead(t, 'block')
		await t.store.discard({ key: 'k' }, MANY, true)
		const row = await t.claimOne(ORDERED)
		assert.equal(row.id, second)
		await t.settle([dead(row, { afterDeadLetter: 'block' })])
		assert.deepEqual(await t.claimIds(ORDERED), [])
		await t.store.discard({ key: 'k' }, MANY, false)
		assert.equal((await t.claim(ORDERED)).length, 1)
	},

	'block: a dead letter without a key blocks nothing': async (t) => {
		const [, second] = await t.enqueue({}, {})
		const [first, other] = await t.claimMany(2, ORDERED)
		await t.settle([dead(first, { afterDeadLetter: 'block' }), sent(other)])
		assert.equal(other.id, second)
		const id = await t.enqueueOne(k)
		assert.deepEqual(await t.claimIds(ORDERED), [id])
	},

	'block: an unordered target ignores it': async (t) => {
		const [, second, third] = await threeWithDeadHead(t, 'block')
		assert.deepEqual(await t.claimIds(), [second, third])
	},

	'dead-letter-rest: later messages become dead letters with their own cause': async (t) => {
		const [first, second, third] = await threeWithDeadHead(t, 'dead-letter-rest')
		assert.deepEqual(await t.claimIds(ORDERED), [])
		const letters = await t.store.list({ status: 'dead' }, MANY)
		assert.deepEqual(letters.map((letter) => [letter.id, letter.cause]).sort(), [
			[first, 'permanent'],
			[second, 'predecessor-dead'],
			[third, 'predecessor-dead'],
		])
		assert.deepEqual(await t.store.list({ status: 'pending' }, MANY), [])
	},

	'dead-letter-rest: followers have no attempts and keep all fields': async (t) => {
		const now = await t.now()
		const part = {
			...k,
			payload: '["x"]',
			headers: '{"h":"1"}',
			dedupeKey: 'd',
			maxRetries: 2,
			expiresAt: now + HOUR,
		}
		await t.enqueueOne(k)
		const id = await t.enqueueOne(part)
		const before = await t.find(id)
		await t.deadLetterHead('dead-letter-rest')
		const found = await t.find(id)
		assert.deepEqual([found.status, found.attempts, found.cause], ['dead', 0, 'predecessor-dead'])
		assert.deepEqual(
			[found.payload, found.headers, found.dedupeKey, found.maxRetries, found.expiresAt, found.createdAt],
			[
				before.payload,
				before.headers,
				before.dedupeKey,
				before.maxRetries,
				before.expiresAt,
				before.createdAt,
			],
		)
		assert.ok(found.endedAt !== null)
	},

	'dead-letter-rest: scheduled followers become dead letters': async (t) => {
		await t.enqueueOne(k)
		const id = await t.enqueueOne({ ...k, notBefore: (await t.now()) + 50 * HOUR })
		await t.deadLetterHead('dead-letter-rest')
		assert.equal((await t.find(id)).status, 'dead')
	},

	'dead-letter-rest: earlier messages stay': async (t) => {
		const [first, second, third] = await t.enqueue(k, k, k)
		const [one, two, three] = await t.claimMany(3)
		await t.settle([release(one), release(three)])
		await t.settle([dead(two, { afterDeadLetter: 'dead-letter-rest' })])
		const found = await Promise.all([first, second, third].map((id) => t.find(id ?? '')))
		assert.deepEqual(
			found.map((message) => message.status),
			['pending', 'dead', 'dead'],
		)
	},

	'dead-letter-rest: other keys, other destinations and messages without a key stay': async (t) => {
		await t.enqueueOne(k)
		const ids = await t.enqueue({ key: 'l' }, {}, { ...k, destination: 'b' })
		const head = (await t.claim({ ...ORDERED, limit: 1 }))[0]
		assert.ok(head)
		await t.settle([dead(head, { afterDeadLetter: 'dead-letter-rest' })])
		for (const id of ids) assert.equal((await t.find(id)).status, 'pending')
	},

	'dead-letter-rest: a dead letter without a key has no followers': async (t) => {
		await t.enqueueOne()
		const row = await t.claimOne()
		const ids = await t.enqueue({}, k)
		await t.settle([dead(row, { afterDeadLetter: 'dead-letter-rest' })])
		for (const id of ids) assert.equal((await t.find(id)).status, 'pending')
	},

	'dead-letter-rest: a new message waits until all are replayed or discarded': async (t) => {
		await threeWithDeadHead(t, 'dead-letter-rest')
		const [late] = await t.enqueue(k)
		assert.deepEqual(await t.claimIds(ORDERED), [])
		await t.store.discard({ key: 'k' }, MANY, false)
		assert.deepEqual(await t.claimIds(ORDERED), [late])
	},

	'dead-letter-rest: messages replayed together keep their order': async (t) => {
		const ids = await threeWithDeadHead(t, 'dead-letter-rest')
		assert.deepEqual([...(await t.store.replay({ key: 'k' }, MANY))].sort(), [...ids].sort())
		const seen: string[] = []
		for (const _ of ids) {
			const row = await t.claimOne(ORDERED)
			assert.equal(row.attempt, 1)
			seen.push(row.id)
			await t.settle([sent(row)])
		}
		assert.deepEqual(seen, ids)
	},

	'one batch can settle heads of several keys in different ways': async (t) => {
		const [, k2, l1, , , m2] = await t.enqueue(k, k, { key: 'l' }, { key: 'l' }, { key: 'm' }, { key: 'm' })
		const [one, two, three] = await t.claim(ORDERED)
		assert.ok(one && two && three && two.id === l1)
		await t.settle([
			dead(one, { afterDeadLetter: 'skip' }),
			dead(two, { afterDeadLetter: 'block' }),
			dead(three, { afterDeadLetter: 'dead-letter-rest' }),
		])
		assert.deepEqual(await t.claimIds(ORDERED), [k2])
		assert.equal((await t.find(m2 ?? '')).cause, 'predecessor-dead')
	},

	'a late dead settlement affects no follower': async (t) => {
		const [, second] = await t.enqueue(k, k)
		const row = await t.claimOne(ORDERED)
		assert.deepEqual(
			await t.store.settle('r2', [dead(row, { afterDeadLetter: 'dead-letter-rest' })], false),
			[row.id],
		)
		assert.deepEqual(await t.store.settle('r2', [dead(row, { afterDeadLetter: 'block' })], false), [row.id])
		await t.settle([sent(row)])
		assert.deepEqual(await t.claimIds(ORDERED), [second])
	},
}
