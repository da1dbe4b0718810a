/** Unusual texts: names, keys, payloads and errors are stored unchanged, or sanitized if the database cannot hold them. */
import assert from 'node:assert/strict'
import type { StoredError } from '../../../message/message.ts'
import { type CaseTable, HOUR, MANY, required, type StoreHarness } from '../../harness/harness.ts'
import { BOOM, dead, retry, sent } from '../../harness/settlements.ts'

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
	const rows = [t.row({ payload }), t.row({ payload }), t.row({ payload, dedupeKey: 'x' })]
	const mine = t.row({ payload })
	const [first, ...others] = rows
	await t.store.insert([required(first, 'a row')])
	await t.store.insert(others)
	await t.transaction((tx) => t.store.insert([mine], tx), 'commit')
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
			const id = await t.enqueueOne({ headers })
			assert.equal((await t.find(id)).headers, headers)
			const row = await t.claimOne()
			assert.equal(row.headers, headers)
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
			for (const row of claimed) assert.deepEqual([row.topic, row.destination, row.key], [text, text, text])
			assert.deepEqual((await t.store.dueDestinations(MANY)).names, [text])
			assert.equal((await t.store.list({ topic: text, key: text, destination: text }, MANY)).length, 3)
			await t.settle(claimed.map(sent))
		}
	},

	'orders messages of unusual keys': async (t) => {
		for (const key of ODD_TEXTS) {
			const [first, second] = await t.enqueue({ key }, { key })
			const row = await t.claimOne({ isOrdered: true, keys: [key] })
			assert.equal(row.id, first)
			await t.settle([sent(row)])
			const next = await t.claimOne({ isOrdered: true })
			assert.equal(next.id, second)
			await t.settle([sent(next)])
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
			const id = await t.enqueueOne()
			const row = await t.claimOne({ owner })
			assert.equal((await t.find(id)).lockedBy, owner)
			assert.deepEqual(await t.store.renew(owner, 1_000, [row]), [])
			await t.settle([sent(row)], false, owner)
		}
	},

	'accepts unusual names for circuits, buckets and permits': async ({ store }) => {
		for (const text of ODD_TEXTS) {
			const one = { destination: text, wanted: 1, inUse: 0, total: 1, leaseMs: 60_000 }
			await store.pause(text, 60_000, 'retry-after')
			assert.deepEqual(
				(await store.circuits([text])).map((circuit) => circuit.destination),
				[text],
			)
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

const note = (message: string, part: Partial<StoredError> = {}): StoredError => ({
	...BOOM,
	message,
	...part,
})

export const errorTexts: CaseTable = {
	'stores error texts unchanged, for retries and dead letters': async (t) => {
		for (const message of KEPT) {
			const error = note(message)
			const id = await t.enqueueOne()
			await t.settle([retry(await t.claimOne(), 0, null, error)])
			assert.deepEqual((await t.find(id)).error, error)
			await t.settle([dead(await t.claimOne(), { error })])
			assert.deepEqual((await t.find(id)).error, error)
		}
	},

	'applies a retry whose error cannot be stored as it is': async (t) => {
		for (const message of HARD) {
			const id = await t.enqueueOne()
			await t.settle([retry(await t.claimOne(), HOUR, 5_000, note(message))])
			const found = await t.find(id)
			assert.deepEqual([found.status, found.attempts, found.lockedBy], ['pending', 1, null])
			assert.ok(found.error !== null)
			assert.deepEqual(await t.claimIds(), [])
			await t.store.retryNow({ ids: [id] }, 1)
			await t.settle([sent(await t.claimOne())])
		}
	},

	'applies a dead letter whose error cannot be stored as it is': async (t) => {
		for (const message of HARD) {
			const id = await t.enqueueOne()
			await t.settle([dead(await t.claimOne(), { error: note(message), cause: 'retries-exhausted' })])
			await t.expectMessage(id, { status: 'dead', attempts: 1, cause: 'retries-exhausted' })
		}
	},

	'settles the other messages of a batch with one bad text': async (t) => {
		await t.enqueue(...Array.from({ length: 20 }, () => ({})))
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
		assert.equal((await t.store.list({ status: 'processing' }, MANY)).length, 0)
		assert.equal((await t.store.list({ status: 'sent' }, MANY)).length, 7)
		assert.equal((await t.store.list({ status: 'pending' }, MANY)).length, 6)
		assert.equal((await t.store.list({ status: 'dead' }, MANY)).length, 7)
		for (const [n, row] of rows.entries())
			if (n % 3 !== 0 && n !== 7 && n !== 13) assert.deepEqual((await t.find(row.id)).error, BOOM)
	},

	'settles a batch of only bad texts': async (t) => {
		await t.enqueue(...HARD.map(() => ({})))
		const rows = await t.claim()
		await t.settle(rows.map((row, n) => retry(row, HOUR, null, note(HARD[n] ?? ''))))
		assert.equal((await t.store.list({ status: 'pending' }, MANY)).length, HARD.length)
	},

	'stores unusual error types and fingerprints': async (t) => {
		for (const text of HARD) {
			const id = await t.enqueueOne()
			const error = note('m', { type: text, fingerprint: text })
			await t.settle([retry(await t.claimOne(), 0, null, error)])
			await t.settle([dead(await t.claimOne(), { error })])
			assert.equal((await t.find(id)).status, 'dead')
		}
		const groups = await t.store.deadGroups({}, MANY)
		assert.equal(
			groups.reduce((sum, group) => sum + group.count, 0),
			HARD.length,
		)
	},
}
