/** A message with a dedupe key is not inserted while the key is taken: until it expires, and as long as its message is queued or dead. */
import assert from 'node:assert/strict'
import type { Queryable } from '../../../../sql/clients.ts'
import { HOUR, sorted } from '../../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../../harness/harness.ts'
import { sent } from '../../harness/settlements.ts'

const d = { dedupeKey: 'd' }

/** Inserts another message with the key `d`. Returns the id of the message that has the key. */
export const insertAgain = async (t: StoreHarness): Promise<string | undefined> => {
	const row = t.row(d)
	const { duplicates } = await t.store.insert([row])
	const holder = duplicates.get(row.id)
	assert.equal(duplicates.size, holder === undefined ? 0 : 1)
	assert.equal((await t.store.find(row.id)) === undefined, holder !== undefined)
	return holder
}

/** `prepare` returns the id of the message that has the key `d`. */
const keyTaken = (prepare: (t: StoreHarness) => Promise<string>) => async (t: StoreHarness) => {
	const id = await prepare(t)
	assert.equal(await insertAgain(t), id)
}

/** `steps` free the key `d`. */
const keyFree = (steps: (t: StoreHarness) => Promise<unknown>) => async (t: StoreHarness) => {
	await steps(t)
	assert.equal(await insertAgain(t), undefined)
}

const afterDeath = (steps: (t: StoreHarness) => Promise<unknown>) => async (t: StoreHarness) => {
	const id = await t.addDeadLetter(d)
	await steps(t)
	return id
}

const sendOne = async (t: StoreHarness, keepHistory: boolean): Promise<string> => {
	const row = await t.enqueueAndClaim(d)
	await t.settle([sent(row)], keepHistory)
	return row.id
}

export const duplicates: CaseTable = {
	'finds a duplicate of a pending message': async (t) => {
		const id = await t.enqueueOne(d)
		assert.equal(await insertAgain(t), id)
		assert.equal(await insertAgain(t), id)
	},

	'finds a duplicate of a scheduled message': keyTaken(async (t) =>
		t.enqueueOne({ ...d, notBefore: (await t.now()) + HOUR }),
	),

	'finds a duplicate of a message in flight': keyTaken(async (t) => (await t.enqueueAndClaim(d)).id),

	'finds a duplicate of a message waiting for a retry': keyTaken(async (t) => {
		const id = await t.enqueueOne(d)
		await t.fail(HOUR)
		return id
	}),

	'finds a duplicate of a dead letter': keyTaken((t) => t.addDeadLetter(d)),

	'finds a duplicate of a message dead-lettered after its predecessor': keyTaken(async (t) => {
		const [, id] = await t.enqueue({ key: 'k' }, { key: 'k', ...d })
		await t.deadLetterHead('dead-letter-rest')
		return id
	}),

	'finds a duplicate of a replayed message': keyTaken(afterDeath((t) => t.replay({}, MANY))),

	'finds a duplicate of a sent message in the history': keyTaken((t) => sendOne(t, true)),

	'finds a duplicate of a discarded message in the history': keyTaken(
		afterDeath((t) => t.discard({}, MANY, true)),
	),

	'finds a duplicate of a message that was sent without history': keyTaken((t) => sendOne(t, false)),

	'finds a duplicate of a message that was discarded without history': keyTaken(
		afterDeath((t) => t.discard({}, MANY, false)),
	),

	'finds a duplicate of a message whose history was dropped': keyTaken(async (t) => {
		const id = await sendOne(t, true)
		await t.advance(2 * HOUR)
		await t.store.dropHistory(HOUR, MANY)
		return id
	}),

	'accepts the key again after its transaction was rolled back': keyFree((t) =>
		t.transaction((tx) => t.store.insert([t.row(d)], tx), 'rollback'),
	),

	'a failed batch takes no key': async (t) => {
		const taken = await t.enqueueOne()
		for (const rows of [[t.row({ ...d, id: taken })], [t.row(d), t.row({ id: taken })]]) {
			await assert.rejects(t.store.insert(rows))
			await t.transaction((tx) => assert.rejects(t.store.insert(rows, tx)), 'rollback')
		}
		assert.equal(await insertAgain(t), undefined)
	},

	'a failed message in a transaction that is committed takes no key': async (t) => {
		const taken = await t.enqueueOne()
		const insertFailing = async (tx: Queryable): Promise<void> => {
			await assert.rejects(t.store.insert([t.row({ ...d, id: taken })], tx))
		}
		// After the error, a client may reject the commit, which then is a rollback.
		await t.transaction(insertFailing, 'commit').catch(() => {})
		assert.equal(await insertAgain(t), undefined)
	},

	'finds a duplicate regardless of topic and destination': keyTaken((t) =>
		t.enqueueOne({ ...d, destination: 'b', topic: 'other' }),
	),

	'inserts the first of two in one batch': async (t) => {
		const [first, next, last] = [t.row(d), t.row(d), t.row(d)]
		const { duplicates: found } = await t.store.insert([first, next, last])
		assert.deepEqual(sorted(found.keys()), sorted([next.id, last.id]))
		assert.deepEqual([...found.values()], [first.id, first.id])
		await t.expectClaim([first.id])
	},

	'inserts the other messages of a batch, with a key and without': async (t) => {
		const id = await t.enqueueOne(d)
		const [plain, duplicate, free] = [t.row(), t.row(d), t.row({ dedupeKey: 'e' })]
		const { duplicates: found } = await t.store.insert([plain, duplicate, free])
		assert.deepEqual([...found], [[duplicate.id, id]])
		await t.expectClaim([id, plain.id, free.id])
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
			return [...first.duplicates, ...later.duplicates].flat()
		}, 'commit')
		assert.deepEqual(found, [duplicate.id, id, again.id, own.id])
		await t.expectClaim([own.id])
	},

	'inserts one of several concurrent duplicates and returns its id for the others': async (t) => {
		const other = await t.other()
		const rows = Array.from({ length: 8 }, () => t.row(d))
		const all = await Promise.all(rows.map((row, n) => (n % 2 ? other : t.store).insert([row])))
		const holders = rows.map((row, n) => all[n]?.duplicates.get(row.id))
		const winners = rows.filter((_, n) => holders[n] === undefined)
		assert.equal(winners.length, 1)
		for (const holder of holders) assert.ok(holder === undefined || holder === winners[0]?.id)
		await t.expectClaim([winners[0]?.id])
	},
}
