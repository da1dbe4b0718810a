/** Inserting messages: fields, due time, batches and transactions. */
import assert from 'node:assert/strict'
import { assertNear, HOUR, idsOf } from '../harness/assertions.ts'
import { type CaseTable, MANY } from '../harness/harness.ts'

export const insert: CaseTable = {
	'stores a message as it was inserted, pending with 0 attempts': async (t) => {
		const now = await t.now()
		const row = t.row({
			topic: 'order.paid',
			destination: 'mail',
			key: 'order-7',
			payload: '{"total": 12.50, "lines": [1, 2]}',
			headers: '{"trace":"abc"}',
			dedupeKey: 'paid-7',
			expiresAt: now + 48 * HOUR,
			maxRetries: 7,
		})
		await t.store.insert([row])
		const { createdAt, dueAt, ...found } = await t.find(row.id)
		const { notBefore: _, ...written } = row
		assert.deepEqual(found, {
			...written,
			status: 'pending',
			attempts: 0,
			lastAttemptAt: null,
			error: null,
			crashes: 0,
			lockedAt: null,
			lockedBy: null,
			leaseUntil: null,
			endedAt: null,
			cause: null,
			blocks: false,
		})
		assertNear(createdAt, now, 'createdAt')
		assertNear(dueAt, now, 'dueAt')
	},

	'a batch whose messages differ only in id, destination and dedupe key, and one with different messages':
		async (t) => {
			const now = await t.now()
			const message = {
				topic: 'order.paid',
				key: 'order-7',
				payload: '{"total": 12.50}',
				headers: '{"trace":"abc"}',
				notBefore: now + HOUR,
				expiresAt: now + 48 * HOUR,
				maxRetries: 7,
			}
			const parts = [
				{ destination: 'mail', dedupeKey: 'paid-7:mail' },
				{ destination: 'billing', dedupeKey: null },
				{ destination: 'mail', dedupeKey: 'paid-7:again' },
			]
			for (const other of [{}, { payload: '{"total": 13}', headers: null }]) {
				const rows = parts.map((part, at) => t.row({ ...message, ...part, ...(at === 2 ? other : {}) }))
				const { duplicates } = await t.store.insert(rows)
				const written = rows.filter(({ id }) => !duplicates.has(id))
				assert.equal(written.length, other.payload === undefined ? 3 : 1)
				for (const { notBefore, ...row } of written)
					await t.expectMessage(row.id, { ...row, dueAt: notBefore })
			}
		},

	'stores omitted fields as null': async (t) => {
		const omitted = { key: null, headers: null, dedupeKey: null, expiresAt: null, maxRetries: null }
		await t.expectMessage(await t.enqueueOne(), omitted)
	},

	'distinguishes maxRetries 0 from no maxRetries': async (t) => {
		await t.expectMessage(await t.enqueueOne({ maxRetries: 0 }), { maxRetries: 0 })
		await t.expectClaimed({ maxRetries: 0 })
	},

	'keeps maxRetries 2147483647, which stands for no limit': async (t) => {
		const maxRetries = 2 ** 31 - 1
		const [single] = await t.enqueue({ maxRetries })
		const [, second] = await t.enqueue({}, { maxRetries })
		for (const id of [single, second]) await t.expectMessage(id, { maxRetries })
		assert.deepEqual(
			(await t.claim()).map((row) => row.maxRetries),
			[maxRetries, null, maxRetries],
		)
	},

	'a message with notBefore is due exactly then': async (t) => {
		const notBefore = (await t.now()) + 2 * HOUR
		const id = await t.enqueueOne({ notBefore })
		await t.expectMessage(id, { dueAt: notBefore })
		await t.expectClaim([])
		await t.advance(HOUR)
		await t.expectClaim([])
		await t.advance(HOUR)
		await t.expectClaim([id])
	},

	'a notBefore in the past means now': async (t) => {
		const id = await t.enqueueOne({ notBefore: (await t.now()) - HOUR })
		assert.deepEqual(await t.claimIds(), [id])
	},

	'finds nothing for an unknown id': (t) => t.expectGone('01890a5d-ffff-7000-8000-000000000001'),

	'accepts an empty list': async ({ store }) => {
		const inserted = await store.insert([])
		assert.equal(inserted.duplicates.size, 0)
		assert.deepEqual(await store.list({}, MANY), [])
	},

	'inserts a thousand rows in order': async (t) => {
		const rows = Array.from({ length: 1_000 }, (_, n) => t.row({ payload: String(n) }))
		await t.store.insert(rows)
		const claimed = await t.claim({ limit: MANY })
		assert.deepEqual(idsOf(claimed), idsOf(rows))
	},

	'keeps the fields of different messages in one batch apart': async (t) => {
		const now = await t.now()
		const rows = [
			t.row({ destination: 'b', key: 'k' }),
			t.row({ headers: '{"h":"1"}', dedupeKey: 'd' }),
			t.row({ notBefore: now + HOUR, maxRetries: 3 }),
			t.row({ expiresAt: now + HOUR, payload: 'null' }),
		]
		await t.store.insert(rows)
		for (const { notBefore: _, ...row } of rows) await t.expectMessage(row.id, row)
	},

	'inserts a batch completely or not at all': async (t) => {
		const id = await t.enqueueOne({ payload: '"first"' })
		const fresh = t.row()
		await assert.rejects(t.store.insert([fresh, t.row({ id, payload: '"second"' })]))
		assert.equal(await t.store.find(fresh.id), undefined)
		assert.equal((await t.find(id)).payload, '"first"')
	},

	'keeps the rows of a committed transaction': async (t) => {
		const rows = [t.row(), t.row()]
		const single = t.row()
		await t.transaction(async (tx) => {
			await t.store.insert(rows, tx)
			await t.store.insert([single], tx)
		}, 'commit')
		assert.deepEqual(await t.claimIds(), idsOf([...rows, single]))
	},

	'keeps no rows of a rolled back transaction': async (t) => {
		const rows = [t.row(), t.row({ dedupeKey: 'd' })]
		await t.transaction((tx) => t.store.insert(rows, tx), 'rollback')
		assert.deepEqual(await t.store.list({}, MANY), [])
		assert.deepEqual(await t.claimIds(), [])
	},

	'with requiresTransaction writes in a transaction, and nothing when it has ended': async (t) => {
		const [row, late] = [t.row({ dedupeKey: 'd' }), t.row()]
		const required = { requiresTransaction: true }
		const ended = await t.transaction(async (tx) => {
			const { isInTransaction } = await t.store.insert([row], tx, required)
			assert.notEqual(isInTransaction, false)
			return tx
		}, 'commit')
		// A transaction object of its own may reject.
		const inserted = await t.store.insert([late], ended, required).catch(() => undefined)
		assert.notEqual(inserted?.isInTransaction, true)
		assert.deepEqual(await t.claimIds(), [row.id])
	},

	'insertSync, where a store has it, writes before it returns, with the result of insert': async (t) => {
		const { store } = t
		if (store.insertSync === undefined) return
		const [first, second] = [t.row({ dedupeKey: 'd' }), t.row({ dedupeKey: 'd' })]
		await t.transaction(async (tx) => {
			assert.equal(store.insertSync?.([first], tx).duplicates.size, 0)
			const { duplicates, isInTransaction } = store.insertSync?.([t.row(), second], tx) ?? {}
			assert.deepEqual([...(duplicates ?? [])], [[second.id, first.id]])
			assert.notEqual(isInTransaction, false)
			assert.throws(() => store.insertSync?.([t.row(), { ...t.row(), id: first.id }], tx))
		}, 'commit')
		assert.equal((await t.claimIds()).length, 2)
	},

	'treats a message of a transaction like any other': async (t) => {
		const now = await t.now()
		const row = t.row({ key: 'k', notBefore: now + HOUR, headers: '{"a":"b"}', maxRetries: 2 })
		await t.transaction((tx) => t.store.insert([row], tx), 'commit')
		await t.expectMessage(row.id, { key: 'k', dueAt: now + HOUR, headers: '{"a":"b"}', maxRetries: 2 })
		assertNear((await t.find(row.id)).createdAt, now, 'createdAt')
	},

	'reports that the caller commits, where the client exposes it': async (t) => {
		for (const rows of [[t.row()], [t.row(), t.row({ dedupeKey: 'd' })]]) {
			const { isInTransaction } = await t.transaction((tx) => t.store.insert(rows, tx), 'commit')
			assert.notEqual(isInTransaction, false)
		}
	},

	'reports no transaction without tx': async (t) => {
		for (const rows of [[t.row()], [t.row(), t.row({ dedupeKey: 'd' })]])
			assert.notEqual((await t.store.insert(rows)).isInTransaction, true)
	},
}
