/** One at a time of each key, in the order of enqueuing, where a destination asks for it. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, idsOf, MINUTE, type StoreHarness, target } from '../harness/harness.ts'
import { release, retry, sent } from '../harness/settlements.ts'

const ORDERED = { isOrdered: true }

const k = { key: 'k' }

const claimedBy = (trial: StoreHarness, owner: string): Promise<string[]> =>
	trial.claimIds({ ...ORDERED, owner })

export const order: CaseTable = {
	'only the first of each key is given, and whatever has no key': async (trial) => {
		const [k1, , l1, free1, , free2] = await trial.enqueue(k, k, { key: 'l' }, {}, { key: 'l' }, {})
		assert.deepEqual(await trial.claimIds(ORDERED), [k1, l1, free1, free2])
		assert.deepEqual(await trial.claimIds({ ...ORDERED, owner: 'r2' }), [])
	},

	'a limit counts what is given and not what is passed over': async (trial) => {
		const [k1, , , , l1] = await trial.enqueue(k, k, k, k, { key: 'l' }, { key: 'm' })
		assert.deepEqual(await trial.claimIds({ ...ORDERED, limit: 2 }), [k1, l1])
	},

	'the next comes when the first was sent, and so on to the last': async (trial) => {
		const ids = await trial.enqueue(k, k, k)
		const seen: string[] = []
		for (let n = 0; n < 3; n++) {
			const row = await trial.claimOne(ORDERED)
			seen.push(row.id)
			assert.deepEqual(await claimedBy(trial, 'r2'), [])
			await trial.settle([sent(row)])
		}
		assert.deepEqual(seen, ids)
	},

	'the next comes when the first was sent and is kept as history': async (trial) => {
		const [, second] = await trial.enqueue(k, k)
		await trial.settle([sent(await trial.claimOne(ORDERED))], true)
		assert.deepEqual(await trial.claimIds(ORDERED), [second])
	},

	'the first goes before the others while it waits for a retry': async (trial) => {
		const [first] = await trial.enqueue(k, k)
		await trial.settle([retry(await trial.claimOne(ORDERED), HOUR)])
		assert.deepEqual(await trial.claimIds(ORDERED), [])
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds(ORDERED), [first])
	},

	'the first goes before the others when it was given back, even for later': async (trial) => {
		const [first] = await trial.enqueue(k, k)
		await trial.settle([release(await trial.claimOne(ORDERED))])
		const again = await trial.claimOne(ORDERED)
		assert.equal(again.id, first)
		await trial.settle([release(again, HOUR)])
		assert.deepEqual(await trial.claimIds(ORDERED), [])
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds(ORDERED), [first])
	},

	'the first goes before the others when its relay died': async (trial) => {
		const [first] = await trial.enqueue(k, k)
		await trial.claimOne({ ...ORDERED, leaseMs: MINUTE })
		await trial.advance(HOUR)
		assert.deepEqual(await claimedBy(trial, 'r2'), [first])
		assert.deepEqual(await claimedBy(trial, 'r3'), [])
	},

	'the order is that of enqueuing, though the first is due last': async (trial) => {
		const now = await trial.now()
		const [first, second] = await trial.enqueue({ ...k, notBefore: now + HOUR }, { ...k, notBefore: now })
		assert.deepEqual(await trial.claimIds(ORDERED), [])
		await trial.advance(2 * HOUR)
		const row = await trial.claimOne(ORDERED)
		assert.equal(row.id, first)
		await trial.settle([sent(row)])
		assert.deepEqual(await trial.claimIds(ORDERED), [second])
	},

	'the order is that of enqueuing, whatever the ids are': async (trial) => {
		const [low, high] = [trial.id(), trial.id()]
		await trial.enqueue({ ...k, id: high }, { ...k, id: low })
		assert.deepEqual(await trial.claimIds(ORDERED), [high])
	},

	'the same key at another destination is another key': async (trial) => {
		const [a] = await trial.enqueue(k, k)
		const b = await trial.enqueueOne({ ...k, destination: 'b' })
		const lanes = [target({ ...ORDERED, destination: 'a' }), target({ ...ORDERED, destination: 'b' })]
		assert.deepEqual(idsOf((await trial.claimTargets(lanes)).rows), [a, b])
	},

	'keys that differ in little are different keys': async (trial) => {
		const keys = ['k', 'K', 'k ', 'é', 'e\u0301', '%', '_', '1', '01']
		const ids = await trial.enqueue(...keys.map((key) => ({ key })))
		assert.deepEqual(await trial.claimIds(ORDERED), ids)
	},

	'a destination without order gives all of a key at once': async (trial) => {
		const ids = await trial.enqueue(k, k, k)
		assert.deepEqual(await trial.claimIds(), ids)
	},

	'one claim may hold lanes with order and without': async (trial) => {
		const [a] = await trial.enqueue(k, k)
		const free = await trial.enqueue({ ...k, destination: 'b' }, { ...k, destination: 'b' })
		const lanes = [target({ destination: 'b' }), target({ ...ORDERED, destination: 'a' })]
		assert.deepEqual(idsOf((await trial.claimTargets(lanes)).rows), [...free, a])
	},

	'a lower bound on the due time holds for heads as well': async (trial) => {
		const now = await trial.now()
		await trial.enqueueOne({ ...k, notBefore: now + MINUTE })
		const late = await trial.enqueueOne({ key: 'l', notBefore: now + 10 * MINUTE })
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds({ ...ORDERED, since: now + 5 * MINUTE }), [late])
	},

	'claims at the same time give each key to one of them': async (trial) => {
		const other = await trial.other()
		await trial.enqueue(...Array.from({ length: 30 }, (_, n) => ({ key: `k${n % 5}` })))
		for (let round = 0; round < 6; round++) {
			const claims = await Promise.all(
				['r1', 'r2', 'r3', 'r4'].map((owner, n) =>
					trial.claim({ ...ORDERED, owner, limit: 3 }, n % 2 ? other : trial.store),
				),
			)
			const keys = claims.flat().map((row) => row.key)
			assert.equal(new Set(keys).size, keys.length)
			for (const [n, rows] of claims.entries()) await trial.settle(rows.map(sent), false, `r${n + 1}`)
		}
	},

	'settling a head and claiming at the same time never gives two of a key': async (trial) => {
		const other = await trial.other()
		const ids = await trial.enqueue(...Array.from({ length: 12 }, () => k))
		const seen: string[] = []
		for (let round = 0; round < 40 && seen.length < ids.length; round++) {
			const rows = await trial.claim(ORDERED)
			seen.push(...idsOf(rows))
			assert.ok(rows.length <= 1)
			const [, more] = await Promise.all([
				trial.settle(rows.map(sent)),
				trial.claim({ ...ORDERED, owner: 'r2' }, other),
			])
			seen.push(...idsOf(more))
			assert.ok(more.length <= 1)
			await trial.settle(more.map(sent), false, 'r2')
		}
		assert.deepEqual(seen, ids)
	},
}
