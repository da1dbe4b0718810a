/** Settling claimed messages: sent, retry and dead. */
import assert from 'node:assert/strict'
import { assertNear, type CaseTable, HOUR, idsOf, MANY, MINUTE } from '../../harness/harness.ts'
import { BOOM, dead, release, retry, sent } from '../../harness/settlements.ts'

const YEAR = 365 * 24 * HOUR

export const settle: CaseTable = {
	'removes a sent message': async (t) => {
		const id = await t.enqueueOne()
		await t.settle([sent(await t.claimOne())])
		assert.equal(await t.store.find(id), undefined)
		assert.deepEqual(await t.store.list({}, MANY), [])
		assert.deepEqual(await t.store.list({ status: 'sent' }, MANY), [])
	},

	'a failed message is due after its delay, with its error': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne()
		const now = await t.now()
		await t.settle([retry(row, HOUR)])
		const found = await t.find(id)
		assert.deepEqual([found.status, found.attempts, found.crashes], ['pending', 1, 0])
		assert.deepEqual([found.lockedBy, found.lockedAt, found.leaseUntil], [null, null, null])
		assert.deepEqual(found.error, BOOM)
		assertNear(found.dueAt, now + HOUR, 'dueAt')
		assertNear(found.lastAttemptAt, now, 'lastAttemptAt')
		assert.deepEqual(await t.claimIds(), [])
		await t.advance(HOUR)
		assert.equal((await t.claimOne({ owner: 'r2' })).attempt, 2)
	},

	'keeps the latest error': async (t) => {
		const id = await t.enqueueOne()
		await t.settle([retry(await t.claimOne(), 0)])
		const later = { type: 'TypeError', message: 'later', fingerprint: 'f-2' }
		await t.settle([retry(await t.claimOne(), 0, 0, later)])
		assert.deepEqual((await t.find(id)).error, later)
	},

	'a retry without delay is due immediately': async (t) => {
		const id = await t.enqueueOne()
		await t.settle([retry(await t.claimOne(), 0)])
		assert.deepEqual(await t.claimIds(), [id])
	},

	'accepts a retry in ten years': async (t) => {
		const id = await t.enqueueOne()
		const now = await t.now()
		await t.settle([retry(await t.claimOne(), 10 * YEAR)])
		assertNear((await t.find(id)).dueAt, now + 10 * YEAR, 'dueAt')
	},

	'moves a dead letter out of the queue with all its fields': async (t) => {
		const part = { topic: 't', key: 'k', payload: '[2]', headers: '{"h":"1"}', dedupeKey: 'd', maxRetries: 1 }
		const id = await t.enqueueOne(part)
		const before = await t.find(id)
		const row = await t.claimOne()
		const now = await t.now()
		await t.settle([dead(row, { cause: 'retries-exhausted' })])
		const { endedAt, lastAttemptAt, dueAt: _, ...found } = await t.find(id)
		const { endedAt: _e, lastAttemptAt: _l, dueAt: _d, ...fresh } = before
		assert.deepEqual(found, {
			...fresh,
			status: 'dead',
			attempts: 1,
			error: BOOM,
			cause: 'retries-exhausted',
		})
		assertNear(endedAt, now, 'endedAt')
		assertNear(lastAttemptAt, now, 'lastAttemptAt')
		await t.advance(9 * HOUR)
		assert.deepEqual(await t.claimIds({ owner: 'r2' }), [])
		assert.deepEqual((await t.store.dueDestinations(MANY)).names, [])
	},

	'accepts a dead letter without an error': async (t) => {
		const id = await t.addDeadLetter({}, { cause: 'expired', error: null })
		await t.expectMessage(id, { cause: 'expired', error: null })
	},

	'a dead letter without an error keeps the latest one': async (t) => {
		const id = await t.enqueueOne()
		await t.settle([retry(await t.claimOne(), 0)])
		await t.settle([dead(await t.claimOne(), { cause: 'expired', error: null })])
		assert.deepEqual((await t.find(id)).error, BOOM)
	},

	'stores every cause': async (t) => {
		for (const cause of [
			'retries-exhausted',
			'permanent',
			'expired',
			'crashed',
			'predecessor-dead',
		] as const) {
			const id = await t.addDeadLetter({}, { cause })
			assert.equal((await t.find(id)).cause, cause)
		}
	},

	'a dead letter keeps its crash count': async (t) => {
		const id = await t.enqueueOne()
		await t.claimOne({ leaseMs: MINUTE })
		await t.advance(HOUR)
		await t.settle([dead(await t.claimOne(), { cause: 'crashed', error: null })])
		await t.expectMessage(id, { crashes: 1, attempts: 2 })
	},

	'settles a batch with every outcome, several destinations and attempts': async (t) => {
		await t.enqueueOne()
		await t.settle([retry(await t.claimOne(), 0)])
		await t.enqueue({}, {}, {}, {})
		const [old, ...fresh] = await t.claim()
		const [gone, failed, released, died] = fresh
		const away = await t.enqueueOne({ destination: 'b' }).then(() => t.claimOne({ destination: 'b' }))
		assert.ok(old && gone && failed && released && died)
		await t.settle([sent(gone), dead(died), sent(old), retry(failed, HOUR), release(released), sent(away)])
		assert.equal(await t.store.find(gone.id), undefined)
		assert.equal(await t.store.find(old.id), undefined)
		assert.equal(await t.store.find(away.id), undefined)
		const rest = await Promise.all([failed, released, died].map((row) => t.find(row.id)))
		assert.deepEqual(
			rest.map((found) => [found.status, found.attempts]),
			[
				['pending', 1],
				['pending', 0],
				['dead', 1],
			],
		)
	},

	'accepts an empty batch': async ({ store }) => {
		assert.deepEqual(await store.settle('r1', [], false), [])
		assert.deepEqual(await store.settle('r1', [], true), [])
	},

	'reports lost claims and writes the others': async (t) => {
		await t.enqueue({}, {}, {}, {}, {})
		const [a, b, c, d, e] = await t.claimMany(5)
		const unknown = { id: t.id(), attempt: 1 }
		const older = { ...d, attempt: 0 }
		const newer = { ...e, attempt: 2 }
		const settlements = [
			sent(a),
			sent(unknown),
			retry(b, HOUR),
			dead(older),
			dead(c),
			retry(newer, 0),
			release(newer),
		]
		const lost = await t.store.settle('r1', settlements, false)
		assert.deepEqual([...new Set(lost)].sort(), [unknown.id, d.id, e.id].sort())
		assert.equal(await t.store.find(a.id), undefined)
		assert.equal((await t.find(b.id)).status, 'pending')
		assert.equal((await t.find(c.id)).status, 'dead')
		for (const row of [d, e]) assert.equal((await t.find(row.id)).status, 'processing')
	},

	'reports lost sent messages with history too, and keeps no history of them': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne()
		assert.deepEqual(await t.store.settle('r2', [sent(row)], true), [id])
		assert.deepEqual(await t.store.list({ status: 'sent' }, MANY), [])
		assert.equal((await t.find(id)).status, 'processing')
	},

	'reports a whole batch of another owner or attempt as lost, with and without history': async (t) => {
		await t.enqueue({}, {}, {})
		const rows = await t.claim()
		const others = rows.map((row) => ({ ...row, attempt: 2 }))
		for (const keepHistory of [true, false]) {
			const strange = await t.store.settle('r2', rows.map(sent), keepHistory)
			assert.deepEqual([...strange].sort(), idsOf(rows).sort())
			const early = await t.store.settle('r1', others.map(sent), keepHistory)
			assert.deepEqual([...early].sort(), idsOf(rows).sort())
		}
		assert.equal((await t.store.list({ status: 'processing' }, MANY)).length, 3)
		assert.deepEqual(await t.store.list({ status: 'sent' }, MANY), [])
	},

	'reports the second settlement of a claim as lost, whatever the first was': async (t) => {
		await t.enqueue({}, {}, {})
		const rows = await t.claim()
		const [a, b, c] = rows
		assert.ok(a && b && c)
		await t.settle([sent(a), retry(b, HOUR), dead(c)])
		const lost = await t.store.settle('r1', rows.map(sent), false)
		assert.deepEqual([...lost].sort(), idsOf(rows).sort())
		assert.equal((await t.find(b.id)).status, 'pending')
		assert.equal((await t.find(c.id)).status, 'dead')
	},

	'settles a batch of a thousand': async (t) => {
		await t.enqueue(...Array.from({ length: 1_000 }, () => ({})))
		const rows = await t.claim({ limit: MANY })
		await t.settle(
			rows.map((row, n) => (n % 3 === 0 ? sent(row) : n % 3 === 1 ? retry(row, HOUR) : dead(row))),
		)
		assert.equal((await t.store.list({ status: 'pending' }, MANY)).length, 333)
		assert.equal((await t.store.list({ status: 'dead' }, MANY)).length, 333)
	},

	'concurrent settle and claim do not interfere': async (t) => {
		await t.enqueue(...Array.from({ length: 20 }, () => ({})))
		const seen: string[] = []
		let rows = await t.claim({ limit: 5 })
		while (rows.length > 0 && seen.length < 100) {
			seen.push(...idsOf(rows))
			const [, next] = await Promise.all([t.settle(rows.map(sent)), t.claim({ limit: 5 })])
			rows = next
		}
		assert.equal(seen.length, 20)
		assert.equal(new Set(seen).size, 20)
		assert.deepEqual(await t.store.list({}, MANY), [])
	},

	'refundAttempt restores the attempts of a dead letter that was not attempted': async (t) => {
		const id = await t.enqueueOne()
		await t.settle([dead(await t.claimOne(), { cause: 'expired', refundAttempt: true })])
		await t.expectMessage(id, { status: 'dead', attempts: 0, lastAttemptAt: null })
	},
}
