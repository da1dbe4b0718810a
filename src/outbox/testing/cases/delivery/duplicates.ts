/** A message with a dedupe key is not inserted while an earlier one with the same key exists in any table. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MANY, required, type StoreHarness } from '../../harness/harness.ts'
import { dead, retry, sent } from '../../harness/settlements.ts'

/** Tries to enqueue another with the key `d`, and answers whose it is. */
const second = async (t: StoreHarness): Promise<string | undefined> => {
	const row = t.row({ dedupeKey: 'd' })
	const { duplicates } = await t.store.insert([row])
	const holder = duplicates.get(row.id)
	assert.equal(duplicates.size, holder === undefined ? 0 : 1)
	assert.equal((await t.store.find(row.id)) === undefined, holder !== undefined)
	return holder
}

export const duplicates: CaseTable = {
	'finds a duplicate of a pending message': async (t) => {
		const id = await t.enqueueOne({ dedupeKey: 'd' })
		assert.equal(await second(t), id)
		assert.equal(await second(t), id)
	},

	'finds a duplicate of a scheduled message': async (t) => {
		const id = await t.enqueueOne({ dedupeKey: 'd', notBefore: (await t.now()) + HOUR })
		assert.equal(await second(t), id)
	},

	'finds a duplicate of a message in flight': async (t) => {
		const id = await t.enqueueOne({ dedupeKey: 'd' })
		await t.claimOne()
		assert.equal(await second(t), id)
	},

	'finds a duplicate of a message waiting for a retry': async (t) => {
		const id = await t.enqueueOne({ dedupeKey: 'd' })
		await t.settle([retry(await t.claimOne(), HOUR)])
		assert.equal(await second(t), id)
	},

	'finds a duplicate of a dead letter': async (t) => {
		const id = await t.addDeadLetter({ dedupeKey: 'd' })
		assert.equal(await second(t), id)
	},

	'finds a duplicate of a message dead-lettered after its predecessor': async (t) => {
		await t.enqueueOne({ key: 'k' })
		const id = await t.enqueueOne({ key: 'k', dedupeKey: 'd' })
		await t.settle([dead(await t.claimOne({ isOrdered: true }), { afterDeadLetter: 'dead-letter-rest' })])
		assert.equal(await second(t), id)
	},

	'finds a duplicate of a replayed message': async (t) => {
		const id = await t.addDeadLetter({ dedupeKey: 'd' })
		await t.store.replay({}, MANY)
		assert.equal(await second(t), id)
	},

	'finds a duplicate of a sent message in the history': async (t) => {
		const id = await t.enqueueOne({ dedupeKey: 'd' })
		await t.settle([sent(await t.claimOne())], true)
		assert.equal(await second(t), id)
	},

	'finds a duplicate of a discarded message in the history': async (t) => {
		const id = await t.addDeadLetter({ dedupeKey: 'd' })
		await t.store.discard({}, MANY, true)
		assert.equal(await second(t), id)
	},

	'accepts the key again after its message was sent without history': async (t) => {
		await t.enqueueOne({ dedupeKey: 'd' })
		await t.settle([sent(await t.claimOne())])
		assert.equal(await second(t), undefined)
	},

	'accepts the key again after its message was discarded': async (t) => {
		await t.addDeadLetter({ dedupeKey: 'd' })
		await t.store.discard({}, MANY, false)
		assert.equal(await second(t), undefined)
	},

	'accepts the key again after its history was dropped': async (t) => {
		await t.enqueueOne({ dedupeKey: 'd' })
		await t.settle([sent(await t.claimOne())], true)
		await t.advance(2 * HOUR)
		await t.store.dropHistory(HOUR, MANY)
		assert.equal(await second(t), undefined)
	},

	'accepts the key again after its transaction was rolled back': async (t) => {
		const row = t.row({ dedupeKey: 'd' })
		await t.transaction((tx) => t.store.insert([row], tx), 'rollback')
		assert.equal(await second(t), undefined)
	},

	'finds a duplicate regardless of topic and destination': async (t) => {
		const id = await t.enqueueOne({ dedupeKey: 'd', destination: 'b', topic: 'other' })
		assert.equal(await second(t), id)
	},

	'inserts the first of two in one batch': async (t) => {
		const rows = [1, 2, 3].map(() => t.row({ dedupeKey: 'd' }))
		const [first, next, last] = rows
		const { duplicates: found } = await t.store.insert(rows)
		const id = required(first, 'a row').id
		assert.deepEqual(
			[...found].sort(),
			[
				[required(next, 'a row').id, id],
				[required(last, 'a row').id, id],
			].sort(),
		)
		assert.deepEqual(await t.claimIds(), [id])
	},

	'inserts the other messages of a batch, with a key and without': async (t) => {
		const id = await t.enqueueOne({ dedupeKey: 'd' })
		const [plain, taken, free] = [t.row(), t.row({ dedupeKey: 'd' }), t.row({ dedupeKey: 'e' })]
		const { duplicates: found } = await t.store.insert([plain, taken, free])
		assert.deepEqual([...found], [[taken.id, id]])
		assert.deepEqual(await t.claimIds(), [id, plain.id, free.id])
	},

	'never treats messages without a dedupe key as duplicates': async (t) => {
		const { duplicates: found } = await t.store.insert([t.row(), t.row(), t.row()])
		assert.equal(found.size, 0)
		assert.equal((await t.claim()).length, 3)
	},

	'distinguishes keys by case, trailing spaces and Unicode composition': async (t) => {
		const texts = ['d', 'D', 'd ', ' d', 'é', 'e\u0301', '1', '01', '%', '_']
		const { duplicates: found } = await t.store.insert(texts.map((dedupeKey) => t.row({ dedupeKey })))
		assert.deepEqual([...found], [])
	},

	'finds duplicates inside a transaction': async (t) => {
		const id = await t.addDeadLetter({ dedupeKey: 'd' })
		const [taken, own, again] = [
			t.row({ dedupeKey: 'd' }),
			t.row({ dedupeKey: 'e' }),
			t.row({ dedupeKey: 'e' }),
		]
		const found = await t.transaction(async (tx) => {
			const first = await t.store.insert([taken, own], tx)
			const later = await t.store.insert([again], tx)
			return [...first.duplicates, ...later.duplicates]
		}, 'commit')
		assert.deepEqual(found, [
			[taken.id, id],
			[again.id, own.id],
		])
		assert.deepEqual(await t.claimIds(), [own.id])
	},

	'inserts one of several concurrent duplicates and returns its id for the others': async (t) => {
		const other = await t.other()
		const rows = Array.from({ length: 8 }, () => t.row({ dedupeKey: 'd' }))
		const all = await Promise.all(rows.map((row, n) => (n % 2 ? other : t.store).insert([row])))
		const winners = rows.filter((row, n) => all[n]?.duplicates.has(row.id) === false)
		assert.equal(winners.length, 1)
		for (const [n, row] of rows.entries()) {
			const holder = all[n]?.duplicates.get(row.id)
			assert.ok(holder === undefined || holder === winners[0]?.id)
		}
		assert.deepEqual(await t.claimIds(), [winners[0]?.id])
	},
}
