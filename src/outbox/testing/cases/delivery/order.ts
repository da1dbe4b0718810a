/** Ordered destinations: one message per key in flight, claims by key, and the message that another one waits for. */
import assert from 'node:assert/strict'
import {
	type CaseTable,
	HOUR,
	idsOf,
	MANY,
	MINUTE,
	required,
	type StoreHarness,
	target,
} from '../../harness/harness.ts'
import { dead, release, retry, sent } from '../../harness/settlements.ts'

const ORDERED = { isOrdered: true }

const k = { key: 'k' }

const claimedBy = (t: StoreHarness, owner: string): Promise<string[]> => t.claimIds({ ...ORDERED, owner })

export const order: CaseTable = {
	'returns only the first message of each key, and all messages without a key': async (t) => {
		const [k1, , l1, free1, , free2] = await t.enqueue(k, k, { key: 'l' }, {}, { key: 'l' }, {})
		assert.deepEqual(await t.claimIds(ORDERED), [k1, l1, free1, free2])
		assert.deepEqual(await t.claimIds({ ...ORDERED, owner: 'r2' }), [])
	},

	'the limit counts returned messages, not skipped ones': async (t) => {
		const [k1, , , , l1] = await t.enqueue(k, k, k, k, { key: 'l' }, { key: 'm' })
		assert.deepEqual(await t.claimIds({ ...ORDERED, limit: 2 }), [k1, l1])
	},

	'returns the next message after the first was sent, up to the last': async (t) => {
		const ids = await t.enqueue(k, k, k)
		const seen: string[] = []
		for (let n = 0; n < 3; n++) {
			const row = await t.claimOne(ORDERED)
			seen.push(row.id)
			assert.deepEqual(await claimedBy(t, 'r2'), [])
			await t.settle([sent(row)])
		}
		assert.deepEqual(seen, ids)
	},

	'returns the next message after the first was sent with history': async (t) => {
		const [, second] = await t.enqueue(k, k)
		await t.settle([sent(await t.claimOne(ORDERED))], true)
		assert.deepEqual(await t.claimIds(ORDERED), [second])
	},

	'a message scheduled for a retry stays first': async (t) => {
		const [first] = await t.enqueue(k, k)
		await t.settle([retry(await t.claimOne(ORDERED), HOUR)])
		assert.deepEqual(await t.claimIds(ORDERED), [])
		await t.advance(HOUR)
		assert.deepEqual(await t.claimIds(ORDERED), [first])
	},

	'a released message stays first, even if scheduled for later': async (t) => {
		const [first] = await t.enqueue(k, k)
		await t.settle([release(await t.claimOne(ORDERED))])
		const again = await t.claimOne(ORDERED)
		assert.equal(again.id, first)
		await t.settle([release(again, HOUR)])
		assert.deepEqual(await t.claimIds(ORDERED), [])
		await t.advance(HOUR)
		assert.deepEqual(await t.claimIds(ORDERED), [first])
	},

	'a message of a crashed relay stays first': async (t) => {
		const [first] = await t.enqueue(k, k)
		await t.claimOne({ ...ORDERED, leaseMs: MINUTE })
		await t.advance(HOUR)
		assert.deepEqual(await claimedBy(t, 'r2'), [first])
		assert.deepEqual(await claimedBy(t, 'r3'), [])
	},

	'orders by enqueuing, even if the first is due last': async (t) => {
		const now = await t.now()
		const [first, second] = await t.enqueue({ ...k, notBefore: now + HOUR }, { ...k, notBefore: now })
		assert.deepEqual(await t.claimIds(ORDERED), [])
		await t.advance(2 * HOUR)
		const row = await t.claimOne(ORDERED)
		assert.equal(row.id, first)
		await t.settle([sent(row)])
		assert.deepEqual(await t.claimIds(ORDERED), [second])
	},

	'orders by enqueuing, regardless of ids': async (t) => {
		const [low, high] = [t.id(), t.id()]
		await t.enqueue({ ...k, id: high }, { ...k, id: low })
		assert.deepEqual(await t.claimIds(ORDERED), [high])
	},

	'treats the same key of another destination as another key': async (t) => {
		const [a] = await t.enqueue(k, k)
		const b = await t.enqueueOne({ ...k, destination: 'b' })
		const targets = [target({ ...ORDERED, destination: 'a' }), target({ ...ORDERED, destination: 'b' })]
		assert.deepEqual(idsOf((await t.claimTargets(targets)).rows), [a, b])
	},

	'distinguishes similar keys': async (t) => {
		const keys = ['k', 'K', 'k ', 'é', 'e\u0301', '%', '_', '1', '01']
		const ids = await t.enqueue(...keys.map((key) => ({ key })))
		assert.deepEqual(await t.claimIds(ORDERED), ids)
	},

	'an unordered target returns all messages of a key': async (t) => {
		const ids = await t.enqueue(k, k, k)
		assert.deepEqual(await t.claimIds(), ids)
	},

	'one claim can combine ordered and unordered targets': async (t) => {
		const [a] = await t.enqueue(k, k)
		const free = await t.enqueue({ ...k, destination: 'b' }, { ...k, destination: 'b' })
		const targets = [target({ destination: 'b' }), target({ ...ORDERED, destination: 'a' })]
		assert.deepEqual(idsOf((await t.claimTargets(targets)).rows), [...free, a])
	},

	'since applies to the first messages of keys': async (t) => {
		const now = await t.now()
		await t.enqueueOne({ ...k, notBefore: now + MINUTE })
		const late = await t.enqueueOne({ key: 'l', notBefore: now + 10 * MINUTE })
		await t.advance(HOUR)
		assert.deepEqual(await t.claimIds({ ...ORDERED, since: now + 5 * MINUTE }), [late])
	},

	'concurrent claims give each key to one of them': async (t) => {
		const other = await t.other()
		await t.enqueue(...Array.from({ length: 30 }, (_, n) => ({ key: `k${n % 5}` })))
		for (let round = 0; round < 6; round++) {
			const claims = await Promise.all(
				['r1', 'r2', 'r3', 'r4'].map((owner, n) =>
					t.claim({ ...ORDERED, owner, limit: 3 }, n % 2 ? other : t.store),
				),
			)
			const keys = claims.flat().map((row) => row.key)
			assert.equal(new Set(keys).size, keys.length)
			for (const [n, rows] of claims.entries()) await t.settle(rows.map(sent), false, `r${n + 1}`)
		}
	},

	'concurrent settle and claim never put two messages of a key in flight': async (t) => {
		const other = await t.other()
		const ids = await t.enqueue(...Array.from({ length: 12 }, () => k))
		const seen: string[] = []
		for (let round = 0; round < 40 && seen.length < ids.length; round++) {
			const rows = await t.claim(ORDERED)
			seen.push(...idsOf(rows))
			assert.ok(rows.length <= 1)
			const [, more] = await Promise.all([
				t.settle(rows.map(sent)),
				t.claim({ ...ORDERED, owner: 'r2' }, other),
			])
			seen.push(...idsOf(more))
			assert.ok(more.length <= 1)
			await t.settle(more.map(sent), false, 'r2')
		}
		assert.deepEqual(seen, ids)
	},
}

const byKeys = (...keys: string[]) => ({ isOrdered: true, keys })

export const claimByKey: CaseTable = {
	'returns only the first message of each key': async (t) => {
		const [k1, , l1] = await t.enqueue(k, k, { key: 'l' }, { key: 'm' }, {})
		assert.deepEqual((await t.claimIds(byKeys('l', 'k'))).sort(), [k1, l1].sort())
	},

	'ignores since': async (t) => {
		const id = await t.enqueueOne(k)
		const since = (await t.now()) + HOUR
		assert.deepEqual(await t.claimIds({ isOrdered: true, since }), [])
		assert.deepEqual(await t.claimIds({ ...byKeys('k'), since }), [id])
	},

	'returns the next message of a key after the first was sent': async (t) => {
		const ids = await t.enqueue(k, k, k)
		const seen: string[] = []
		for (const _ of ids) {
			const row = await t.claimOne(byKeys('k'))
			seen.push(row.id)
			assert.deepEqual(await t.claimIds(byKeys('k')), [])
			await t.settle([sent(row)])
		}
		assert.deepEqual(seen, ids)
	},

	'returns nothing for a key whose first message is not due': async (t) => {
		await t.enqueue(k, k)
		await t.settle([retry(await t.claimOne(byKeys('k')), HOUR)])
		assert.deepEqual(await t.claimIds(byKeys('k')), [])
	},

	'returns nothing for a key blocked by a dead letter': async (t) => {
		await t.enqueue(k, k)
		await t.settle([dead(await t.claimOne(byKeys('k')), { afterDeadLetter: 'block' })])
		assert.deepEqual(await t.claimIds(byKeys('k')), [])
	},

	'returns nothing for unknown keys or an empty list': async (t) => {
		await t.enqueue(k, {})
		assert.deepEqual(await t.claimIds(byKeys('x', 'y')), [])
		assert.deepEqual(await t.claimIds(byKeys()), [])
	},

	'ignores the same key of another destination': async (t) => {
		await t.enqueueOne({ key: 'k', destination: 'b' })
		assert.deepEqual(await t.claimIds(byKeys('k')), [])
	},

	'applies the limit': async (t) => {
		await t.enqueue(k, { key: 'l' }, { key: 'm' })
		assert.equal((await t.claim({ ...byKeys('k', 'l', 'm'), limit: 2 })).length, 2)
	},

	'returns a key that is listed twice once': async (t) => {
		const id = await t.enqueueOne(k)
		await t.expectClaimed({ id, attempt: 1 }, byKeys('k', 'k'))
	},

	'returns nothing while the circuit is open': async (t) => {
		await t.enqueueOne(k)
		await t.store.pause('a', HOUR, 'retry-after')
		assert.deepEqual(await t.claimIds(byKeys('k')), [])
	},
}

const predecessorOf = async (t: StoreHarness, id: string | undefined): Promise<string | undefined> =>
	(await t.store.findPredecessor(required(id, 'an id')))?.id

export const predecessors: CaseTable = {
	'returns the first queued message of the key as predecessor, and none for the first': async (t) => {
		const [first, second, third] = await t.enqueue(k, k, k)
		assert.equal(await predecessorOf(t, first), undefined)
		assert.equal(await predecessorOf(t, second), first)
		assert.equal(await predecessorOf(t, third), first)
		await t.settle([sent(await t.claimOne(ORDERED))])
		assert.equal(await predecessorOf(t, third), second)
	},

	'returns the predecessor with its state: in flight or scheduled for a retry': async (t) => {
		const [, second] = await t.enqueue(k, k)
		const row = await t.claimOne(ORDERED)
		const inFlight = required(await t.store.findPredecessor(second ?? ''), 'the predecessor')
		assert.deepEqual([inFlight.status, inFlight.lockedBy, inFlight.blocks], ['processing', 'r1', false])
		await t.settle([retry(row, HOUR)])
		assert.deepEqual(await t.store.findPredecessor(second ?? ''), await t.find(row.id))
	},

	'returns the blocking dead letter as predecessor of all later messages': async (t) => {
		const [first, second, third] = await t.enqueue(k, k, k)
		await t.deadLetterHead('block')
		assert.equal(await predecessorOf(t, second), first)
		const letter = required(await t.store.findPredecessor(third ?? ''), 'the predecessor')
		assert.deepEqual([letter.id, letter.status, letter.blocks], [first, 'dead', true])
		assert.deepEqual(letter, await t.find(first ?? ''))
		await t.store.discard(k, MANY, false)
		assert.equal(await predecessorOf(t, third), second)
	},

	'ignores a dead letter that does not block': async (t) => {
		const [first, second] = await t.enqueue(k, k)
		await t.deadLetterHead('skip')
		assert.equal(await predecessorOf(t, second), undefined)
		assert.equal((await t.find(first ?? '')).blocks, false)
	},

	'returns a dead follower as predecessor of later messages': async (t) => {
		const [first, second] = await t.enqueue(k, k)
		await t.deadLetterHead('dead-letter-rest')
		const late = await t.enqueueOne(k)
		assert.equal(await predecessorOf(t, late), first)
		assert.equal((await t.find(second ?? '')).blocks, true)
	},

	'a dead letter precedes only later messages, and none after its replay': async (t) => {
		const [first, second] = await t.enqueue(k, k)
		const [one, two] = await t.claimMany(2)
		await t.settle([release(one), dead(two, { afterDeadLetter: 'block' })])
		assert.equal(await predecessorOf(t, first), undefined)
		await t.store.replay({}, MANY)
		assert.equal((await t.find(second ?? '')).blocks, false)
		assert.equal(await predecessorOf(t, second), first)
	},

	'ignores other keys, other destinations and messages without a key': async (t) => {
		await t.enqueue(k, {})
		const ids = await t.enqueue({ key: 'l' }, { ...k, destination: 'b' }, {})
		for (const id of ids) assert.equal(await predecessorOf(t, id), undefined)
	},

	'returns no predecessor for a message that is not queued': async (t) => {
		await t.enqueueOne(k)
		const letter = await t.addDeadLetter(k)
		assert.equal(await predecessorOf(t, letter), undefined)
		assert.equal(await predecessorOf(t, t.id()), undefined)
	},
}
