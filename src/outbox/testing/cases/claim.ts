/** Claiming due messages: limits, order, targets and concurrency. */
import assert from 'node:assert/strict'
import { assertFields, assertNear, HOUR, idsOf, MINUTE, sorted } from '../harness/assertions.ts'
import { type CaseTable, MANY, target } from '../harness/harness.ts'
import { retry } from '../harness/settlements.ts'

const [toA, toB] = [{ destination: 'a' }, { destination: 'b' }]

export const claim: CaseTable = {
	'returns all fields that a relay needs': async (t) => {
		const expiresAt = (await t.now()) + HOUR
		const part = { topic: 't', key: 'k', payload: '[1]', headers: '{"h":"x"}', expiresAt, maxRetries: 4 }
		const id = await t.enqueueOne(part)
		const { createdAt, dueAt } = await t.find(id)
		const { claimedAt, sequence, ...row } = await t.claimOne()
		assert.equal(claimedAt, (await t.find(id)).lockedAt)
		const added = { id, ...toA, attempt: 1, delayMs: null, crashes: 0, createdAt, dueAt }
		assert.ok(Number.isSafeInteger(sequence) && sequence > 0, `sequence ${sequence}`)
		assert.deepEqual(row, { ...part, ...added })
	},

	'counts the attempt and records owner and lease': async (t) => {
		const id = await t.enqueueOne()
		const { now } = await t.claimTargets([target()], { owner: 'r7', leaseMs: HOUR })
		const found = await t.find(id)
		assertFields(found, { status: 'processing', attempts: 1, lockedBy: 'r7', endedAt: null })
		assertNear(found.lockedAt, now, 'lockedAt')
		assertNear(found.leaseUntil, now + HOUR, 'leaseUntil')
	},

	'returns the time of the database': async (t) => {
		const before = await t.now()
		await t.advance(3 * HOUR)
		assertNear(await t.now(), before + 3 * HOUR, 'now')
		const { createdAt } = await t.find(await t.enqueueOne())
		assert.ok(createdAt >= before + 3 * HOUR)
	},

	'skips messages that another relay holds': async (t) => {
		await t.expectClaim(await t.enqueue({}, {}), { owner: 'r1' })
		await t.expectClaim([], { owner: 'r1' })
		await t.expectClaim([], { owner: 'r2' })
	},

	'returns at most limit messages, earliest first': async (t) => {
		const ids = await t.enqueueMany(5)
		await t.expectClaim(ids.slice(0, 2), { limit: 2 })
		await t.expectClaim(ids.slice(2, 3), { limit: 1 })
		await t.expectClaim(ids.slice(3), { limit: MANY })
	},

	'returns nothing for limit 0': async (t) => {
		await t.enqueue({}, {})
		await t.expectClaim([], { limit: 0 })
	},

	"applies each target's limit and keeps the order of targets": async (t) => {
		const [a1, b1, c1, a2, b2, , a3] = await t.enqueue(toA, toB, { destination: 'c' }, toA, toB, toB, toA)
		const targets = [target({ destination: 'c' }), target({ ...toA, limit: 3 }), target({ ...toB, limit: 2 })]
		assert.deepEqual(idsOf((await t.claimTargets(targets)).rows), [c1, a1, a2, a3, b1, b2])
	},

	'a full destination does not reduce the others': async (t) => {
		await t.enqueueMany(50, { destination: 'busy' })
		const id = await t.enqueueOne({ destination: 'quiet' })
		const targets = [target({ destination: 'busy', limit: 5 }), target({ destination: 'quiet', limit: 5 })]
		const { rows } = await t.claimTargets(targets)
		assert.deepEqual([rows.length, rows.at(-1)?.id], [6, id])
	},

	'returns only requested destinations': async (t) => {
		await t.enqueue(toB, { destination: 'A' }, { destination: 'aa' })
		await t.expectClaim([], toA)
		assert.deepEqual((await t.claimTargets([])).rows, [])
	},

	'two targets of one destination never return a message twice': async (t) => {
		await t.enqueue({ key: 'k' }, { key: 'l' }, {})
		const targets = [target({ isOrdered: true }), target({ isOrdered: true, keys: ['k', 'l'] })]
		const { rows } = await t.claimTargets(targets)
		assert.equal(new Set(idsOf(rows)).size, rows.length)
		for (const { id } of rows) await t.expectMessage(id, { attempts: 1 })
	},

	'returns the earliest due message first, regardless of enqueue order': async (t) => {
		const now = await t.now()
		const [late, early, middle] = await t.enqueue(...[3, 1, 2].map((n) => ({ notBefore: now + n * MINUTE })))
		await t.advance(HOUR)
		await t.expectClaim([early, middle, late])
	},

	'returns messages with the same due time in enqueue order, regardless of ids': async (t) => {
		const notBefore = (await t.now()) + MINUTE
		const [w, x, y, z] = [t.id(), t.id(), t.id(), t.id()]
		await t.enqueue(...[z, x, w, y].map((id) => ({ id, notBefore })))
		await t.advance(HOUR)
		await t.expectClaim([z, x, w, y])
	},

	'returns messages enqueued one by one in enqueue order, regardless of ids': async (t) => {
		const ids = [t.id(), t.id(), t.id()].reverse()
		for (const id of ids) await t.enqueueOne({ id })
		await t.expectClaim(ids)
	},

	'keeps the order over several claims': async (t) => {
		const ids = await t.enqueueMany(30)
		const claimed: string[] = []
		for (let round = 0; round < 10; round++) claimed.push(...(await t.claimIds({ limit: 3 })))
		assert.deepEqual(claimed, ids)
	},

	'since skips messages that were due earlier': async (t) => {
		const now = await t.now()
		const [first, second, third] = await t.enqueue(...[1, 2, 3].map((n) => ({ notBefore: now + n * MINUTE })))
		await t.advance(HOUR)
		await t.expectClaim([second], { since: now + 2 * MINUTE, limit: 1 })
		await t.expectClaim([third], { since: now + 2 * MINUTE + 1 })
		await t.expectClaim([], { since: now + 4 * MINUTE })
		await t.expectClaim([first], { since: 0 })
	},

	'since applies only to its own target': async (t) => {
		const [, id] = await t.enqueue(toA, toB)
		const targets = [target({ ...toA, since: (await t.now()) + HOUR }), target(toB)]
		assert.deepEqual(idsOf((await t.claimTargets(targets)).rows), [id])
	},

	'returns an expired message, so that the relay can dead-letter it': async (t) => {
		const id = await t.enqueueOne({ expiresAt: (await t.now()) + MINUTE })
		await t.advance(HOUR)
		const row = await t.claimId(id)
		assert.ok(row.expiresAt !== null && row.expiresAt < (await t.now()))
	},

	'returns the latest backoff delay': async (t) => {
		await t.settle([retry(await t.enqueueAndClaim(), MINUTE, 45_000)])
		await t.advance(HOUR)
		const again = await t.claimOne()
		assertFields(again, { attempt: 2, delayMs: 45_000 })
		await t.settle([retry(again, MINUTE, null)])
		await t.advance(HOUR)
		await t.expectClaimed({ attempt: 3, delayMs: null })
	},

	'concurrent claims share no message and leave none behind': async (t) => {
		const ids = await t.enqueueMany(40)
		const claims = await t.concurrently(8, (store, n) => t.claim({ owner: `r${n}`, limit: 5 }, store))
		const rest = await t.claim({ owner: 'last', limit: MANY })
		assert.deepEqual(sorted(idsOf([...claims.flat(), ...rest])), sorted(ids))
		for (const [n, rows] of claims.entries())
			for (const { id } of rows) await t.expectMessage(id, { lockedBy: `r${n}` })
	},

	'accepts fractional leases and delays': async (t) => {
		const row = await t.enqueueAndClaim({}, { leaseMs: HOUR + 0.25 })
		assert.deepEqual(await t.store.renew('r1', HOUR + 0.5, [row]), [])
		await t.settle([retry(row, MINUTE + 0.125, 1_234.567)])
		await t.expectClaim([])
		await t.advance(2 * MINUTE)
		const again = await t.claimOne({ leaseMs: HOUR })
		assert.equal(again.id, row.id)
		assert.ok(again.delayMs !== null && Math.abs(again.delayMs - 1_234.567) <= 1)
	},
}
