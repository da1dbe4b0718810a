/**
 * What went wrong is told by strangers: an error's text may hold anything. A text that can not be written must never keep a batch, nor its
 * own message, from being settled.
 */
import assert from 'node:assert/strict'
import type { StoredError } from '../../message/message.ts'
import { type CaseTable, HOUR, MANY } from '../harness/harness.ts'
import { BOOM, dead, retry, sent } from '../harness/settlements.ts'

const KEPT: readonly string[] = [
	'it\'s "odd" \\ \\u0041 \\x00 $1 ?1 %s \'; --',
	'two\nlines\tand 🚚 漢字 \u2028 \ufffd',
	'',
	'long '.repeat(20_000),
]

/** What some databases can not hold. */
const HARD: readonly string[] = [
	'a NUL \u0000 inside',
	'\u0000',
	'a lone \ud800 surrogate',
	'\udfff first',
	'last \ud83d',
	'both \udc00\ud800 and \u0000',
]

const note = (message: string, part: Partial<StoredError> = {}): StoredError => ({
	...BOOM,
	message,
	...part,
})

export const oddErrors: CaseTable = {
	'error texts come out to the letter, of retries and of dead letters': async (trial) => {
		for (const message of KEPT) {
			const error = note(message)
			const id = await trial.enqueueOne()
			await trial.settle([retry(await trial.claimOne(), 0, null, error)])
			assert.deepEqual((await trial.find(id)).error, error)
			await trial.settle([dead(await trial.claimOne(), { error })])
			assert.deepEqual((await trial.find(id)).error, error)
		}
	},

	'a retry whose error can not be written as it is takes place all the same': async (trial) => {
		for (const message of HARD) {
			const id = await trial.enqueueOne()
			await trial.settle([retry(await trial.claimOne(), HOUR, 5_000, note(message))])
			const found = await trial.find(id)
			assert.deepEqual([found.status, found.attempts, found.lockedBy], ['pending', 1, null])
			assert.ok(found.error !== null)
			assert.deepEqual(await trial.claimIds(), [])
			await trial.store.retryNow({ ids: [id] }, 1)
			await trial.settle([sent(await trial.claimOne())])
		}
	},

	'a death whose error can not be written as it is takes place all the same': async (trial) => {
		for (const message of HARD) {
			const id = await trial.enqueueOne()
			await trial.settle([dead(await trial.claimOne(), { error: note(message), cause: 'retries-exhausted' })])
			const found = await trial.find(id)
			assert.deepEqual([found.status, found.attempts, found.cause], ['dead', 1, 'retries-exhausted'])
		}
	},

	'one bad text in a batch keeps nobody else from being settled': async (trial) => {
		await trial.enqueue(...Array.from({ length: 20 }, () => ({})))
		const rows = await trial.claim()
		const bad = note('\u0000 and \ud800')
		await trial.settle(
			rows.map((row, n) => {
				if (n === 7) return retry(row, HOUR, 1, bad)
				if (n === 13) return dead(row, { error: bad })
				return n % 3 === 0 ? sent(row) : n % 3 === 1 ? retry(row, HOUR) : dead(row)
			}),
			true,
		)
		assert.equal((await trial.store.list({ status: 'processing' }, MANY)).length, 0)
		assert.equal((await trial.store.list({ status: 'sent' }, MANY)).length, 7)
		assert.equal((await trial.store.list({ status: 'pending' }, MANY)).length, 6)
		assert.equal((await trial.store.list({ status: 'dead' }, MANY)).length, 7)
		for (const [n, row] of rows.entries())
			if (n % 3 !== 0 && n !== 7 && n !== 13) assert.deepEqual((await trial.find(row.id)).error, BOOM)
	},

	'a batch of nothing but bad texts is settled': async (trial) => {
		await trial.enqueue(...HARD.map(() => ({})))
		const rows = await trial.claim()
		await trial.settle(rows.map((row, n) => retry(row, HOUR, null, note(HARD[n] ?? ''))))
		assert.equal((await trial.store.list({ status: 'pending' }, MANY)).length, HARD.length)
	},

	'odd types and fingerprints of errors harm nothing either': async (trial) => {
		for (const text of HARD) {
			const id = await trial.enqueueOne()
			const error = note('m', { type: text, fingerprint: text })
			await trial.settle([retry(await trial.claimOne(), 0, null, error)])
			await trial.settle([dead(await trial.claimOne(), { error })])
			assert.equal((await trial.find(id)).status, 'dead')
		}
		const groups = await trial.store.deadGroups({}, MANY)
		assert.equal(
			groups.reduce((sum, group) => sum + group.count, 0),
			HARD.length,
		)
	},
}
