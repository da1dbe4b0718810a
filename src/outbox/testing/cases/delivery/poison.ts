/** Messages whose processes crashed repeatedly are claimed apart from the others. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MINUTE, type StoreHarness } from '../../harness/harness.ts'
import { release, retry, sent } from '../../harness/settlements.ts'

const AFTER_3 = { poisonAfter: 3 }
const CANDIDATES = { ...AFTER_3, poisonCandidates: true }

/** Claims all messages `times` times with relays that crash. */
const crash = async (t: StoreHarness, times: number): Promise<void> => {
	for (let n = 0; n < times; n++) {
		await t.claim({ leaseMs: MINUTE })
		await t.advance(MINUTE + 1)
	}
}

export const poisonCandidates: CaseTable = {
	'a message with fewer crashes is not a candidate': async (t) => {
		const id = await t.enqueueOne()
		await crash(t, 2)
		assert.deepEqual(await t.claimIds(CANDIDATES), [])
		await t.expectClaimed({ id, crashes: 2 }, AFTER_3)
	},

	'counts the crash that the claim discovers': async (t) => {
		const id = await t.enqueueOne()
		await crash(t, 3)
		assert.deepEqual(await t.claimIds(AFTER_3), [])
		await t.expectClaimed({ id, crashes: 3, attempt: 4 }, CANDIDATES)
	},

	'one crash suffices with poisonAfter 1': async (t) => {
		const id = await t.enqueueOne()
		await crash(t, 1)
		assert.deepEqual(await t.claimIds({ poisonAfter: 1 }), [])
		assert.deepEqual(await t.claimIds({ poisonAfter: 1, poisonCandidates: true }), [id])
	},

	'a claim of candidates returns only candidates, other claims only others': async (t) => {
		const candidate = await t.enqueueOne()
		await crash(t, 3)
		const healthy = await t.enqueue({}, {})
		assert.deepEqual(await t.claimIds(AFTER_3), healthy)
		assert.deepEqual(await t.claimIds(CANDIDATES), [candidate])
	},

	'candidates at the head of the queue leave the limit to others': async (t) => {
		await t.enqueue({}, {}, {})
		await crash(t, 3)
		const healthy = await t.enqueue({}, {})
		assert.deepEqual(await t.claimIds({ ...AFTER_3, limit: 2 }), healthy)
	},

	'a candidate in flight is not returned again': async (t) => {
		await t.enqueueOne()
		await crash(t, 3)
		await t.claimOne(CANDIDATES)
		assert.deepEqual(await t.claimIds({ ...CANDIDATES, owner: 'r2' }), [])
		assert.deepEqual(await t.claimIds({ ...AFTER_3, owner: 'r2' }), [])
	},

	'returns candidates in order, at most limit': async (t) => {
		const ids = await t.enqueue({}, {}, {})
		await crash(t, 3)
		assert.deepEqual(await t.claimIds({ ...CANDIDATES, limit: 1 }), ids.slice(0, 1))
		assert.deepEqual(await t.claimIds({ ...CANDIDATES, limit: 5 }), ids.slice(1))
	},

	'returns only candidates of requested destinations': async (t) => {
		await t.enqueueOne()
		await crash(t, 3)
		assert.deepEqual(await t.claimIds({ ...CANDIDATES, destination: 'b' }), [])
	},

	'a released candidate stays a candidate': async (t) => {
		const id = await t.enqueueOne()
		await crash(t, 3)
		await t.settle([release(await t.claimOne(CANDIDATES))])
		assert.deepEqual(await t.claimIds(AFTER_3), [])
		assert.deepEqual(await t.claimIds(CANDIDATES), [id])
	},

	'a candidate that failed without a crash is none any more': async (t) => {
		const id = await t.enqueueOne()
		await crash(t, 3)
		await t.settle([retry(await t.claimOne(CANDIDATES), MINUTE)])
		await t.advance(HOUR)
		assert.deepEqual(await t.claimIds(CANDIDATES), [])
		await t.expectClaimed({ id, crashes: 0 }, AFTER_3)
	},

	'a candidate can be sent': async (t) => {
		const id = await t.enqueueOne()
		await crash(t, 3)
		await t.settle([sent(await t.claimOne(CANDIDATES))])
		assert.equal(await t.store.find(id), undefined)
	},

	'a candidate at the head of a key blocks later ones and is returned only to claims of candidates': async (
		t,
	) => {
		const ordered = { ...AFTER_3, isOrdered: true }
		const [head] = await t.enqueue({ key: 'k' }, { key: 'k' })
		for (let n = 0; n < 3; n++) {
			assert.deepEqual(await t.claimIds({ ...ordered, leaseMs: MINUTE }), [head])
			await t.advance(MINUTE + 1)
		}
		assert.deepEqual(await t.claimIds(ordered), [])
		assert.deepEqual(await t.claimIds({ ...ordered, poisonCandidates: true }), [head])
	},
}
