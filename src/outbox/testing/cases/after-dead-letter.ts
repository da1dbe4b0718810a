/** The effect of a dead letter on later messages of its key: skip, block or dead-letter-rest. */
import assert from 'node:assert/strict'
import type { AfterDeadLetter } from '../../store/rows.ts'
import { assertFields, HOUR, required, sorted } from '../harness/assertions.ts'
import { type CaseTable, MANY, ORDERED, type StoreHarness } from '../harness/harness.ts'
import { dead, release, sent } from '../harness/settlements.ts'

const BLOCK = { afterDeadLetter: 'block' } as const
const REST = { afterDeadLetter: 'dead-letter-rest' } as const
const k = { key: 'k' }
/** More than the number of followers that a store may look at. */
const MANY_REPLAYED = 70

/** Enqueues three messages of a key and dead-letters the first. */
const threeWithDeadHead = async (t: StoreHarness, afterDeadLetter: AfterDeadLetter) => {
	const ids = await t.enqueue(k, k, k)
	await t.deadLetterHead(afterDeadLetter)
	return ids
}

export const afterDeadLetter: CaseTable = {
	'skip: later messages are sent': async (t) => {
		const [, second, third] = await threeWithDeadHead(t, 'skip')
		await t.sendInOrder([second, third])
	},

	'skip: a replayed message returns to its position': async (t) => {
		const [first, second] = await threeWithDeadHead(t, 'skip')
		await t.replay({}, MANY)
		await t.sendInOrder([first, second])
	},

	'skip: any number of replayed messages wait for a later one of their key in flight': async (t) => {
		const replayed = await t.enqueueMany(MANY_REPLAYED, k)
		const live = await t.enqueueOne(k)
		for (const _ of replayed) await t.deadLetterHead('skip')
		const inFlight = await t.claimId(live, ORDERED)
		await t.replay({}, MANY)
		await t.expectClaim([], ORDERED)
		await t.expectClaim([], { ...ORDERED, keys: ['k'] })
		await t.expectClaim([], { ...ORDERED, keys: ['k'], perKey: 2 })
		await t.settle([sent(inFlight)])
		await t.sendInOrder(replayed)
	},

	'skip: any number of replayed messages wait for a later replayed one in flight': async (t) => {
		const replayed = await t.enqueueMany(MANY_REPLAYED, k)
		for (const _ of replayed) await t.deadLetterHead('skip')
		const last = required(replayed.at(-1), 'the last message')
		await t.replay({ ids: [last] }, 1)
		const inFlight = await t.claimId(last, ORDERED)
		await t.replay({}, MANY)
		await t.expectClaim([], ORDERED)
		await t.expectClaim([], { ...ORDERED, keys: ['k'] })
		await t.expectClaim([], { ...ORDERED, keys: ['k'], perKey: 2 })
		await t.settle([sent(inFlight)])
		await t.sendInOrder(replayed.slice(0, -1))
	},

	'block: later messages wait, including new ones': async (t) => {
		await threeWithDeadHead(t, 'block')
		await t.enqueueOne(k)
		await t.advance(100 * HOUR)
		await t.expectClaim([], ORDERED)
		await t.expectCounts({ pending: 3 })
	},

	'block: a message enqueued when none is left waits': async (t) => {
		await t.enqueueOne(k)
		await t.deadLetterHead('block')
		await t.enqueueOne(k)
		await t.expectClaim([], ORDERED)
	},

	'block: other keys, other destinations and messages without a key are sent': async (t) => {
		await threeWithDeadHead(t, 'block')
		const [other, free, away] = await t.enqueue({ key: 'l' }, {}, { ...k, destination: 'b' })
		await t.expectClaim([other, free], ORDERED)
		await t.expectClaim([away], { ...ORDERED, destination: 'b' })
	},

	'block: a dead letter blocks only later messages': async (t) => {
		const [first] = await threeWithDeadHead(t, 'skip')
		await t.deadLetterHead('block')
		await t.expectClaim([], ORDERED)
		await t.replay({ ids: [first] }, 1)
		await t.expectClaim([first], ORDERED)
	},

	'block: a replayed message comes first, then the others': async (t) => {
		const ids = await threeWithDeadHead(t, 'block')
		await t.replay(k, MANY)
		await t.sendInOrder(ids)
	},

	'block: discarding releases the others, with and without history': async (t) => {
		const [, second, third] = await threeWithDeadHead(t, 'block')
		await t.discard(k, MANY, true)
		const row = await t.claimId(second, ORDERED)
		await t.settle([dead(row, BLOCK)])
		await t.expectClaim([], ORDERED)
		await t.discard(k, MANY, false)
		await t.expectClaim([third], ORDERED)
	},

	'block: a dead letter without a key blocks nothing': async (t) => {
		const [, second] = await t.enqueue({}, {})
		const [first, other] = await t.claimMany(2, ORDERED)
		await t.settle([dead(first, BLOCK), sent(other)])
		assert.equal(other.id, second)
		await t.expectClaim([await t.enqueueOne(k)], ORDERED)
	},

	'block: an unordered target ignores it': async (t) => {
		const [, second, third] = await threeWithDeadHead(t, 'block')
		await t.expectClaim([second, third])
	},

	'dead-letter-rest: later messages become dead letters with their own cause': async (t) => {
		const [first, second, third] = await threeWithDeadHead(t, 'dead-letter-rest')
		await t.expectClaim([], ORDERED)
		await t.expectCounts({ pending: 0, dead: 3 })
		await t.expectMessage(first, { cause: 'permanent' })
		for (const id of [second, third]) await t.expectMessage(id, { cause: 'predecessor-dead' })
	},

	'dead-letter-rest: followers have no attempts and keep all fields': async (t) => {
		const fields = { payload: '["x"]', headers: '{"h":"1"}', dedupeKey: 'd', maxRetries: 2 }
		const [, id] = await t.enqueue(k, { ...k, ...fields, expiresAt: (await t.now()) + HOUR })
		const { createdAt, expiresAt } = await t.find(id)
		await t.deadLetterHead('dead-letter-rest')
		const found = await t.find(id)
		assertFields(found, { ...fields, createdAt, expiresAt })
		assertFields(found, { status: 'dead', attempts: 0, cause: 'predecessor-dead' })
		assert.ok(found.endedAt !== null)
	},

	'dead-letter-rest: scheduled followers become dead letters': async (t) => {
		const [, id] = await t.enqueue(k, { ...k, notBefore: (await t.now()) + 50 * HOUR })
		await t.deadLetterHead('dead-letter-rest')
		await t.expectStatus('dead', [id])
	},

	'dead-letter-rest: earlier messages stay': async (t) => {
		const [first, second, third] = await t.enqueue(k, k, k)
		const [one, two, three] = await t.claimMany(3)
		await t.settle([release(one), release(three)])
		await t.settle([dead(two, REST)])
		await t.expectStatus('pending', [first])
		await t.expectStatus('dead', [second, third])
	},

	'dead-letter-rest: other keys, other destinations and messages without a key stay': async (t) => {
		await t.enqueueOne(k)
		const ids = await t.enqueue({ key: 'l' }, {}, { ...k, destination: 'b' })
		await t.die(REST, { ...ORDERED, limit: 1 })
		await t.expectStatus('pending', ids)
	},

	'dead-letter-rest: a dead letter without a key has no followers': async (t) => {
		const row = await t.enqueueAndClaim()
		const ids = await t.enqueue({}, k)
		await t.settle([dead(row, REST)])
		await t.expectStatus('pending', ids)
	},

	'dead-letter-rest: a new message waits until all are replayed or discarded': async (t) => {
		await threeWithDeadHead(t, 'dead-letter-rest')
		const late = await t.enqueueOne(k)
		await t.expectClaim([], ORDERED)
		await t.discard(k, MANY, false)
		await t.expectClaim([late], ORDERED)
	},

	'dead-letter-rest: messages replayed together keep their order': async (t) => {
		const ids = await threeWithDeadHead(t, 'dead-letter-rest')
		assert.deepEqual(sorted(await t.replay(k, MANY)), sorted(ids))
		for (const id of ids) await t.expectMessage(id, { attempts: 0 })
		await t.sendInOrder(ids)
	},

	'one batch can settle heads of several keys in different ways': async (t) => {
		const keys = ['k', 'k', 'l', 'l', 'm', 'm'] as const
		const [, k2 = '', l1, , , m2 = ''] = await t.enqueue(...keys.map((key) => ({ key })))
		const [one, two, three] = await t.claimMany(3, ORDERED)
		assert.equal(two.id, l1)
		await t.settle([dead(one, { afterDeadLetter: 'skip' }), dead(two, BLOCK), dead(three, REST)])
		await t.expectClaim([k2], ORDERED)
		await t.expectMessage(m2, { cause: 'predecessor-dead' })
	},

	'a late dead settlement affects no follower': async (t) => {
		const [, second] = await t.enqueue(k, k)
		const row = await t.claimOne(ORDERED)
		await t.expectLost([dead(row, REST)], 'r2')
		await t.expectLost([dead(row, BLOCK)], 'r2')
		await t.settle([sent(row)])
		await t.expectClaim([second], ORDERED)
	},
}
