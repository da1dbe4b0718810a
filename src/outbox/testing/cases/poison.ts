/** Messages whose processes crashed repeatedly are claimed apart from the others. */
import { HOUR, MINUTE } from '../harness/assertions.ts'
import type { CaseTable, StoreHarness } from '../harness/harness.ts'
import { release, sent } from '../harness/settlements.ts'

const AFTER_3 = { poisonAfter: 3 }
const CANDIDATES = { ...AFTER_3, poisonCandidates: true }

const crash = async (t: StoreHarness, times: number): Promise<void> => {
	for (let n = 0; n < times; n++) await t.crash()
}

/** Enqueues `count` messages, all of which are claimed during three crashes. */
const addCandidates = async (t: StoreHarness, count: number): Promise<string[]> => {
	const ids = await t.enqueueMany(count)
	await crash(t, 3)
	return ids
}

export const poisonCandidates: CaseTable = {
	'a message with fewer crashes is not a candidate': async (t) => {
		const id = await t.enqueueOne()
		await crash(t, 2)
		await t.expectClaim([], CANDIDATES)
		await t.expectClaimed({ id, crashes: 2 }, AFTER_3)
	},

	'counts the crash that the claim discovers': async (t) => {
		await addCandidates(t, 1)
		await t.expectClaim([], AFTER_3)
		await t.expectClaimed({ crashes: 3, attempt: 4 }, CANDIDATES)
	},

	'one crash suffices with poisonAfter 1': async (t) => {
		const id = await t.enqueueOne()
		await crash(t, 1)
		await t.expectClaim([], { poisonAfter: 1 })
		await t.expectClaim([id], { poisonAfter: 1, poisonCandidates: true })
	},

	'a claim of candidates returns only candidates, other claims only others': async (t) => {
		const candidates = await addCandidates(t, 1)
		await t.expectClaim(await t.enqueue({}, {}), AFTER_3)
		await t.expectClaim(candidates, CANDIDATES)
	},

	'candidates at the head of the queue leave the limit to others': async (t) => {
		await addCandidates(t, 3)
		await t.expectClaim(await t.enqueue({}, {}), { ...AFTER_3, limit: 2 })
	},

	'a candidate in flight is not returned again': async (t) => {
		await addCandidates(t, 1)
		await t.claimOne(CANDIDATES)
		await t.expectClaim([], { ...CANDIDATES, owner: 'r2' })
		await t.expectClaim([], { ...AFTER_3, owner: 'r2' })
	},

	'returns candidates in order, at most limit': async (t) => {
		const ids = await addCandidates(t, 3)
		await t.expectClaim(ids.slice(0, 1), { ...CANDIDATES, limit: 1 })
		await t.expectClaim(ids.slice(1), { ...CANDIDATES, limit: 5 })
	},

	'returns only candidates of requested destinations': async (t) => {
		await addCandidates(t, 1)
		await t.expectClaim([], { ...CANDIDATES, destination: 'b' })
	},

	'a released candidate stays a candidate': async (t) => {
		const ids = await addCandidates(t, 1)
		await t.settle([release(await t.claimOne(CANDIDATES))])
		await t.expectClaim([], AFTER_3)
		await t.expectClaim(ids, CANDIDATES)
	},

	'a candidate that failed without a crash is none any more': async (t) => {
		await addCandidates(t, 1)
		await t.fail(MINUTE, CANDIDATES)
		await t.advance(HOUR)
		await t.expectClaim([], CANDIDATES)
		await t.expectClaimed({ crashes: 0 }, AFTER_3)
	},

	'a candidate can be sent': async (t) => {
		const ids = await addCandidates(t, 1)
		await t.settle([sent(await t.claimOne(CANDIDATES))])
		await t.expectGone(...ids)
	},

	'a candidate at the head of a key blocks later ones and is returned only to claims of candidates': async (
		t,
	) => {
		const ordered = { ...AFTER_3, isOrdered: true }
		const [head] = await t.enqueue({ key: 'k' }, { key: 'k' })
		for (let n = 0; n < 3; n++) {
			await t.expectClaim([head], { ...ordered, leaseMs: MINUTE })
			await t.advance(MINUTE + 1)
		}
		await t.expectClaim([], ordered)
		await t.expectClaim([head], { ...ordered, poisonCandidates: true })
	},
}
