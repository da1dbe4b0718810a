/**
 * Ordered destinations: one message per key in flight, claims by key, claims of runs, which a relay sends one
 * by one, and the message that another one of its key waits for.
 */
import assert from 'node:assert/strict'
import { assertFields, HOUR, idsOf, MINUTE, required } from '../harness/assertions.ts'
import { type CaseTable, caseTable, MANY, ORDERED, type StoreHarness, target } from '../harness/harness.ts'
import { dead, release, retry, sent } from '../harness/settlements.ts'

const R2 = { ...ORDERED, owner: 'r2' }

const k = { key: 'k' }
const l = { key: 'l' }

export const order: CaseTable = {
	'returns only the first message of each key, and all messages without a key': async (t) => {
		const [k1, , l1, free1, , free2] = await t.enqueue(k, k, l, {}, l, {})
		await t.expectClaim([k1, l1, free1, free2], ORDERED)
		await t.expectClaim([], R2)
	},

	'the limit counts returned messages, not skipped ones': async (t) => {
		const [k1, , , , l1] = await t.enqueue(k, k, k, k, l, { key: 'm' })
		await t.expectClaim([k1, l1], { ...ORDERED, limit: 2 })
	},

	'returns the next message after the first was sent, up to the last': async (t) => {
		for (const id of await t.enqueue(k, k, k)) {
			const row = await t.claimId(id, ORDERED)
			await t.expectClaim([], R2)
			await t.settle([sent(row)])
		}
	},

	'returns the next message after the first was sent with history': async (t) => {
		const [, second] = await t.enqueue(k, k)
		await t.settle([sent(await t.claimOne(ORDERED))], true)
		await t.expectClaim([second], ORDERED)
	},

	'a message scheduled for a retry stays first': async (t) => {
		const [first] = await t.enqueue(k, k)
		await t.fail(HOUR, ORDERED)
		await t.expectClaim([], ORDERED)
		await t.advance(HOUR)
		await t.expectClaim([first], ORDERED)
	},

	'a released message stays first, even if scheduled for later': async (t) => {
		const [first] = await t.enqueue(k, k)
		await t.settle([release(await t.claimOne(ORDERED))])
		const again = await t.claimId(first, ORDERED)
		await t.settle([release(again, HOUR)])
		await t.expectClaim([], ORDERED)
		await t.advance(HOUR)
		await t.expectClaim([first], ORDERED)
	},

	'a message of a crashed relay stays first': async (t) => {
		const [first] = await t.enqueue(k, k)
		await t.crash(ORDERED)
		await t.expectClaim([first], R2)
		await t.expectClaim([], { ...ORDERED, owner: 'r3' })
	},

	'orders by enqueuing, even if the first is due last': async (t) => {
		const now = await t.now()
		const ids = await t.enqueue({ ...k, notBefore: now + HOUR }, { ...k, notBefore: now })
		await t.expectClaim([], ORDERED)
		await t.advance(2 * HOUR)
		await t.sendInOrder(ids)
	},

	'orders by enqueuing, regardless of ids': async (t) => {
		const [low, high] = [t.id(), t.id()]
		await t.enqueue({ ...k, id: high }, { ...k, id: low })
		await t.expectClaim([high], ORDERED)
	},

	'a replayed message waits for a later one of its key in flight': async (t) => {
		const [first, second] = await t.enqueue(k, k, k)
		await t.deadLetterHead('skip')
		const later = await t.claimId(second, ORDERED)
		await t.replay({}, MANY)
		await t.expectClaim([], R2)
		await t.expectClaim([], { ...R2, keys: ['k'] })
		await t.settle([sent(later)])
		await t.expectClaim([first], R2)
	},

	'sequence numbers increase with every message of a key, in one batch and over batches': async (t) => {
		const sequences: number[] = []
		for (let round = 0; round < 3; round++) {
			await t.enqueue(k, l, k)
			await t.transaction((tx) => t.store.insert([t.row(k)], tx), 'commit')
			for (let n = 0; n < 3; n++) {
				const row = await t.claimOne({ isOrdered: true, keys: ['k'] })
				sequences.push(row.sequence)
				await t.settle([sent(row)])
			}
		}
		const increasing = [...new Set(sequences)].sort((a, b) => a - b)
		assert.deepEqual(sequences, increasing)
	},

	'a message keeps its sequence number for every attempt and after a replay': async (t) => {
		const { sequence } = await t.enqueueAndClaim(k)
		await t.advance(2 * HOUR)
		await t.expectClaimed({ sequence, attempt: 2 }, ORDERED)
		await t.advance(2 * HOUR)
		await t.die({}, ORDERED)
		await t.enqueueOne(k)
		await t.replay({}, MANY)
		await t.expectClaimed({ sequence, attempt: 1 }, ORDERED)
	},

	'treats the same key of another destination as another key': async (t) => {
		const [a, , b] = await t.enqueue(k, k, { ...k, destination: 'b' })
		const targets = [target({ ...ORDERED, destination: 'a' }), target({ ...ORDERED, destination: 'b' })]
		assert.deepEqual(idsOf((await t.claimTargets(targets)).rows), [a, b])
	},

	'distinguishes similar keys': async (t) => {
		const keys = ['k', 'K', 'k ', 'é', 'e\u0301', '%', '_', '1', '01']
		await t.expectClaim(await t.enqueue(...keys.map((key) => ({ key }))), ORDERED)
	},

	'an unordered target returns all messages of a key': async (t) => t.expectClaim(await t.enqueue(k, k, k)),

	'one claim can combine ordered and unordered targets': async (t) => {
		const [a] = await t.enqueue(k, k)
		const free = await t.enqueueMany(2, { ...k, destination: 'b' })
		const targets = [target({ destination: 'b' }), target({ ...ORDERED, destination: 'a' })]
		assert.deepEqual(idsOf((await t.claimTargets(targets)).rows), [...free, a])
	},

	'since applies to the first messages of keys': async (t) => {
		const now = await t.now()
		const late = { ...l, notBefore: now + 10 * MINUTE }
		const [, id] = await t.enqueue({ ...k, notBefore: now + MINUTE }, late)
		await t.advance(HOUR)
		await t.expectClaim([id], { ...ORDERED, since: now + 5 * MINUTE })
	},

	'concurrent claims give each key to one of them': async (t) => {
		await t.enqueue(...Array.from({ length: 30 }, (_, n) => ({ key: `k${n % 5}` })))
		for (let round = 0; round < 6; round++) {
			const claims = await t.concurrently(4, (store, n) =>
				t.claim({ ...ORDERED, owner: `r${n}`, limit: 3 }, store),
			)
			const keys = claims.flat().map((row) => row.key)
			assert.equal(new Set(keys).size, keys.length)
			for (const [n, rows] of claims.entries()) await t.settle(rows.map(sent), false, `r${n}`)
		}
	},

	'concurrent settle and claim never put two messages of a key in flight': async (t) => {
		const other = await t.other()
		const ids = await t.enqueueMany(12, k)
		const seen: string[] = []
		for (let round = 0; round < 40 && seen.length < ids.length; round++) {
			const rows = await t.claim(ORDERED)
			const [, more] = await Promise.all([t.settle(rows.map(sent)), t.claim(R2, other)])
			seen.push(...idsOf(rows), ...idsOf(more))
			assert.ok(rows.length <= 1 && more.length <= 1)
			await t.settle(more.map(sent), false, 'r2')
		}
		assert.deepEqual(seen, ids)
	},
}

const byKeys = (...keys: string[]) => ({ isOrdered: true, keys })

/** Steps after which a claim of the key `k` returns nothing. */
const returnsNothing = caseTable<(t: StoreHarness) => Promise<unknown>>(
	{
		'returns nothing for a key whose first message is not due': async (t) => {
			await t.enqueue(k, k)
			await t.fail(HOUR, byKeys('k'))
		},
		'returns nothing for a key blocked by a dead letter': async (t) => {
			await t.enqueue(k, k)
			await t.die({ afterDeadLetter: 'block' }, byKeys('k'))
		},
		'ignores the same key of another destination': (t) => t.enqueueOne({ ...k, destination: 'b' }),
		'returns nothing while the circuit is open': async (t) => {
			await t.enqueueOne(k)
			await t.store.pause('a', HOUR, 'retry-after')
		},
	},
	(name) => name,
	async (t, prepare) => {
		await prepare(t)
		await t.expectClaim([], byKeys('k'))
	},
)

export const claimByKey: CaseTable = {
	'returns only the first message of each key': async (t) => {
		const [k1, , l1] = await t.enqueue(k, k, l, { key: 'm' }, {})
		assert.deepEqual((await t.claimIds(byKeys('l', 'k'))).sort(), [k1, l1].sort())
	},

	'ignores since': async (t) => {
		const id = await t.enqueueOne(k)
		const since = (await t.now()) + HOUR
		await t.expectClaim([], { isOrdered: true, since })
		await t.expectClaim([id], { ...byKeys('k'), since })
	},

	'returns the next message of a key after the first was sent': async (t) => {
		for (const id of await t.enqueue(k, k, k)) {
			const row = await t.claimId(id, byKeys('k'))
			await t.expectClaim([], byKeys('k'))
			await t.settle([sent(row)])
		}
	},

	...returnsNothing,

	'returns nothing for unknown keys or an empty list': async (t) => {
		await t.enqueue(k, {})
		await t.expectClaim([], byKeys('x', 'y'))
		await t.expectClaim([], byKeys())
	},

	'applies the limit': async (t) => {
		await t.enqueue(k, l, { key: 'm' })
		await t.claimMany(2, { ...byKeys('k', 'l', 'm'), limit: 2 })
	},

	'returns a key that is listed twice once': async (t) => {
		const id = await t.enqueueOne(k)
		await t.expectClaimed({ id, attempt: 1 }, byKeys('k', 'k'))
	},
}

const runOf = (perKey: number, ...keys: string[]) => ({ isOrdered: true, keys, perKey })

export const claimRuns: CaseTable = {
	'perKey returns the first messages of each key in enqueue order': async (t) => {
		const [k1, l1, k2, , l2] = await t.enqueue(k, l, k, k, l, {})
		const claimed = await t.claim(runOf(2, 'k', 'l'))
		const ofKey = (key: string) => idsOf(claimed.filter((row) => row.key === key))
		assert.deepEqual(
			[ofKey('k'), ofKey('l')],
			[
				[k1, k2],
				[l1, l2],
			],
		)
	},

	'a run is in enqueue order although its first message was retried and is due after the others': async (
		t,
	) => {
		const ids = await t.enqueue(k, k, k)
		await t.fail(0, ORDERED)
		await t.advance(1)
		assert.deepEqual(await t.claimIds(runOf(3, 'k')), ids)
	},

	'a run ends before a message that is not due': async (t) => {
		const [first, second] = await t.enqueue(k, k, { ...k, notBefore: (await t.now()) + HOUR }, k)
		assert.deepEqual(await t.claimIds(runOf(9, 'k')), [first, second])
	},

	'a run ends before a message in flight': async (t) => {
		const [, , third, fourth] = await t.enqueue(k, k, k, k)
		const [one, two, , four] = await t.claimMany(4)
		await t.settle([release(one), release(two), release(four)])
		const ids = await t.claimIds(runOf(9, 'k'))
		assert.ok(!ids.includes(third) && !ids.includes(fourth))
	},

	'a run ends before a message that a dead letter blocks': async (t) => {
		const [first, second] = await t.enqueue(k, k, k)
		const [one, two, three] = await t.claimMany(3)
		await t.settle([release(one), dead(two, { afterDeadLetter: 'block' }), release(three)])
		await t.expectMessage(second, { status: 'dead', blocks: true })
		assert.deepEqual(await t.claimIds(runOf(9, 'k')), [first])
	},

	'runs do not exceed the limit, and the first message of each key comes before followers': async (t) => {
		const [k1, , , l1] = await t.enqueue(k, k, k, l, l)
		const ids = await t.claimIds({ ...runOf(3, 'k', 'l'), limit: 3 })
		assert.equal(ids.length, 3)
		assert.ok(ids.includes(k1) && ids.includes(l1))
	},

	'another relay claims nothing of a key while a run of it is held, before and after its first message was sent':
		async (t) => {
			await t.enqueue(k, k, k, k)
			const run = await t.claim(runOf(3, 'k'))
			for (const row of run) {
				await t.expectClaim([], R2)
				await t.expectClaim([], { ...runOf(1, 'k'), owner: 'r2' })
				await t.expectClaim([], { ...runOf(3, 'k'), owner: 'r2' })
				await t.settle([sent(row)])
			}
			await t.claimMany(1, R2)
		},

	'a released run is claimed again from its first message, with refunded attempts': async (t) => {
		const ids = await t.enqueue(k, k, k)
		const [first, ...rest] = await t.claim(runOf(3, 'k'))
		await t.settle([...rest.map((row) => release(row)), retry(required(first, 'the first message'), HOUR)])
		await t.expectClaim([], { ...runOf(3, 'k'), owner: 'r2' })
		await t.advance(HOUR)
		const again = await t.claim(runOf(3, 'k'))
		assert.deepEqual(
			again.map(({ id, attempt }) => [id, attempt]),
			ids.map((id, at) => [id, at === 0 ? 2 : 1]),
		)
	},

	'the rest of a released run becomes dead letters with its first message if so configured': async (t) => {
		const [, second, third] = await t.enqueue(k, k, k)
		const [first, ...rest] = await t.claim(runOf(3, 'k'))
		const died = dead(required(first, 'the first message'), { afterDeadLetter: 'dead-letter-rest' })
		await t.settle([...rest.map((row) => release(row)), died])
		for (const id of [second, third])
			await t.expectMessage(id, { status: 'dead', cause: 'predecessor-dead', attempts: 0 })
	},
}

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
