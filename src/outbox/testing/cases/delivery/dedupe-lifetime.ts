/** A dedupe key is taken until it expires, and as long as its message is queued or dead. */
import assert from 'node:assert/strict'
import type { NewRow } from '../../../store/rows.ts'
import { HOUR, MINUTE } from '../../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../../harness/harness.ts'
import { insertAgain } from './duplicates.ts'

const d = { dedupeKey: 'd' }

/** The lifetime of keys here. Half an hour more, so that no key expires exactly at the time of a call. */
const LIFETIME = { dedupeForMs: 4.5 * HOUR }

/** Inserts a message with the key `d` and that lifetime. */
const insertShort = async (t: StoreHarness, part: Partial<NewRow> = {}): Promise<string> => {
	const row = t.row({ ...d, ...part })
	await t.store.insert([row], undefined, LIFETIME)
	return row.id
}

/** A key stays taken although its lifetime has ended, as long as its message is in this state. */
const staysTaken = (state: string, steps: (t: StoreHarness) => Promise<unknown>): CaseTable => ({
	[`an expired key stays taken while its message is ${state}`]: async (t) => {
		const id = await insertShort(t)
		await steps(t)
		await t.advance(6 * HOUR)
		assert.equal(await insertAgain(t), id)
		assert.equal(await t.store.dropDedupeKeys(MANY), 1)
		assert.equal(await insertAgain(t), id)
		await t.advance(6 * HOUR)
		assert.equal(await insertAgain(t), id)
	},
})

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

	...staysTaken('queued', async () => {}),

	...staysTaken('in flight', async (t) => {
		await t.claimOne()
	}),

	...staysTaken('waiting for a retry', (t) => t.fail(9 * HOUR)),

	...staysTaken('dead', (t) => t.die()),

	...staysTaken('replayed', async (t) => {
		await t.die()
		await t.replay({}, MANY)
	}),

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
