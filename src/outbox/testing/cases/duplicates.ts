/** A dedupe key is taken until it expires, and as long as its message is queued or dead. */
import assert from 'node:assert/strict'
import type { Queryable } from '../../../sql/clients.ts'
import type { NewRow } from '../../store/rows.ts'
import { HOUR, MINUTE, sorted } from '../harness/assertions.ts'
import { type CaseTable, caseTable, MANY, type StoreHarness } from '../harness/harness.ts'
import { sent } from '../harness/settlements.ts'

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

/** States of a message that has the key `d`. Each function returns its id. */
const TAKEN: Readonly<Record<string, (t: StoreHarness) => Promise<string>>> = {
	'of a scheduled message': async (t) => t.enqueueOne({ ...d, notBefore: (await t.now()) + HOUR }),
	'of a message in flight': async (t) => (await t.enqueueAndClaim(d)).id,
	'of a message waiting for a retry': async (t) => {
		const id = await t.enqueueOne(d)
		await t.fail(HOUR)
		return id
	},
	'of a dead letter': (t) => t.addDeadLetter(d),
	'of a message dead-lettered after its predecessor': async (t) => {
		const [, id] = await t.enqueue({ key: 'k' }, { key: 'k', ...d })
		await t.deadLetterHead('dead-letter-rest')
		return id
	},
	'of a replayed message': afterDeath((t) => t.replay({}, MANY)),
	'of a sent message in the history': (t) => sendOne(t, true),
	'of a discarded message in the history': afterDeath((t) => t.discard({}, MANY, true)),
	'of a message that was sent without history': (t) => sendOne(t, false),
	'of a message that was discarded without history': afterDeath((t) => t.discard({}, MANY, false)),
	'of a message whose history was dropped': async (t) => {
		const id = await sendOne(t, true)
		await t.advance(2 * HOUR)
		await t.store.dropHistory(HOUR, MANY)
		return id
	},
	'regardless of topic and destination': (t) => t.enqueueOne({ ...d, destination: 'b', topic: 'other' }),
}

const finds = caseTable(
	TAKEN,
	(name) => `finds a duplicate ${name}`,
	async (t, prepare) => {
		const id = await prepare(t)
		assert.equal(await insertAgain(t), id)
	},
)

export const duplicates: CaseTable = {
	'finds a duplicate of a pending message': async (t) => {
		const id = await t.enqueueOne(d)
		assert.equal(await insertAgain(t), id)
		assert.equal(await insertAgain(t), id)
	},

	...finds,

	'accepts the key again after its transaction was rolled back': async (t) => {
		await t.transaction((tx) => t.store.insert([t.row(d)], tx), 'rollback')
		assert.equal(await insertAgain(t), undefined)
	},

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

/** The lifetime of keys here. Half an hour more, so that no key expires exactly at the time of a call. */
const LIFETIME = { dedupeForMs: 4.5 * HOUR }

/** Inserts a message with the key `d` and that lifetime. */
const insertShort = async (t: StoreHarness, part: Partial<NewRow> = {}): Promise<string> => {
	const row = t.row({ ...d, ...part })
	await t.store.insert([row], undefined, LIFETIME)
	return row.id
}

/** The states of a message that keep its key taken although its lifetime has ended. */
const staysTaken = caseTable<(t: StoreHarness) => Promise<unknown>>(
	{
		queued: async () => {},
		'in flight': (t) => t.claimOne(),
		'waiting for a retry': (t) => t.fail(9 * HOUR),
		dead: (t) => t.die(),
		replayed: async (t) => {
			await t.die()
			await t.replay({}, MANY)
		},
	},
	(state) => `an expired key stays taken while its message is ${state}`,
	async (t, steps) => {
		const id = await insertShort(t)
		await steps(t)
		await t.advance(6 * HOUR)
		assert.equal(await insertAgain(t), id)
		assert.equal(await t.store.dropDedupeKeys(MANY), 1)
		assert.equal(await insertAgain(t), id)
		await t.advance(6 * HOUR)
		assert.equal(await insertAgain(t), id)
	},
)

/** Inserts a message with this key, sends it and returns the key. */
const sendWithKey = async (t: StoreHarness, dedupeKey: string): Promise<string> => {
	await t.send(await insertShort(t, { dedupeKey }))
	return dedupeKey
}

/** Which of the keys are free. */
const freeAmong = async (t: StoreHarness, keys: readonly string[]): Promise<string[]> => {
	const rows = keys.map((dedupeKey) => t.row({ dedupeKey }))
	const { duplicates } = await t.store.insert(rows)
	return rows.flatMap(({ id, dedupeKey }) => (duplicates.has(id) ? [] : [dedupeKey ?? '']))
}

export const dedupeLifetime: CaseTable = {
	'finds a duplicate for a day by default': async (t) => {
		const id = await t.enqueueOne(d)
		await t.send(id)
		await t.advance(23 * HOUR)
		assert.equal(await insertAgain(t), id)
		await t.advance(2 * HOUR)
		assert.equal(await insertAgain(t), undefined)
	},

	'accepts a key again after its lifetime, and the new message has it for a lifetime of its own': async (
		t,
	) => {
		const first = await insertShort(t)
		await t.send(first)
		await t.advance(4 * HOUR)
		assert.equal(await insertAgain(t), first)
		await t.advance(HOUR)
		const second = await insertShort(t)
		await t.send(second)
		await t.advance(4 * HOUR)
		assert.equal(await insertAgain(t), second)
	},

	'counts the lifetime of a key from the time when its message is due': async (t) => {
		const id = await insertShort(t, { notBefore: (await t.now()) + 10 * HOUR })
		await t.advance(10 * HOUR)
		await t.send(id)
		await t.advance(4 * HOUR)
		assert.equal(await insertAgain(t), id)
		await t.advance(HOUR)
		assert.equal(await insertAgain(t), undefined)
	},

	'a notBefore in the past does not shorten the lifetime': async (t) => {
		const id = await insertShort(t, { notBefore: (await t.now()) - 9 * HOUR })
		await t.send(id)
		assert.equal(await insertAgain(t), id)
	},

	...staysTaken,

	'accepts an expired key again after its message was sent late': async (t) => {
		const id = await insertShort(t)
		await t.advance(9 * HOUR)
		assert.equal(await insertAgain(t), id)
		await t.send(id)
		assert.equal(await insertAgain(t), undefined)
	},

	'inserts one of two messages with the same expired key': async (t) => {
		await t.send(await insertShort(t))
		await t.advance(9 * HOUR)
		const [first, next] = [t.row(d), t.row(d)]
		const { duplicates: found } = await t.store.insert([first, next])
		assert.deepEqual([...found], [[next.id, first.id]])
		await t.expectClaim([first.id])
	},
}

export const expiredDedupeKeys: CaseTable = {
	'deletes expired keys and keeps the others': async (t) => {
		const old = await sendWithKey(t, 'old')
		await t.advance(3 * HOUR)
		const young = await sendWithKey(t, 'young')
		assert.equal(await t.store.dropDedupeKeys(MANY), 0)
		await t.advance(2 * HOUR)
		assert.equal(await t.store.dropDedupeKeys(MANY), 1)
		assert.equal(await t.store.dropDedupeKeys(MANY), 0)
		assert.deepEqual(await freeAmong(t, [old, young]), [old])
	},

	'deletes the oldest first, at most limit': async (t) => {
		for (const key of ['a', 'b', 'c', 'd', 'e']) {
			await sendWithKey(t, key)
			await t.advance(HOUR)
		}
		await t.advance(9 * HOUR)
		assert.deepEqual([await t.store.dropDedupeKeys(2), await t.store.dropDedupeKeys(2)], [2, 2])
		assert.deepEqual([await t.store.dropDedupeKeys(2), await t.store.dropDedupeKeys(2)], [1, 0])
	},

	'keys of queued and dead messages do not keep it from reaching later ones': async (t) => {
		for (let n = 0; n < 4; n++) await insertShort(t, { dedupeKey: `queued ${n}`, destination: 'b' })
		await t.advance(MINUTE)
		await sendWithKey(t, 'sent')
		await t.advance(6 * HOUR)
		assert.deepEqual([await t.store.dropDedupeKeys(4), await t.store.dropDedupeKeys(4)], [4, 1])
		assert.equal(await t.store.dropDedupeKeys(4), 0)
		await t.advance(2 * HOUR)
		assert.equal(await t.store.dropDedupeKeys(MANY), 4)
	},
}
