/** So many in each interval, all relays together. One token an hour here, so that a slow machine makes no difference. */
import assert from 'node:assert/strict'
import type { Rate } from '../../store/rows.ts'
import { type CaseTable, HOUR, MINUTE, type StoreHarness } from '../harness/harness.ts'

/** One an hour, ten at once after a pause. */
const RATE: Rate = { limit: 5, intervalMs: 5 * HOUR, burst: 10 }

const take = async (trial: StoreHarness, count: number, rate = RATE): Promise<number> =>
	(await trial.store.acquireTokens('a', count, rate)).granted

export const rates: CaseTable = {
	'the burst is there at once, and nothing beyond it': async (trial) => {
		assert.equal(await take(trial, 4), 4)
		assert.equal(await take(trial, 4), 4)
		assert.equal(await take(trial, 4), 2)
		assert.equal(await take(trial, 4), 0)
	},

	'more than the burst is never granted at once': async (trial) => {
		assert.equal(await take(trial, 1_000), 10)
	},

	'tokens come back with time, at the rate': async (trial) => {
		await take(trial, 10)
		await trial.advance(HOUR)
		assert.equal(await take(trial, 10), 1)
		await trial.advance(3 * HOUR)
		assert.equal(await take(trial, 10), 3)
		assert.equal(await take(trial, 1), 0)
	},

	'parts of a token are not lost by asking too early': async (trial) => {
		await take(trial, 10)
		for (let n = 0; n < 3; n++) {
			assert.equal(await take(trial, 1), 0)
			await trial.advance(20 * MINUTE)
		}
		assert.equal(await take(trial, 1), 1)
	},

	'after any pause there is the burst and no more': async (trial) => {
		await take(trial, 10)
		await trial.advance(1_000 * HOUR)
		assert.equal(await take(trial, 1_000), 10)
	},

	'it is told when one more could be granted, and then it is': async (trial) => {
		await take(trial, 10)
		await trial.advance(15 * MINUTE)
		const { granted, inMs } = await trial.store.acquireTokens('a', 2, RATE)
		assert.equal(granted, 0)
		assert.ok(inMs > 40 * MINUTE && inMs <= 45 * MINUTE, `in ${inMs} ms`)
		await trial.advance(Math.ceil(inMs))
		assert.equal(await take(trial, 1), 1)
	},

	'it is told as well when only some were granted': async (trial) => {
		const { granted, inMs } = await trial.store.acquireTokens('a', 12, RATE)
		assert.equal(granted, 10)
		assert.ok(inMs > 0 && inMs <= HOUR, `in ${inMs} ms`)
	},

	'what was not used can be given back': async (trial) => {
		await take(trial, 10)
		await trial.store.returnTokens('a', 3, RATE)
		assert.equal(await take(trial, 10), 3)
	},

	'giving back never makes more than the burst': async (trial) => {
		await take(trial, 2)
		await trial.store.returnTokens('a', 50, RATE)
		assert.equal(await take(trial, 1_000), 10)
	},

	'giving back to a bucket that nobody used gives no more than the burst': async (trial) => {
		await trial.store.returnTokens('a', 5, RATE)
		assert.equal(await take(trial, 1_000), 10)
	},

	'each destination has a bucket of its own': async (trial) => {
		await take(trial, 10)
		assert.equal((await trial.store.acquireTokens('b', 10, RATE)).granted, 10)
	},

	'all stores on a database take from the same bucket': async (trial) => {
		const other = await trial.other()
		assert.equal((await other.acquireTokens('a', 7, RATE)).granted, 7)
		assert.equal(await take(trial, 10), 3)
	},

	'takers at the same time get the burst together and no more': async (trial) => {
		const other = await trial.other()
		const grants = await Promise.all(
			Array.from({ length: 8 }, (_, n) => (n % 2 ? other : trial.store).acquireTokens('a', 3, RATE)),
		)
		assert.equal(
			grants.reduce((sum, { granted }) => sum + granted, 0),
			10,
		)
	},

	'a burst of one goes one by one': async (trial) => {
		const single = { limit: 1, intervalMs: HOUR, burst: 1 }
		assert.equal(await take(trial, 5, single), 1)
		assert.equal(await take(trial, 5, single), 0)
		await trial.advance(5 * HOUR)
		assert.equal(await take(trial, 5, single), 1)
	},

	'over a long time no more than the rate is granted': async (trial) => {
		let granted = 0
		for (let n = 0; n < 40; n++) {
			granted += await take(trial, 3)
			await trial.advance(30 * MINUTE)
		}
		// The burst and one an hour for the 19.5 hours until the last take, and not less either.
		assert.equal(granted, 29)
	},

	'tokens are no trouble: they make no gate': async (trial) => {
		await take(trial, 50)
		assert.deepEqual(await trial.store.circuits(['a']), [])
		await trial.enqueueOne()
		assert.equal((await trial.claim()).length, 1)
		const { isApplied } = await trial.store.changeCircuit({
			destination: 'a',
			version: 0,
			state: 'open',
			pausedForMs: HOUR,
			reason: 'circuit-open',
			failedProbes: 0,
			delayMs: 0,
		})
		assert.equal(isApplied, true)
	},

	'a gate and a bucket of one destination leave each other alone': async (trial) => {
		await take(trial, 8)
		await trial.store.pause('a', HOUR, 'retry-after')
		assert.equal(await take(trial, 5), 2)
		assert.equal((await trial.store.circuits(['a']))[0]?.reason, 'retry-after')
	},
}
