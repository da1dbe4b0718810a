/** What became of messages, written down in batches. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, idsOf, MANY, MINUTE, near } from '../harness/harness.ts'
import { BOOM, dead, release, retry, sent } from '../harness/settlements.ts'

const YEAR = 365 * 24 * HOUR

export const settling: CaseTable = {
	'a sent message is gone': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.settle([sent(await trial.claimOne())])
		assert.equal(await trial.store.find(id), undefined)
		assert.deepEqual(await trial.store.list({}, MANY), [])
		assert.deepEqual(await trial.store.list({ status: 'sent' }, MANY), [])
	},

	'a failed message is due again after its delay, with what went wrong': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne()
		const now = await trial.now()
		await trial.settle([retry(row, HOUR)])
		const found = await trial.find(id)
		assert.deepEqual([found.status, found.attempts, found.crashes], ['pending', 1, 0])
		assert.deepEqual([found.lockedBy, found.lockedAt, found.leaseUntil], [null, null, null])
		assert.deepEqual(found.error, BOOM)
		near(found.dueAt, now + HOUR, 'dueAt')
		near(found.lastAttemptAt, now, 'lastAttemptAt')
		assert.deepEqual(await trial.claimIds(), [])
		await trial.advance(HOUR)
		assert.equal((await trial.claimOne({ owner: 'r2' })).attempt, 2)
	},

	'the latest failure is the one that is kept': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.settle([retry(await trial.claimOne(), 0)])
		const later = { type: 'TypeError', message: 'later', fingerprint: 'f-2' }
		await trial.settle([retry(await trial.claimOne(), 0, 0, later)])
		assert.deepEqual((await trial.find(id)).error, later)
	},

	'a retry without a delay is due at once': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.settle([retry(await trial.claimOne(), 0)])
		assert.deepEqual(await trial.claimIds(), [id])
	},

	'a retry in ten years is no trouble': async (trial) => {
		const id = await trial.enqueueOne()
		const now = await trial.now()
		await trial.settle([retry(await trial.claimOne(), 10 * YEAR)])
		near((await trial.find(id)).dueAt, now + 10 * YEAR, 'dueAt')
	},

	'a dead letter is out of the queue and kept with all that is known': async (trial) => {
		const part = { topic: 't', key: 'k', payload: '[2]', headers: '{"h":"1"}', dedupeKey: 'd', maxRetries: 1 }
		const id = await trial.enqueueOne(part)
		const before = await trial.find(id)
		const row = await trial.claimOne()
		const now = await trial.now()
		await trial.settle([dead(row, { cause: 'retries-exhausted' })])
		const { endedAt, lastAttemptAt, dueAt: _, ...found } = await trial.find(id)
		const { endedAt: _e, lastAttemptAt: _l, dueAt: _d, ...fresh } = before
		assert.deepEqual(found, {
			...fresh,
			status: 'dead',
			attempts: 1,
			error: BOOM,
			cause: 'retries-exhausted',
		})
		near(endedAt, now, 'endedAt')
		near(lastAttemptAt, now, 'lastAttemptAt')
		await trial.advance(9 * HOUR)
		assert.deepEqual(await trial.claimIds({ owner: 'r2' }), [])
		assert.deepEqual((await trial.store.dueDestinations(MANY)).names, [])
	},

	'a dead letter needs no error': async (trial) => {
		const id = await trial.bury({}, { cause: 'expired', error: null })
		const found = await trial.find(id)
		assert.deepEqual([found.cause, found.error], ['expired', null])
	},

	'a death without an error of its own keeps the latest failure': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.settle([retry(await trial.claimOne(), 0)])
		await trial.settle([dead(await trial.claimOne(), { cause: 'expired', error: null })])
		assert.deepEqual((await trial.find(id)).error, BOOM)
	},

	'every cause of death is kept': async (trial) => {
		for (const cause of [
			'retries-exhausted',
			'permanent',
			'expired',
			'crashed',
			'predecessor-dead',
		] as const) {
			const id = await trial.bury({}, { cause })
			assert.equal((await trial.find(id)).cause, cause)
		}
	},

	'a death keeps the crashes that led to it': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.claimOne({ leaseMs: MINUTE })
		await trial.advance(HOUR)
		await trial.settle([dead(await trial.claimOne(), { cause: 'crashed', error: null })])
		const found = await trial.find(id)
		assert.deepEqual([found.crashes, found.attempts], [1, 2])
	},

	'one batch may hold every outcome, for several destinations and attempts': async (trial) => {
		await trial.enqueueOne()
		await trial.settle([retry(await trial.claimOne(), 0)])
		await trial.enqueue({}, {}, {}, {})
		const [old, ...fresh] = await trial.claim()
		const [gone, failed, given, buried] = fresh
		const away = await trial.enqueueOne({ destination: 'b' }).then(() => trial.claimOne({ destination: 'b' }))
		assert.ok(old && gone && failed && given && buried)
		await trial.settle([sent(gone), dead(buried), sent(old), retry(failed, HOUR), release(given), sent(away)])
		assert.equal(await trial.store.find(gone.id), undefined)
		assert.equal(await trial.store.find(old.id), undefined)
		assert.equal(await trial.store.find(away.id), undefined)
		const rest = await Promise.all([failed, given, buried].map((row) => trial.find(row.id)))
		assert.deepEqual(
			rest.map((found) => [found.status, found.attempts]),
			[
				['pending', 1],
				['pending', 0],
				['dead', 1],
			],
		)
	},

	'nothing to settle is no trouble': async ({ store }) => {
		assert.deepEqual(await store.settle('r1', [], false), [])
		assert.deepEqual(await store.settle('r1', [], true), [])
	},

	'lost claims are answered, and the rest of the batch is written': async (trial) => {
		await trial.enqueue({}, {}, {}, {}, {})
		const [a, b, c, d, e] = await trial.claim()
		assert.ok(a && b && c && d && e)
		const unknown = { id: trial.id(), attempt: 1 }
		const older = { ...d, attempt: 0 }
		const newer = { ...e, attempt: 2 }
		const outcomes = [
			sent(a),
			sent(unknown),
			retry(b, HOUR),
			dead(older),
			dead(c),
			retry(newer, 0),
			release(newer),
		]
		const lost = await trial.store.settle('r1', outcomes, false)
		assert.deepEqual([...new Set(lost)].sort(), [unknown.id, d.id, e.id].sort())
		assert.equal(await trial.store.find(a.id), undefined)
		assert.equal((await trial.find(b.id)).status, 'pending')
		assert.equal((await trial.find(c.id)).status, 'dead')
		for (const row of [d, e]) assert.equal((await trial.find(row.id)).status, 'processing')
	},

	'lost sent messages are answered with a history as well, and leave none': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne()
		assert.deepEqual(await trial.store.settle('r2', [sent(row)], true), [id])
		assert.deepEqual(await trial.store.list({ status: 'sent' }, MANY), [])
		assert.equal((await trial.find(id)).status, 'processing')
	},

	'a whole batch of a stranger or of another attempt is lost, with a history or without': async (trial) => {
		await trial.enqueue({}, {}, {})
		const rows = await trial.claim()
		const others = rows.map((row) => ({ ...row, attempt: 2 }))
		for (const keepHistory of [true, false]) {
			const strange = await trial.store.settle('r2', rows.map(sent), keepHistory)
			assert.deepEqual([...strange].sort(), idsOf(rows).sort())
			const early = await trial.store.settle('r1', others.map(sent), keepHistory)
			assert.deepEqual([...early].sort(), idsOf(rows).sort())
		}
		assert.equal((await trial.store.list({ status: 'processing' }, MANY)).length, 3)
		assert.deepEqual(await trial.store.list({ status: 'sent' }, MANY), [])
	},

	'the second word about one claim is lost, whatever the first was': async (trial) => {
		await trial.enqueue({}, {}, {})
		const rows = await trial.claim()
		const [a, b, c] = rows
		assert.ok(a && b && c)
		await trial.settle([sent(a), retry(b, HOUR), dead(c)])
		const lost = await trial.store.settle('r1', rows.map(sent), false)
		assert.deepEqual([...lost].sort(), idsOf(rows).sort())
		assert.equal((await trial.find(b.id)).status, 'pending')
		assert.equal((await trial.find(c.id)).status, 'dead')
	},

	'a batch of a thousand is settled at once': async (trial) => {
		await trial.enqueue(...Array.from({ length: 1_000 }, () => ({})))
		const rows = await trial.claim({ limit: MANY })
		await trial.settle(
			rows.map((row, n) => (n % 3 === 0 ? sent(row) : n % 3 === 1 ? retry(row, HOUR) : dead(row))),
		)
		assert.equal((await trial.store.list({ status: 'pending' }, MANY)).length, 333)
		assert.equal((await trial.store.list({ status: 'dead' }, MANY)).length, 333)
	},

	'settling and claiming at the same time disturb each other in nothing': async (trial) => {
		await trial.enqueue(...Array.from({ length: 20 }, () => ({})))
		const seen: string[] = []
		let rows = await trial.claim({ limit: 5 })
		while (rows.length > 0 && seen.length < 100) {
			seen.push(...idsOf(rows))
			const [, next] = await Promise.all([trial.settle(rows.map(sent)), trial.claim({ limit: 5 })])
			rows = next
		}
		assert.equal(seen.length, 20)
		assert.equal(new Set(seen).size, 20)
		assert.deepEqual(await trial.store.list({}, MANY), [])
	},

	'a dead letter that was not even tried has the attempts that it had': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.settle([dead(await trial.claimOne(), { cause: 'expired', refundAttempt: true })])
		const found = await trial.find(id)
		assert.deepEqual([found.status, found.attempts, found.lastAttemptAt], ['dead', 0, null])
	},
}
