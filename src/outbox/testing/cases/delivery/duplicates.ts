/** A message with a dedupe key is not inserted while an earlier one with the same key exists in any table. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MANY, required, type StoreHarness } from '../../harness/harness.ts'
import { retry, sent } from '../../harness/settlements.ts'

const d = { dedupeKey: 'd' }

/** Inserts another message with the key `d`. Returns the id of the message that has the key. */
const insertAgain = async (t: StoreHarness): Promise<string | undefined> => {
	const row = t.row(d)
	const { duplicates } = await t.store.insert([row])
	const holder = duplicates.get(row.id)
	assert.equal(duplicates.size, holder === undefined ? 0 : 1)
	assert.equal((await t.store.find(row.id)) === undefined, holder !== undefined)
	return holder
}

/** `prepare` returns the id of the message that has the key `d`, or undefined if the key is free again. */
const keyCase = (prepare: (t: StoreHarness) => Promise<string | undefined>) => async (t: StoreHarness) => {
	const id = await prepare(t)
	assert.equal(await insertAgain(t), id)
}

const sendOne = async (t: StoreHarness, keepHistory: boolean): Promise<string> => {
	const id = await t.enqueueOne(d)
	await t.settle([sent(await t.claimOne())], keepHistory)
	return id
}

export const duplicates: CaseTable = {
	'finds a duplicate of a pending message': async (t) => {
		const id = await t.enqueueOne(d)
		assert.equal(await insertAgain(t), id)
		assert.equal(await insertAgain(t), id)
	},

	'finds a duplicate of a scheduled message': keyCase(async (t) =>
		t.enqueueOne({ ...d, notBefore: (await t.now()) + HOUR }),
	),

	'finds a duplicate of a message in flight': keyCase(async (t) => {
		await t.enqueueOne(d)
		return (await t.claimOne()).id
	}),

	'finds a duplicate of a message waiting for a retry': keyCase(async (t) => {
		const id = await t.enqueueOne(d)
		await t.settle([retry(await t.claimOne(), HOUR)])
		return id
	}),

	'finds a duplicate of a dead letter': keyCase((t) => t.addDeadLetter(d)),

	'finds a duplicate of a message dead-lettered after its predecessor': keyCase(async (t) => {
		const [, id] = await t.enqueue({ key: 'k' }, { key: 'k', ...d })
		await t.deadLetterHead('dead-letter-rest')
		return id
	}),

	'finds a duplicate of a replayed message': keyCase(async (t) => {
		const id = await t.addDeadLetter(d)
		await t.store.replay({}, MANY)
		return id
	}),

	'finds a duplicate of a sent message in the history': keyCase((t) => sendOne(t, true)),

	'finds a duplicate of a discarded message in the history': keyCase(async (t) => {
		const id = await t.addDeadLetter(d)
		await t.store.discard({}, MANY, true)
		return id
	}),

	'accepts the key again after its message was sent without history': keyCase(async (t) => {
		await sendOne(t, false)
		return undefined
	}),

	'accepts the key again after its message was discarded': keyCase(async (t) => {
		await t.addDeadLetter(d)
		await t.store.discard({}, MANY, false)
		return undefined
	}),

	'accepts the key again after its history was dropped': keyCase(async (t) => {
		await sendOne(t, true)
		await t.advance(2 * HOUR)
		await t.store.dropHistory(HOUR, MANY)
		return undefined
	}),

	'accepts the key again after its transaction was rolled back': keyCase(async (t) => {
		await t.transaction((tx) => t.store.insert([t.row(d)], tx), 'rollback')
		return undefined
	}),

	'finds a duplicate regardless of topic and destination': keyCase((t) =>
		t.enqueueOne({ ...d, destination: 'b', topic: 'other' }),
	),

	'inserts the first of two in one batch': async (t) => {
		const rows = [1, 2, 3].map(() => t.row(d))
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
		const id = await t.enqueueOne(d)
		const [plain, duplicate, free] = [t.row(), t.row(d), t.row({ dedupeKey: 'e' })]
		const { duplicates: found } = await t.store.insert([plain, duplicate, free])
		assert.deepEqual([...found], [[duplicate.id, id]])
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
		const id = await t.addDeadLetter(d)
		const [duplicate, own, again] = [t.row(d), t.row({ dedupeKey: 'e' }), t.row({ dedupeKey: 'e' })]
		const found = await t.transaction(async (tx) => {
			const first = await t.store.insert([duplicate, own], tx)
			const later = await t.store.insert([again], tx)
			return [...first.duplicates, ...later.duplicates]
		}, 'commit')
		assert.deepEqual(found, [
			[duplicate.id, id],
			[again.id, own.id],
		])
		assert.deepEqual(await t.claimIds(), [own.id])
	},

	'inserts one of several concurrent duplicates and returns its id for the others': async (t) => {
		const other = await t.other()
		const rows = Array.from({ length: 8 }, () => t.row(d))
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
