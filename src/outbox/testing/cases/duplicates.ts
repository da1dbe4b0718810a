/** A second message with the same dedupe key is not written as long as the first is known. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MANY, type StoreHarness, the } from '../harness/harness.ts'
import { dead, retry, sent } from '../harness/settlements.ts'

/** Tries to enqueue another with the key `d`, and answers whose it is. */
const second = async (trial: StoreHarness): Promise<string | undefined> => {
	const row = trial.row({ dedupeKey: 'd' })
	const { duplicates } = await trial.store.insert([row])
	const holder = duplicates.get(row.id)
	assert.equal(duplicates.size, holder === undefined ? 0 : 1)
	assert.equal((await trial.store.find(row.id)) === undefined, holder !== undefined)
	return holder
}

export const duplicates: CaseTable = {
	'a key is taken while its message waits': async (trial) => {
		const id = await trial.enqueueOne({ dedupeKey: 'd' })
		assert.equal(await second(trial), id)
		assert.equal(await second(trial), id)
	},

	'a key is taken while its message is not due yet': async (trial) => {
		const id = await trial.enqueueOne({ dedupeKey: 'd', notBefore: (await trial.now()) + HOUR })
		assert.equal(await second(trial), id)
	},

	'a key is taken while its message is in flight': async (trial) => {
		const id = await trial.enqueueOne({ dedupeKey: 'd' })
		await trial.claimOne()
		assert.equal(await second(trial), id)
	},

	'a key is taken while its message waits for a retry': async (trial) => {
		const id = await trial.enqueueOne({ dedupeKey: 'd' })
		await trial.settle([retry(await trial.claimOne(), HOUR)])
		assert.equal(await second(trial), id)
	},

	'a key is taken while its message is a dead letter': async (trial) => {
		const id = await trial.bury({ dedupeKey: 'd' })
		assert.equal(await second(trial), id)
	},

	'a key is taken by a message that was parked': async (trial) => {
		await trial.enqueueOne({ key: 'k' })
		const id = await trial.enqueueOne({ key: 'k', dedupeKey: 'd' })
		await trial.settle([
			dead(await trial.claimOne({ isOrdered: true }), { afterDeadLetter: 'dead-letter-rest' }),
		])
		assert.equal(await second(trial), id)
	},

	'a key is taken by a message that was replayed': async (trial) => {
		const id = await trial.bury({ dedupeKey: 'd' })
		await trial.store.replay({}, MANY)
		assert.equal(await second(trial), id)
	},

	'a key is taken while its message is kept as history': async (trial) => {
		const id = await trial.enqueueOne({ dedupeKey: 'd' })
		await trial.settle([sent(await trial.claimOne())], true)
		assert.equal(await second(trial), id)
	},

	'a key is taken while its message was discarded and is kept as history': async (trial) => {
		const id = await trial.bury({ dedupeKey: 'd' })
		await trial.store.discard({}, MANY, true)
		assert.equal(await second(trial), id)
	},

	'a key is free again when its message was sent and is not kept': async (trial) => {
		await trial.enqueueOne({ dedupeKey: 'd' })
		await trial.settle([sent(await trial.claimOne())])
		assert.equal(await second(trial), undefined)
	},

	'a key is free again when its message was discarded': async (trial) => {
		await trial.bury({ dedupeKey: 'd' })
		await trial.store.discard({}, MANY, false)
		assert.equal(await second(trial), undefined)
	},

	'a key is free again when the history was dropped': async (trial) => {
		await trial.enqueueOne({ dedupeKey: 'd' })
		await trial.settle([sent(await trial.claimOne())], true)
		await trial.advance(2 * HOUR)
		await trial.store.dropHistory(HOUR, MANY)
		assert.equal(await second(trial), undefined)
	},

	'a key is free again when its transaction was rolled back': async (trial) => {
		const row = trial.row({ dedupeKey: 'd' })
		await trial.opened.transaction((tx) => trial.store.insert([row], tx), 'rollback')
		assert.equal(await second(trial), undefined)
	},

	'a key is taken whatever the topic and the destination are': async (trial) => {
		const id = await trial.enqueueOne({ dedupeKey: 'd', destination: 'b', topic: 'other' })
		assert.equal(await second(trial), id)
	},

	'of two in one batch the first is written': async (trial) => {
		const rows = [1, 2, 3].map(() => trial.row({ dedupeKey: 'd' }))
		const [first, next, last] = rows
		const { duplicates: found } = await trial.store.insert(rows)
		const id = the(first, 'a row').id
		assert.deepEqual(
			[...found].sort(),
			[
				[the(next, 'a row').id, id],
				[the(last, 'a row').id, id],
			].sort(),
		)
		assert.deepEqual(await trial.claimIds(), [id])
	},

	'the others of a batch are written, with a key and without': async (trial) => {
		const id = await trial.enqueueOne({ dedupeKey: 'd' })
		const [plain, taken, free] = [trial.row(), trial.row({ dedupeKey: 'd' }), trial.row({ dedupeKey: 'e' })]
		const { duplicates: found } = await trial.store.insert([plain, taken, free])
		assert.deepEqual([...found], [[taken.id, id]])
		assert.deepEqual(await trial.claimIds(), [id, plain.id, free.id])
	},

	'messages without a dedupe key are never duplicates': async (trial) => {
		const { duplicates: found } = await trial.store.insert([trial.row(), trial.row(), trial.row()])
		assert.equal(found.size, 0)
		assert.equal((await trial.claim()).length, 3)
	},

	'keys differ by case, by spaces at the end and by how a letter is composed': async (trial) => {
		const texts = ['d', 'D', 'd ', ' d', 'é', 'e\u0301', '1', '01', '%', '_']
		const { duplicates: found } = await trial.store.insert(texts.map((dedupeKey) => trial.row({ dedupeKey })))
		assert.deepEqual([...found], [])
	},

	'inside of a transaction duplicates are told as well': async (trial) => {
		const id = await trial.bury({ dedupeKey: 'd' })
		const [taken, own, again] = [
			trial.row({ dedupeKey: 'd' }),
			trial.row({ dedupeKey: 'e' }),
			trial.row({ dedupeKey: 'e' }),
		]
		const found = await trial.opened.transaction(async (tx) => {
			const first = await trial.store.insert([taken, own], tx)
			const later = await trial.store.insert([again], tx)
			return [...first.duplicates, ...later.duplicates]
		}, 'commit')
		assert.deepEqual(found, [
			[taken.id, id],
			[again.id, own.id],
		])
		assert.deepEqual(await trial.claimIds(), [own.id])
	},

	'of several at the same time one is written, and the others are told which': async (trial) => {
		const other = await trial.other()
		const rows = Array.from({ length: 8 }, () => trial.row({ dedupeKey: 'd' }))
		const all = await Promise.all(rows.map((row, n) => (n % 2 ? other : trial.store).insert([row])))
		const winners = rows.filter((row, n) => all[n]?.duplicates.has(row.id) === false)
		assert.equal(winners.length, 1)
		for (const [n, row] of rows.entries()) {
			const holder = all[n]?.duplicates.get(row.id)
			assert.ok(holder === undefined || holder === winners[0]?.id)
		}
		assert.deepEqual(await trial.claimIds(), [winners[0]?.id])
	},
}
