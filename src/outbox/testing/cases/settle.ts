/** Settling claimed messages: sent, retry and dead. */
import assert from 'node:assert/strict'
import { assertFields, assertNear, HOUR, idsOf, sorted } from '../harness/assertions.ts'
import { type CaseTable, MANY } from '../harness/harness.ts'
import { BOOM, dead, release, retry, sent } from '../harness/settlements.ts'

const YEAR = 365 * 24 * HOUR
const UNLOCKED = { lockedBy: null, lockedAt: null, leaseUntil: null }

export const settle: CaseTable = {
	'removes a sent message': async (t) => {
		const row = await t.enqueueAndClaim()
		await t.settle([sent(row)])
		await t.expectGone(row.id)
		assert.deepEqual(await t.list(), [])
		await t.expectCounts({ sent: 0 })
	},

	'removes exactly the sent messages of a batch, in any order': async (t) => {
		const ids = await t.enqueueMany(8)
		const rows = await t.claimMany(8)
		await t.settle([7, 2, 5].flatMap((at) => rows.slice(at, at + 1)).map(sent))
		await t.settle(rows.slice(3, 5).map(sent))
		assert.deepEqual(sorted(await t.list()), sorted([0, 1, 6].flatMap((at) => ids.slice(at, at + 1))))
	},

	'a batch with a lost claim in the middle removes the others': async (t) => {
		await t.enqueueMany(5)
		const rows = await t.claimMany(5)
		const lost = rows.slice(2, 3)
		await t.settle(lost.map((row) => release(row)))
		assert.deepEqual(await t.store.settle('r1', rows.map(sent), false), idsOf(lost))
		assert.deepEqual(await t.list(), idsOf(lost))
	},

	'a settlement without a sequence matches by id': async (t) => {
		await t.enqueueMany(3)
		const rows = await t.claimMany(3)
		await t.settle(rows.map(({ id, attempt }) => ({ type: 'sent', id, attempt })))
		assert.deepEqual(await t.list(), [])
	},

	'a failed message is due after its delay, with its error': async (t) => {
		const row = await t.enqueueAndClaim()
		const now = await t.now()
		await t.settle([retry(row, HOUR)])
		const found = await t.find(row.id)
		assertFields(found, { status: 'pending', attempts: 1, crashes: 0, error: BOOM, ...UNLOCKED })
		assertNear(found.dueAt, now + HOUR, 'dueAt')
		assertNear(found.lastAttemptAt, now, 'lastAttemptAt')
		await t.expectClaim([])
		await t.advance(HOUR)
		await t.expectClaimed({ attempt: 2 }, { owner: 'r2' })
	},

	'keeps the latest error': async (t) => {
		const id = await t.enqueueOne()
		await t.fail(0)
		const error = { type: 'TypeError', message: 'later', fingerprint: 'f-2' }
		await t.settle([retry(await t.claimOne(), 0, 0, error)])
		await t.expectMessage(id, { error })
	},

	'a retry without delay is due immediately': async (t) => {
		const id = await t.enqueueOne()
		await t.fail(0)
		await t.expectClaim([id])
	},

	'accepts a retry in ten years': async (t) => {
		const id = await t.enqueueOne()
		await t.fail(10 * YEAR)
		assertNear((await t.find(id)).dueAt, (await t.now()) + 10 * YEAR, 'dueAt')
	},

	'moves a dead letter out of the queue with all its fields': async (t) => {
		const part = { topic: 't', key: 'k', payload: '[2]', headers: '{"h":"1"}', dedupeKey: 'd', maxRetries: 1 }
		const id = await t.enqueueOne(part)
		const { endedAt: _, lastAttemptAt: __, dueAt: ___, ...before } = await t.find(id)
		await t.die({ cause: 'retries-exhausted' })
		const found = await t.find(id)
		const after = { status: 'dead', attempts: 1, error: BOOM, cause: 'retries-exhausted' } as const
		assertFields(found, { ...before, ...after })
		assertNear(found.endedAt, await t.now(), 'endedAt')
		assertNear(found.lastAttemptAt, await t.now(), 'lastAttemptAt')
		await t.advance(9 * HOUR)
		await t.expectClaim([], { owner: 'r2' })
		assert.deepEqual((await t.store.dueDestinations(MANY)).names, [])
	},

	'accepts a dead letter without an error': async (t) => {
		const id = await t.addDeadLetter({}, { cause: 'expired', error: null })
		await t.expectMessage(id, { cause: 'expired', error: null })
	},

	'a dead letter without an error keeps the latest one': async (t) => {
		const id = await t.enqueueOne()
		await t.fail(0)
		await t.die({ cause: 'expired', error: null })
		await t.expectMessage(id, { error: BOOM })
	},

	'stores every cause': async (t) => {
		const causes = ['retries-exhausted', 'permanent', 'expired', 'crashed', 'predecessor-dead'] as const
		for (const cause of causes) await t.expectMessage(await t.addDeadLetter({}, { cause }), { cause })
	},

	'a dead letter keeps its crash count': async (t) => {
		const id = await t.enqueueOne()
		await t.crash()
		await t.die({ cause: 'crashed', error: null })
		await t.expectMessage(id, { crashes: 1, attempts: 2 })
	},

	'settles a batch with every outcome, several destinations and attempts': async (t) => {
		await t.enqueueOne()
		await t.fail(0)
		await t.enqueueMany(4)
		const [old, gone, failed, released, died] = await t.claimMany(5)
		const away = await t.enqueueAndClaim({ destination: 'b' }, { destination: 'b' })
		await t.settle([sent(gone), dead(died), sent(old), retry(failed, HOUR), release(released), sent(away)])
		await t.expectGone(gone.id, old.id, away.id)
		await t.expectMessage(failed.id, { status: 'pending', attempts: 1 })
		await t.expectMessage(released.id, { status: 'pending', attempts: 0 })
		await t.expectMessage(died.id, { status: 'dead', attempts: 1 })
	},

	'accepts an empty batch': async (t) => {
		await t.settle([], false)
		await t.settle([], true)
	},

	'reports lost claims and writes the others': async (t) => {
		await t.enqueueMany(5)
		const [a, b, c, d, e] = await t.claimMany(5)
		const unknown = { id: t.id(), attempt: 1 }
		const [older, newer] = [
			{ ...d, attempt: 0 },
			{ ...e, attempt: 2 },
		]
		const invalid = [sent(unknown), dead(older), retry(newer, 0), release(newer)]
		const lost = await t.store.settle('r1', [sent(a), retry(b, HOUR), ...invalid, dead(c)], false)
		assert.deepEqual(sorted(new Set(lost)), sorted([unknown.id, d.id, e.id]))
		await t.expectGone(a.id)
		await t.expectStatus('pending', [b.id])
		await t.expectStatus('dead', [c.id])
		await t.expectStatus('processing', [d.id, e.id])
	},

	'reports lost sent messages with history too, and keeps no history of them': async (t) => {
		const row = await t.enqueueAndClaim()
		await t.expectLost([sent(row)], 'r2', true)
		await t.expectCounts({ sent: 0 })
		await t.expectStatus('processing', [row.id])
	},

	'reports a whole batch of another owner or attempt as lost, with and without history': async (t) => {
		await t.enqueueMany(3)
		const rows = await t.claim()
		const others = rows.map((row) => ({ ...row, attempt: 2 }))
		for (const keepHistory of [true, false]) {
			await t.expectLost(rows.map(sent), 'r2', keepHistory)
			await t.expectLost(others.map(sent), 'r1', keepHistory)
		}
		await t.expectCounts({ processing: 3, sent: 0 })
	},

	'reports the second settlement of a claim as lost, whatever the first was': async (t) => {
		await t.enqueueMany(3)
		const [a, b, c] = await t.claimMany(3)
		await t.settle([sent(a), retry(b, HOUR), dead(c)])
		await t.expectLost([a, b, c].map(sent))
		await t.expectStatus('pending', [b.id])
		await t.expectStatus('dead', [c.id])
	},

	'settles a batch of a thousand': async (t) => {
		await t.enqueueMany(1_000)
		const rows = await t.claim({ limit: MANY })
		await t.settle(
			rows.map((row, n) => (n % 3 === 0 ? sent(row) : n % 3 === 1 ? retry(row, HOUR) : dead(row))),
		)
		await t.expectCounts({ pending: 333, dead: 333 })
	},

	'concurrent settle and claim do not interfere': async (t) => {
		await t.enqueueMany(20)
		const seen: string[] = []
		let rows = await t.claim({ limit: 5 })
		while (rows.length > 0 && seen.length < 100) {
			seen.push(...idsOf(rows))
			const [, next] = await Promise.all([t.settle(rows.map(sent)), t.claim({ limit: 5 })])
			rows = next
		}
		assert.deepEqual([seen.length, new Set(seen).size], [20, 20])
		assert.deepEqual(await t.list(), [])
	},

	'refundAttempt restores the attempts of a dead letter that was not attempted': async (t) => {
		const id = await t.enqueueOne()
		await t.die({ cause: 'expired', refundAttempt: true })
		await t.expectMessage(id, { status: 'dead', attempts: 0, lastAttemptAt: null })
	},
}
