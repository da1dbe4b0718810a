/** Texts come out as they went in, whatever is in them. */
import assert from 'node:assert/strict'
import { type CaseTable, MANY, type StoreHarness, the } from '../harness/harness.ts'
import { sent } from '../harness/settlements.ts'

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
const keepsPayload = async (trial: StoreHarness, payload: string): Promise<void> => {
	const rows = [trial.row({ payload }), trial.row({ payload }), trial.row({ payload, dedupeKey: 'x' })]
	const mine = trial.row({ payload })
	const [first, ...others] = rows
	await trial.store.insert([the(first, 'a row')])
	await trial.store.insert(others)
	await trial.opened.transaction((tx) => trial.store.insert([mine], tx), 'commit')
	const claimed = await trial.claim()
	assert.equal(claimed.length, 4)
	for (const row of claimed) {
		assert.ok(row.payload === payload, `claimed as ${row.payload.slice(0, 100)}`)
		assert.ok((await trial.find(row.id)).payload === payload)
	}
	await trial.settle(claimed.map(sent))
}

export const oddTexts: CaseTable = {
	'payloads come out to the letter, with escapes, big numbers and all': async (trial) => {
		for (const payload of ODD_PAYLOADS) await keepsPayload(trial, payload)
	},

	'a payload of a megabyte comes out whole': async (trial) => {
		await keepsPayload(trial, JSON.stringify('säule🚚 '.repeat(110_000)))
	},

	'headers come out to the letter': async (trial) => {
		for (const text of ODD_TEXTS) {
			const headers = JSON.stringify({ [text]: text })
			const id = await trial.enqueueOne({ headers })
			assert.equal((await trial.find(id)).headers, headers)
			const row = await trial.claimOne()
			assert.equal(row.headers, headers)
			await trial.settle([sent(row)])
		}
	},

	'topics, destinations and keys come out to the letter, alone and in a batch': async (trial) => {
		for (const text of ODD_TEXTS) {
			const part = { topic: text, destination: text, key: text }
			await trial.enqueueOne(part)
			await trial.enqueue(part, part)
			const claimed = await trial.claim({ destination: text })
			assert.equal(claimed.length, 3)
			for (const row of claimed) assert.deepEqual([row.topic, row.destination, row.key], [text, text, text])
			assert.deepEqual((await trial.store.dueDestinations(MANY)).names, [text])
			assert.equal((await trial.store.list({ topic: text, key: text, destination: text }, MANY)).length, 3)
			await trial.settle(claimed.map(sent))
		}
	},

	'odd keys keep their order': async (trial) => {
		for (const key of ODD_TEXTS) {
			const [first, second] = await trial.enqueue({ key }, { key })
			const row = await trial.claimOne({ isOrdered: true, keys: [key] })
			assert.equal(row.id, first)
			await trial.settle([sent(row)])
			const next = await trial.claimOne({ isOrdered: true })
			assert.equal(next.id, second)
			await trial.settle([sent(next)])
		}
	},

	'odd dedupe keys are told from each other and found again': async (trial) => {
		const rows = ODD_TEXTS.map((dedupeKey) => trial.row({ dedupeKey }))
		assert.equal((await trial.store.insert(rows)).duplicates.size, 0)
		const again = ODD_TEXTS.map((dedupeKey) => trial.row({ dedupeKey }))
		const { duplicates } = await trial.store.insert(again)
		for (const [n, row] of again.entries()) assert.equal(duplicates.get(row.id), rows[n]?.id)
	},

	'owners with odd names hold what they claim': async (trial) => {
		for (const owner of ODD_TEXTS) {
			const id = await trial.enqueueOne()
			const row = await trial.claimOne({ owner })
			assert.equal((await trial.find(id)).lockedBy, owner)
			assert.deepEqual(await trial.store.renew(owner, 1_000, [row]), [])
			await trial.settle([sent(row)], false, owner)
		}
	},

	'gates, buckets and places may have odd names': async ({ store }) => {
		for (const text of ODD_TEXTS) {
			const one = { destination: text, wanted: 1, inUse: 0, total: 1, leaseMs: 60_000 }
			await store.pause(text, 60_000, 'retry-after')
			assert.deepEqual(
				(await store.circuits([text])).map((gate) => gate.destination),
				[text],
			)
			assert.equal((await store.acquireTokens(text, 1, { limit: 1, intervalMs: 1_000, burst: 1 })).granted, 1)
			assert.equal(await store.acquirePermits({ ...one, owner: text }), 1)
			await store.removeRelay(text)
			assert.equal(await store.acquirePermits({ ...one, owner: 'another' }), 1)
		}
	},
}
