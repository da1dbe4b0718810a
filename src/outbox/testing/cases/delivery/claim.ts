/** Claiming due messages: limits, order, targets and concurrency. */
import assert from 'node:assert/strict'
import {
	assertNear,
	type CaseTable,
	HOUR,
	idsOf,
	MANY,
	MINUTE,
	sorted,
	target,
} from '../../harness/harness.ts'
import { retry } from '../../harness/settlements.ts'

export const claim: CaseTable = {
	'returns all fields that a relay needs': async (t) => {
		const now = await t.now()
		const id = await t.enqueueOne({
			topic: 't',
			key: 'k',
			payload: '[1]',
			headers: '{"h":"x"}',
			expiresAt: now + HOUR,
			maxRetries: 4,
		})
		const found = await t.find(id)
		const { claimedAt, ...row } = await t.claimOne()
		assert.equal(claimedAt, (await t.find(id)).lockedAt)
		assert.deepEqual(row, {
			id,
			destination: 'a',
			topic: 't',
			key: 'k',
			payload: '[1]',
			headers: '{"h":"x"}',
			attempt: 1,
			maxRetries: 4,
			delayMs: null,
			crashes: 0,
			createdAt: found.createdAt,
			dueAt: found.dueAt,
			expiresAt: now + HOUR,
		})
	},

	'counts the attempt and records owner and lease': async (t) => {
		const id = await t.enqueueOne()
		const { now } = await t.claimTargets([target()], { owner: 'r7', leaseMs: HOUR })
		const found = await t.find(id)
		assert.deepEqual([found.status, found.attempts, found.lockedBy], ['processing', 1, 'r7'])
		assertNear(found.lockedAt, now, 'lockedAt')
		assertNear(found.leaseUntil, now + HOUR, 'leaseUntil')
		assert.equal(found.endedAt, null)
	},

	'returns the time of the database': async (t) => {
		const before = await t.now()
		await t.advance(3 * HOUR)
		assertNear(await t.now(), before + 3 * HOUR, 'now')
		const { createdAt } = await t.find(await t.enqueueOne())
		assert.ok(createdAt >= before + 3 * HOUR)
	},

	'skips messages that another relay holds': async (t) => {
		await t.enqueue({}, {})
		assert.equal((await t.claim({ owner: 'r1' })).length, 2)
		assert.deepEqual(await t.claimIds({ owner: 'r1' }), [])
		assert.deepEqual(await t.claimIds({ owner: 'r2' }), [])
	},

	'returns at most limit messages, earliest first': async (t) => {
		const ids = await t.enqueue({}, {}, {}, {}, {})
		assert.deepEqual(await t.claimIds({ limit: 2 }), ids.slice(0, 2))
		assert.deepEqual(await t.claimIds({ limit: 1 }), ids.slice(2, 3))
		assert.deepEqual(await t.claimIds({ limit: MANY }), ids.slice(3))
	},

	'returns nothing for limit 0': async (t) => {
		await t.enqueue({}, {})
		assert.deepEqual(await t.claimIds({ limit: 0 }), [])
	},

	"applies each target's limit and keeps the order of targets": async (t) => {
		const of = (destination: string) => ({ destination })
		const [a1, b1, c1, a2, b2, , a3] = await t.enqueue(...['a', 'b', 'c', 'a', 'b', 'b', 'a'].map(of))
		const targets = [
			target({ destination: 'c' }),
			target({ destination: 'a', limit: 3 }),
			target({ destination: 'b', limit: 2 }),
		]
		assert.deepEqual(idsOf((await t.claimTargets(targets)).rows), [c1, a1, a2, a3, b1, b2])
	},

	'a full destination does not reduce the others': async (t) => {
		await t.enqueue(...Array.from({ length: 50 }, () => ({ destination: 'busy' })))
		const id = await t.enqueueOne({ destination: 'quiet' })
		const targets = [target({ destination: 'busy', limit: 5 }), target({ destination: 'quiet', limit: 5 })]
		const { rows } = await t.claimTargets(targets)
		assert.equal(rows.length, 6)
		assert.equal(rows.at(-1)?.id, id)
	},

	'returns only requested destinations': async (t) => {
		await t.enqueue({ destination: 'b' }, { destination: 'A' }, { destination: 'aa' })
		assert.deepEqual(await t.claimIds({ destination: 'a' }), [])
		assert.deepEqual((await t.claimTargets([])).rows, [])
	},

	'two targets of one destination never return a message twice': async (t) => {
		await t.enqueue({ key: 'k' }, { key: 'l' }, {})
		const targets = [target({ isOrdered: true }), target({ isOrdered: true, keys: ['k', 'l'] })]
		const { rows } = await t.claimTargets(targets)
		assert.equal(new Set(idsOf(rows)).size, rows.length)
		for (const row of rows) assert.equal((await t.find(row.id)).attempts, 1)
	},

	'returns the earliest due message first, regardless of enqueue order': async (t) => {
		const now = await t.now()
		const [late, early, middle] = await t.enqueue(
			{ notBefore: now + 3 * MINUTE },
			{ notBefore: now + MINUTE },
			{ notBefore: now + 2 * MINUTE },
		)
		await t.advance(HOUR)
		assert.deepEqual(await t.claimIds(), [early, middle, late])
	},

	'returns messages with the same due time in enqueue order, regardless of ids': async (t) => {
		const notBefore = (await t.now()) + MINUTE
		const ids = [t.id(), t.id(), t.id(), t.id()]
		const [w, x, y, z] = ids
		await t.enqueue(...[z, x, w, y].map((id) => ({ id: id ?? '', notBefore })))
		await t.advance(HOUR)
		assert.deepEqual(await t.claimIds(), [z, x, w, y])
	},

	'returns messages enqueued one by one in enqueue order, regardless of ids': async (t) => {
		const ids = [t.id(), t.id(), t.id()].reverse()
		for (const id of ids) await t.enqueueOne({ id })
		assert.deepEqual(await t.claimIds(), ids)
	},

	'keeps the order over several claims': async (t) => {
		const ids = await t.enqueue(...Array.from({ length: 30 }, () => ({})))
		const claimed: string[] = []
		for (let round = 0; round < 10; round++) claimed.push(...(await t.claimIds({ limit: 3 })))
		assert.deepEqual(claimed, ids)
	},

	'since skips messages that were due earlier': async (t) => {
		const now = await t.now()
		const times = [1, 2, 3].map((n) => ({ notBefore: now + n * MINUTE }))
		const [first, second, third] = await t.enqueue(...times)
		await t.advance(HOUR)
		assert.deepEqual(await t.claimIds({ since: now + 2 * MINUTE, limit: 1 }), [second])
		assert.deepEqual(await t.claimIds({ since: now + 2 * MINUTE + 1 }), [third])
		assert.deepEqual(await t.claimIds({ since: now + 4 * MINUTE }), [])
		assert.deepEqual(await t.claimIds({ since: 0 }), [first])
	},

	'since applies only to its own target': async (t) => {
		const now = await t.now()
		await t.enqueueOne({ destination: 'a' })
		const id = await t.enqueueOne({ destination: 'b' })
		const targets = [target({ destination: 'a', since: now + HOUR }), target({ destination: 'b' })]
		assert.deepEqual(idsOf((await t.claimTargets(targets)).rows), [id])
	},

	'returns an expired message, so that the relay can dead-letter it': async (t) => {
		const id = await t.enqueueOne({ expiresAt: (await t.now()) + MINUTE })
		await t.advance(HOUR)
		const row = await t.claimOne()
		assert.equal(row.id, id)
		assert.ok(row.expiresAt !== null && row.expiresAt < (await t.now()))
	},

	'returns the latest backoff delay': async (t) => {
		await t.enqueueOne()
		await t.settle([retry(await t.claimOne(), MINUTE, 45_000)])
		await t.advance(HOUR)
		const again = await t.claimOne()
		assert.deepEqual([again.attempt, again.delayMs], [2, 45_000])
		await t.settle([retry(again, MINUTE, null)])
		await t.advance(HOUR)
		await t.expectClaimed({ attempt: 3, delayMs: null })
	},

	'concurrent claims share no message and leave none behind': async (t) => {
		const ids = await t.enqueue(...Array.from({ length: 40 }, () => ({})))
		const other = await t.other()
		const claims = await Promise.all(
			Array.from({ length: 8 }, (_, n) => t.claim({ owner: `r${n}`, limit: 5 }, n % 2 ? other : t.store)),
		)
		const rest = await t.claim({ owner: 'last', limit: MANY })
		assert.deepEqual(sorted([...claims.flat(), ...rest].map((row) => row.id)), sorted(ids))
		for (const [n, rows] of claims.entries())
			for (const row of rows) assert.equal((await t.find(row.id)).lockedBy, `r${n}`)
	},

	'accepts fractional leases and delays': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne({ leaseMs: HOUR + 0.25 })
		assert.deepEqual(await t.store.renew('r1', HOUR + 0.5, [row]), [])
		await t.settle([retry(row, MINUTE + 0.125, 1_234.567)])
		assert.deepEqual(await t.claimIds(), [])
		await t.advance(2 * MINUTE)
		const again = await t.claimOne({ leaseMs: HOUR })
		assert.equal(again.id, id)
		assert.ok(again.delayMs !== null && Math.abs(again.delayMs - 1_234.567) <= 1)
	},
}
