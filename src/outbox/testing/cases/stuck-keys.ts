/** What a message that can not be sent does to those behind it with the same key: nothing, or they wait, or they go with it. */
import assert from 'node:assert/strict'
import type { AfterDeadLetter } from '../../store/rows.ts'
import { type CaseTable, HOUR, MANY, type StoreHarness } from '../harness/harness.ts'
import { dead, release, sent } from '../harness/settlements.ts'

const ORDERED = { isOrdered: true }
const k = { key: 'k' }

/** Three of a key, of which the first has died. */
const threeWithDeadHead = async (
	trial: StoreHarness,
	afterDeadLetter: AfterDeadLetter,
): Promise<string[]> => {
	const ids = await trial.enqueue(k, k, k)
	await trial.settle([dead(await trial.claimOne(ORDERED), { afterDeadLetter })])
	return ids
}

export const stuckKeys: CaseTable = {
	'dead-letter: those behind a dead letter go on': async (trial) => {
		const [, second, third] = await threeWithDeadHead(trial, 'skip')
		const row = await trial.claimOne(ORDERED)
		assert.equal(row.id, second)
		await trial.settle([sent(row)])
		assert.deepEqual(await trial.claimIds(ORDERED), [third])
	},

	'dead-letter: replayed it is in its old place again': async (trial) => {
		const [first, second] = await threeWithDeadHead(trial, 'skip')
		await trial.store.replay({}, MANY)
		const row = await trial.claimOne(ORDERED)
		assert.equal(row.id, first)
		await trial.settle([sent(row)])
		assert.deepEqual(await trial.claimIds(ORDERED), [second])
	},

	'block: those behind a dead letter wait, for any time, and so do new ones': async (trial) => {
		await threeWithDeadHead(trial, 'block')
		await trial.enqueueOne(k)
		await trial.advance(100 * HOUR)
		assert.deepEqual(await trial.claimIds(ORDERED), [])
		assert.equal((await trial.store.list({ status: 'pending' }, MANY)).length, 3)
	},

	'block: a message that comes when nobody is left waits as well': async (trial) => {
		await trial.enqueueOne(k)
		await trial.settle([dead(await trial.claimOne(ORDERED), { afterDeadLetter: 'block' })])
		await trial.enqueueOne(k)
		assert.deepEqual(await trial.claimIds(ORDERED), [])
	},

	'block: other keys, other destinations and messages without a key go on': async (trial) => {
		await threeWithDeadHead(trial, 'block')
		const [other, free] = await trial.enqueue({ key: 'l' }, {})
		const away = await trial.enqueueOne({ ...k, destination: 'b' })
		assert.deepEqual(await trial.claimIds(ORDERED), [other, free])
		assert.deepEqual(await trial.claimIds({ ...ORDERED, destination: 'b' }), [away])
	},

	'block: a dead letter holds up only those behind it': async (trial) => {
		const [first] = await threeWithDeadHead(trial, 'skip')
		await trial.settle([dead(await trial.claimOne(ORDERED), { afterDeadLetter: 'block' })])
		assert.deepEqual(await trial.claimIds(ORDERED), [])
		await trial.store.replay({ ids: [first ?? ''] }, 1)
		assert.deepEqual(await trial.claimIds(ORDERED), [first])
	},

	'block: replayed it comes first, and the others after it': async (trial) => {
		const ids = await threeWithDeadHead(trial, 'block')
		await trial.store.replay({ key: 'k' }, MANY)
		const seen: string[] = []
		for (const _ of ids) {
			const row = await trial.claimOne(ORDERED)
			seen.push(row.id)
			await trial.settle([sent(row)])
		}
		assert.deepEqual(seen, ids)
	},

	'block: discarded it lets the others go on, kept as history or not': async (trial) => {
		const [, second] = await threeWithDeadHead(trial, 'block')
		await trial.store.discard({ key: 'k' }, MANY, true)
		const row = await trial.claimOne(ORDERED)
		assert.equal(row.id, second)
		await trial.settle([dead(row, { afterDeadLetter: 'block' })])
		assert.deepEqual(await trial.claimIds(ORDERED), [])
		await trial.store.discard({ key: 'k' }, MANY, false)
		assert.equal((await trial.claim(ORDERED)).length, 1)
	},

	'block: a dead letter without a key blocks nobody': async (trial) => {
		const [, second] = await trial.enqueue({}, {})
		const [first, other] = await trial.claim(ORDERED)
		assert.ok(first && other)
		await trial.settle([dead(first, { afterDeadLetter: 'block' }), sent(other)])
		assert.equal(other.id, second)
		const id = await trial.enqueueOne(k)
		assert.deepEqual(await trial.claimIds(ORDERED), [id])
	},

	'block: a destination without order does not care': async (trial) => {
		const [, second, third] = await threeWithDeadHead(trial, 'block')
		assert.deepEqual(await trial.claimIds(), [second, third])
	},

	'park: those behind a dead letter become dead letters that say so': async (trial) => {
		const [first, second, third] = await threeWithDeadHead(trial, 'dead-letter-rest')
		assert.deepEqual(await trial.claimIds(ORDERED), [])
		const letters = await trial.store.list({ status: 'dead' }, MANY)
		assert.deepEqual(letters.map((letter) => [letter.id, letter.cause]).sort(), [
			[first, 'permanent'],
			[second, 'predecessor-dead'],
			[third, 'predecessor-dead'],
		])
		assert.deepEqual(await trial.store.list({ status: 'pending' }, MANY), [])
	},

	'park: a parked message was never tried and keeps all that it had': async (trial) => {
		const now = await trial.now()
		const part = {
			...k,
			payload: '["x"]',
			headers: '{"h":"1"}',
			dedupeKey: 'd',
			maxRetries: 2,
			expiresAt: now + HOUR,
		}
		await trial.enqueueOne(k)
		const id = await trial.enqueueOne(part)
		const before = await trial.find(id)
		await trial.settle([dead(await trial.claimOne(ORDERED), { afterDeadLetter: 'dead-letter-rest' })])
		const found = await trial.find(id)
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

	'park: what waits for later is parked as well': async (trial) => {
		await trial.enqueueOne(k)
		const id = await trial.enqueueOne({ ...k, notBefore: (await trial.now()) + 50 * HOUR })
		await trial.settle([dead(await trial.claimOne(ORDERED), { afterDeadLetter: 'dead-letter-rest' })])
		assert.equal((await trial.find(id)).status, 'dead')
	},

	'park: those in front of it stay': async (trial) => {
		const [first, second, third] = await trial.enqueue(k, k, k)
		const [one, two, three] = await trial.claim()
		assert.ok(one && two && three)
		await trial.settle([release(one), release(three)])
		await trial.settle([dead(two, { afterDeadLetter: 'dead-letter-rest' })])
		const found = await Promise.all([first, second, third].map((id) => trial.find(id ?? '')))
		assert.deepEqual(
			found.map((message) => message.status),
			['pending', 'dead', 'dead'],
		)
	},

	'park: other keys, other destinations and messages without a key stay': async (trial) => {
		await trial.enqueueOne(k)
		const ids = await trial.enqueue({ key: 'l' }, {}, { ...k, destination: 'b' })
		const head = (await trial.claim({ ...ORDERED, limit: 1 }))[0]
		assert.ok(head)
		await trial.settle([dead(head, { afterDeadLetter: 'dead-letter-rest' })])
		for (const id of ids) assert.equal((await trial.find(id)).status, 'pending')
	},

	'park: a dead letter without a key takes nobody along': async (trial) => {
		await trial.enqueueOne()
		const row = await trial.claimOne()
		const ids = await trial.enqueue({}, k)
		await trial.settle([dead(row, { afterDeadLetter: 'dead-letter-rest' })])
		for (const id of ids) assert.equal((await trial.find(id)).status, 'pending')
	},

	'park: one that is enqueued later waits until those before it were replayed or discarded': async (
		trial,
	) => {
		await threeWithDeadHead(trial, 'dead-letter-rest')
		const [late] = await trial.enqueue(k)
		assert.deepEqual(await trial.claimIds(ORDERED), [])
		await trial.store.discard({ key: 'k' }, MANY, false)
		assert.deepEqual(await trial.claimIds(ORDERED), [late])
	},

	'park: replayed together they come in their order': async (trial) => {
		const ids = await threeWithDeadHead(trial, 'dead-letter-rest')
		assert.deepEqual([...(await trial.store.replay({ key: 'k' }, MANY))].sort(), [...ids].sort())
		const seen: string[] = []
		for (const _ of ids) {
			const row = await trial.claimOne(ORDERED)
			assert.equal(row.attempt, 1)
			seen.push(row.id)
			await trial.settle([sent(row)])
		}
		assert.deepEqual(seen, ids)
	},

	'heads of several keys may die in one batch, each in its own way': async (trial) => {
		const [, k2, l1, , , m2] = await trial.enqueue(
			k,
			k,
			{ key: 'l' },
			{ key: 'l' },
			{ key: 'm' },
			{ key: 'm' },
		)
		const [one, two, three] = await trial.claim(ORDERED)
		assert.ok(one && two && three && two.id === l1)
		await trial.settle([
			dead(one, { afterDeadLetter: 'skip' }),
			dead(two, { afterDeadLetter: 'block' }),
			dead(three, { afterDeadLetter: 'dead-letter-rest' }),
		])
		assert.deepEqual(await trial.claimIds(ORDERED), [k2])
		assert.equal((await trial.find(m2 ?? '')).cause, 'predecessor-dead')
	},

	'a death that comes too late parks and blocks nobody': async (trial) => {
		const [, second] = await trial.enqueue(k, k)
		const row = await trial.claimOne(ORDERED)
		assert.deepEqual(
			await trial.store.settle('r2', [dead(row, { afterDeadLetter: 'dead-letter-rest' })], false),
			[row.id],
		)
		assert.deepEqual(await trial.store.settle('r2', [dead(row, { afterDeadLetter: 'block' })], false), [
			row.id,
		])
		await trial.settle([sent(row)])
		assert.deepEqual(await trial.claimIds(ORDERED), [second])
	},
}
