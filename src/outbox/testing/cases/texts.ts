/** Unusual texts are stored unchanged, or sanitized if the database cannot hold them. */
import assert from 'node:assert/strict'
import type { StoredError } from '../../message/message.ts'
import { assertFields, HOUR, sum } from '../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../harness/harness.ts'
import { BOOM, dead, retry, sent } from '../harness/settlements.ts'

const ODD_TEXTS: readonly string[] = [
	"it's",
	'say "hi"',
	'back\\slash \\n \\u0041',
	'two\nlines\r\nand\ttabs',
	'emoji 🚚👩‍👩‍👧 and 漢字 and עברית',
	'e\u0301 is not \u00e9',
	' spaces around ',
	"'; DROP TABLE outbox; --",
	'$1 ?1 :name @x %s {} [] null',
	'\u0001\u001f\u007f\u0085\u2028\u2029\ufeff\ufffd',
	'__proto__',
	'x'.repeat(200),
]

const ODD_PAYLOADS: readonly string[] = [
	'null',
	'""',
	'0',
	'-0',
	'true',
	'{"nul":"\\u0000 and \\u0000"}',
	'{"lone":"\\ud800","other":"\\udfff"}',
	'{"emoji":"🚚","escaped":"\\ud83d\\ude9a"}',
	'12345678901234567890123',
	'[1.0,1e400,0.1000000000000000055]',
	'{ "b" : 1 ,\n\t"a" : 2 }',
	'{"a":1,"a":2}',
	'{"__proto__":{"x":1}}',
	'"\u2028\u2029"',
	`${'['.repeat(400)}${']'.repeat(400)}`,
]

/** Written alone, in a batch and in a transaction, and read by every way there is. */
const keepsPayload = async (t: StoreHarness, payload: string): Promise<void> => {
	await t.enqueueOne({ payload })
	await t.enqueue({ payload }, { payload, dedupeKey: t.id() })
	await t.transaction((tx) => t.store.insert([t.row({ payload })], tx), 'commit')
	const claimed = await t.claim()
	assert.equal(claimed.length, 4)
	for (const row of claimed) {
		assert.ok(row.payload === payload, `claimed as ${row.payload.slice(0, 100)}`)
		assert.ok((await t.find(row.id)).payload === payload)
	}
	await t.settle(claimed.map(sent))
}

export const texts: CaseTable = {
	'stores payloads unchanged, with escapes and big numbers': async (t) => {
		for (const payload of ODD_PAYLOADS) await keepsPayload(t, payload)
	},

	'stores a payload of a megabyte': async (t) => {
		await keepsPayload(t, JSON.stringify('säule🚚 '.repeat(110_000)))
	},

	'stores headers unchanged': async (t) => {
		for (const text of ODD_TEXTS) {
			const headers = JSON.stringify({ [text]: text })
			const row = await t.enqueueAndClaim({ headers })
			assert.equal(row.headers, headers)
			await t.expectMessage(row.id, { headers })
			await t.settle([sent(row)])
		}
	},

	'stores topics, destinations and keys unchanged, alone and in a batch': async (t) => {
		for (const text of ODD_TEXTS) {
			const part = { topic: text, destination: text, key: text }
			await t.enqueueOne(part)
			await t.enqueue(part, part)
			const claimed = await t.claim({ destination: text })
			assert.equal(claimed.length, 3)
			for (const row of claimed) assertFields(row, part)
			assert.deepEqual((await t.store.dueDestinations(MANY)).names, [text])
			assert.equal((await t.list(part)).length, 3)
			await t.settle(claimed.map(sent))
		}
	},

	'orders messages of unusual keys': async (t) => {
		for (const key of ODD_TEXTS) {
			const [first, second] = await t.enqueue({ key }, { key })
			await t.send(first, { isOrdered: true, keys: [key] })
			await t.send(second, { isOrdered: true })
		}
	},

	'distinguishes unusual dedupe keys and finds them again': async (t) => {
		const rows = ODD_TEXTS.map((dedupeKey) => t.row({ dedupeKey }))
		assert.equal((await t.store.insert(rows)).duplicates.size, 0)
		const again = ODD_TEXTS.map((dedupeKey) => t.row({ dedupeKey }))
		const { duplicates } = await t.store.insert(again)
		for (const [n, row] of again.entries()) assert.equal(duplicates.get(row.id), rows[n]?.id)
	},

	'accepts owners with unusual names': async (t) => {
		for (const owner of ODD_TEXTS) {
			const row = await t.enqueueAndClaim({}, { owner })
			await t.expectMessage(row.id, { lockedBy: owner })
			assert.deepEqual(await t.store.renew(owner, 1_000, [row]), [])
			await t.settle([sent(row)], false, owner)
		}
	},

	'accepts unusual names for circuits, buckets and permits': async ({ store }) => {
		for (const text of ODD_TEXTS) {
			const one = { destination: text, wanted: 1, inUse: 0, total: 1, leaseMs: 60_000 }
			await store.pause(text, 60_000, 'retry-after')
			assert.equal((await store.circuits([text]))[0]?.destination, text)
			assert.equal((await store.acquireTokens(text, 1, { limit: 1, intervalMs: 1_000, burst: 1 })).granted, 1)
			assert.equal(await store.acquirePermits({ ...one, owner: text }), 1)
			await store.removeRelay(text)
			assert.equal(await store.acquirePermits({ ...one, owner: 'another' }), 1)
		}
	},
}

const KEPT: readonly string[] = [
	'it\'s "odd" \\ \\u0041 \\x00 $1 ?1 %s \'; --',
	'two\nlines\tand 🚚 漢字 \u2028 \ufffd',
	'',
	'long '.repeat(20_000),
]

/** Texts that some databases cannot store. */
const HARD: readonly string[] = [
	'a NUL \u0000 inside',
	'\u0000',
	'a lone \ud800 surrogate',
	'\udfff first',
	'last \ud83d',
	'both \udc00\ud800 and \u0000',
]

const note = (message: string): StoredError => ({ ...BOOM, message })

export const errorTexts: CaseTable = {
	'stores error texts unchanged, for retries and dead letters': async (t) => {
		for (const message of KEPT) {
			const error = note(message)
			const row = await t.enqueueAndClaim()
			await t.settle([retry(row, 0, null, error)])
			await t.expectMessage(row.id, { error })
			await t.die({ error })
			await t.expectMessage(row.id, { error })
		}
	},

	'applies a retry whose error cannot be stored as it is': async (t) => {
		for (const message of HARD) {
			const row = await t.enqueueAndClaim()
			await t.settle([retry(row, HOUR, 5_000, note(message))])
			const found = await t.find(row.id)
			assertFields(found, { status: 'pending', attempts: 1, lockedBy: null })
			assert.ok(found.error !== null)
			await t.expectClaim([])
			await t.store.retryNow({ ids: [row.id] }, 1)
			await t.send(row.id)
		}
	},

	'applies a dead letter whose error cannot be stored as it is': async (t) => {
		for (const message of HARD) {
			const id = await t.enqueueOne()
			await t.die({ error: note(message), cause: 'retries-exhausted' })
			await t.expectMessage(id, { status: 'dead', attempts: 1, cause: 'retries-exhausted' })
		}
	},

	'settles the other messages of a batch with one bad text': async (t) => {
		await t.enqueueMany(20)
		const rows = await t.claim()
		const bad = note('\u0000 and \ud800')
		await t.settle(
			rows.map((row, n) => {
				if (n === 7) return retry(row, HOUR, 1, bad)
				if (n === 13) return dead(row, { error: bad })
				return n % 3 === 0 ? sent(row) : n % 3 === 1 ? retry(row, HOUR) : dead(row)
			}),
			true,
		)
		await t.expectCounts({ processing: 0, sent: 7, pending: 6, dead: 7 })
		for (const [n, { id }] of rows.entries())
			if (n % 3 !== 0 && n !== 7 && n !== 13) await t.expectMessage(id, { error: BOOM })
	},

	'settles a batch of only bad texts': async (t) => {
		await t.enqueueMany(HARD.length)
		const rows = await t.claim()
		await t.settle(rows.map((row, n) => retry(row, HOUR, null, note(HARD[n] ?? ''))))
		await t.expectCounts({ pending: HARD.length })
	},

	'stores unusual error types and fingerprints': async (t) => {
		for (const text of HARD) {
			const error = { type: text, message: 'm', fingerprint: text }
			const row = await t.enqueueAndClaim()
			await t.settle([retry(row, 0, null, error)])
			await t.die({ error })
			await t.expectStatus('dead', [row.id])
		}
		const groups = await t.store.deadGroups({}, MANY)
		assert.equal(sum(groups.map(({ count }) => count)), HARD.length)
	},
}
