/** What is written, when it can be seen, and in whose transaction. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, idsOf, MANY, near } from '../harness/harness.ts'

export const inserting: CaseTable = {
	'a message is found as it was written, pending and without a single attempt': async (trial) => {
		const now = await trial.now()
		const row = trial.row({
			topic: 'order.paid',
			destination: 'mail',
			key: 'order-7',
			payload: '{"total": 12.50, "lines": [1, 2]}',
			headers: '{"trace":"abc"}',
			dedupeKey: 'paid-7',
			expiresAt: now + 48 * HOUR,
			maxRetries: 7,
		})
		await trial.store.insert([row])
		const { createdAt, dueAt, ...found } = await trial.find(row.id)
		const { notBefore: _, ...written } = row
		assert.deepEqual(found, {
			...written,
			status: 'pending',
			attempts: 0,
			lastAttemptAt: null,
			error: null,
			lockedAt: null,
			lockedBy: null,
			leaseUntil: null,
			crashes: 0,
			endedAt: null,
			cause: null,
			blocks: false,
		})
		near(createdAt, now, 'createdAt')
		near(dueAt, now, 'dueAt')
	},

	'what was left out is null and no text': async (trial) => {
		const { key, headers, dedupeKey, expiresAt, maxRetries } = await trial.find(await trial.enqueueOne())
		assert.deepEqual([key, headers, dedupeKey, expiresAt, maxRetries], [null, null, null, null, null])
	},

	'no retries at all is another thing than no limit of its own': async (trial) => {
		const id = await trial.enqueueOne({ maxRetries: 0 })
		assert.equal((await trial.find(id)).maxRetries, 0)
		assert.equal((await trial.claimOne()).maxRetries, 0)
	},

	'a message with a time is due at exactly that time': async (trial) => {
		const notBefore = (await trial.now()) + 2 * HOUR
		const id = await trial.enqueueOne({ notBefore })
		assert.equal((await trial.find(id)).dueAt, notBefore)
		assert.deepEqual(await trial.claimIds(), [])
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds(), [])
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds(), [id])
	},

	'a time that is over means now': async (trial) => {
		const id = await trial.enqueueOne({ notBefore: (await trial.now()) - HOUR })
		assert.deepEqual(await trial.claimIds(), [id])
	},

	'an unknown id is not found': async ({ store }) => {
		assert.equal(await store.find('01890a5d-ffff-7000-8000-000000000001'), undefined)
	},

	'nothing to write is no trouble': async ({ store }) => {
		const inserted = await store.insert([])
		assert.equal(inserted.duplicates.size, 0)
		assert.deepEqual(await store.list({}, MANY), [])
	},

	'a thousand at once are all there, in their order': async (trial) => {
		const rows = Array.from({ length: 1_000 }, (_, n) => trial.row({ payload: String(n) }))
		await trial.store.insert(rows)
		const claimed = await trial.claim({ limit: MANY })
		assert.deepEqual(
			claimed.map((row) => row.payload),
			rows.map((row) => row.payload),
		)
	},

	'messages of many kinds in one batch each keep what is theirs': async (trial) => {
		const now = await trial.now()
		const rows = [
			trial.row({ destination: 'b', key: 'k' }),
			trial.row({ headers: '{"h":"1"}', dedupeKey: 'd' }),
			trial.row({ notBefore: now + HOUR, maxRetries: 3 }),
			trial.row({ expiresAt: now + HOUR, payload: 'null' }),
		]
		await trial.store.insert(rows)
		for (const row of rows) {
			const found = await trial.find(row.id)
			assert.deepEqual(
				[found.destination, found.key, found.headers, found.dedupeKey, found.maxRetries, found.expiresAt],
				[row.destination, row.key, row.headers, row.dedupeKey, row.maxRetries, row.expiresAt],
			)
			assert.equal(found.payload, row.payload)
		}
	},

	'a batch is written as a whole or not at all': async (trial) => {
		const id = await trial.enqueueOne({ payload: '"first"' })
		const fresh = trial.row()
		await assert.rejects(trial.store.insert([fresh, trial.row({ id, payload: '"second"' })]))
		assert.equal(await trial.store.find(fresh.id), undefined)
		assert.equal((await trial.find(id)).payload, '"first"')
	},

	'of a transaction that is committed everything stays': async (trial) => {
		const rows = [trial.row(), trial.row()]
		const single = trial.row()
		await trial.opened.transaction(async (tx) => {
			await trial.store.insert(rows, tx)
			await trial.store.insert([single], tx)
		}, 'commit')
		assert.deepEqual(await trial.claimIds(), idsOf([...rows, single]))
	},

	'of a transaction that is rolled back nothing stays': async (trial) => {
		const rows = [trial.row(), trial.row({ dedupeKey: 'd' })]
		await trial.opened.transaction((tx) => trial.store.insert(rows, tx), 'rollback')
		assert.deepEqual(await trial.store.list({}, MANY), [])
		assert.deepEqual(await trial.claimIds(), [])
	},

	'a message of a transaction is like any other': async (trial) => {
		const now = await trial.now()
		const row = trial.row({ key: 'k', notBefore: now + HOUR, headers: '{"a":"b"}', maxRetries: 2 })
		await trial.opened.transaction((tx) => trial.store.insert([row], tx), 'commit')
		const found = await trial.find(row.id)
		assert.deepEqual(
			[found.key, found.dueAt, found.headers, found.maxRetries],
			['k', now + HOUR, '{"a":"b"}', 2],
		)
		near(found.createdAt, now, 'createdAt')
	},

	'it is told that somebody else commits, as far as that can be told': async (trial) => {
		const one = await trial.opened.transaction((tx) => trial.store.insert([trial.row()], tx), 'commit')
		const many = await trial.opened.transaction(
			(tx) => trial.store.insert([trial.row(), trial.row({ dedupeKey: 'd' })], tx),
			'commit',
		)
		assert.notEqual(one.isInTransaction, false)
		assert.notEqual(many.isInTransaction, false)
	},

	'without a transaction of the user none is claimed to be there': async (trial) => {
		assert.notEqual((await trial.store.insert([trial.row()])).isInTransaction, true)
		const many = await trial.store.insert([trial.row(), trial.row({ dedupeKey: 'd' })])
		assert.notEqual(many.isInTransaction, true)
	},
}
