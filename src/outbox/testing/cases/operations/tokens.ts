/** The token bucket that all relays share. One token per hour, so that a slow machine makes no difference. */
import assert from 'node:assert/strict'
import type { SharedRate } from '../../../store/rows.ts'
import { HOUR, MINUTE, sum } from '../../harness/assertions.ts'
import type { CaseTable, StoreHarness } from '../../harness/harness.ts'

/** One token per hour, with a burst of ten. */
const RATE: SharedRate = { limit: 5, intervalMs: 5 * HOUR, burst: 10 }

const take = async (t: StoreHarness, count: number, rate = RATE): Promise<number> =>
	(await t.store.acquireTokens('a', count, rate)).granted

/** Asserts how many tokens each of these requests gets. */
const expectGrants = async (
	t: StoreHarness,
	...requests: readonly (readonly [count: number, granted: number])[]
): Promise<void> => {
	for (const [count, granted] of requests) assert.equal(await take(t, count), granted)
}

export const tokens: CaseTable = {
	'grants the burst immediately, and nothing beyond': (t) => expectGrants(t, [4, 4], [4, 4], [4, 2], [4, 0]),

	'never grants more than the burst in one request': (t) => expectGrants(t, [1_000, 10]),

	'refills at the rate': async (t) => {
		await take(t, 10)
		await t.advance(HOUR)
		await expectGrants(t, [10, 1])
		await t.advance(3 * HOUR)
		await expectGrants(t, [10, 3], [1, 0])
	},

	'keeps fractions of a token when asked too early': async (t) => {
		await take(t, 10)
		for (let n = 0; n < 3; n++) {
			assert.equal(await take(t, 1), 0)
			await t.advance(20 * MINUTE)
		}
		assert.equal(await take(t, 1), 1)
	},

	'holds no more than the burst after any idle time': async (t) => {
		await take(t, 10)
		await t.advance(1_000 * HOUR)
		assert.equal(await take(t, 1_000), 10)
	},

	'returns when the next token is available': async (t) => {
		await take(t, 10)
		await t.advance(15 * MINUTE)
		const { granted, inMs } = await t.store.acquireTokens('a', 2, RATE)
		assert.equal(granted, 0)
		assert.ok(inMs > 40 * MINUTE && inMs <= 45 * MINUTE, `in ${inMs} ms`)
		await t.advance(Math.ceil(inMs))
		assert.equal(await take(t, 1), 1)
	},

	'returns the time to the next token after a partial grant': async (t) => {
		const { granted, inMs } = await t.store.acquireTokens('a', 12, RATE)
		assert.equal(granted, 10)
		assert.ok(inMs > 0 && inMs <= HOUR, `in ${inMs} ms`)
	},

	'accepts unused tokens back': async (t) => {
		await take(t, 10)
		await t.store.returnTokens('a', 3, RATE)
		assert.equal(await take(t, 10), 3)
	},

	'holds no more than the burst after tokens were returned': async (t) => {
		await take(t, 2)
		await t.store.returnTokens('a', 50, RATE)
		assert.equal(await take(t, 1_000), 10)
	},

	'holds no more than the burst after a return to an unused bucket': async (t) => {
		await t.store.returnTokens('a', 5, RATE)
		assert.equal(await take(t, 1_000), 10)
	},

	'keeps one bucket per destination': async (t) => {
		await take(t, 10)
		assert.equal((await t.store.acquireTokens('b', 10, RATE)).granted, 10)
	},

	'shares the bucket between stores': async (t) => {
		const other = await t.other()
		assert.equal((await other.acquireTokens('a', 7, RATE)).granted, 7)
		assert.equal(await take(t, 10), 3)
	},

	'concurrent requests get the burst together and no more': async (t) => {
		const grants = await t.concurrently(8, (store) => store.acquireTokens('a', 3, RATE))
		assert.equal(sum(grants.map(({ granted }) => granted)), 10)
	},

	'grants one at a time with a burst of one': async (t) => {
		const single = { limit: 1, intervalMs: HOUR, burst: 1 }
		assert.equal(await take(t, 5, single), 1)
		assert.equal(await take(t, 5, single), 0)
		await t.advance(5 * HOUR)
		assert.equal(await take(t, 5, single), 1)
	},

	'grants exactly the rate over a long time': async (t) => {
		let granted = 0
		for (let n = 0; n < 40; n++) {
			granted += await take(t, 3)
			await t.advance(30 * MINUTE)
		}
		// The burst and one an hour for the 19.5 hours until the last take, and not less either.
		assert.equal(granted, 29)
	},

	'acquiring tokens creates no circuit': async (t) => {
		await take(t, 50)
		assert.deepEqual(await t.store.circuits(['a']), [])
		await t.enqueueOne()
		await t.claimOne()
		const change = { state: 'open', pausedForMs: HOUR, reason: null, failedProbes: 0, delayMs: 0 } as const
		const { isApplied } = await t.store.changeCircuit({ destination: 'a', version: 0, ...change })
		assert.equal(isApplied, true)
	},

	'circuit and bucket of a destination are independent': async (t) => {
		await take(t, 8)
		await t.store.pause('a', HOUR, 'retry-after')
		assert.equal(await take(t, 5), 2)
		assert.equal((await t.store.circuits(['a']))[0]?.reason, 'retry-after')
	},
}
