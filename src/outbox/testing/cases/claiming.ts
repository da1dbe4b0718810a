/** What a relay gets when it asks for work. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, idsOf, MANY, MINUTE, near, sorted, target } from '../harness/harness.ts'
import { retry } from '../harness/settlements.ts'

export const claiming: CaseTable = {
	'a claimed message carries all that a relay needs': async (trial) => {
		const now = await trial.now()
		const id = await trial.enqueueOne({
			topic: 't',
			key: 'k',
			payload: '[1]',
			headers: '{"h":"x"}',
			expiresAt: now + HOUR,
			maxRetries: 4,
		})
		const found = await trial.find(id)
		const { claimedAt, ...row } = await trial.claimOne()
		assert.equal(claimedAt, (await trial.find(id)).lockedAt)
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

	'the claim counts the attempt and says who has the message and until when': async (trial) => {
		const id = await trial.enqueueOne()
		const { now } = await trial.claimTargets([target()], { owner: 'r7', leaseMs: HOUR })
		const found = await trial.find(id)
		assert.deepEqual([found.status, found.attempts, found.lockedBy], ['processing', 1, 'r7'])
		near(found.lockedAt, now, 'lockedAt')
		near(found.leaseUntil, now + HOUR, 'leaseUntil')
		assert.equal(found.endedAt, null)
	},

	'the answer says what time it is at the database': async (trial) => {
		const before = await trial.now()
		await trial.advance(3 * HOUR)
		near(await trial.now(), before + 3 * HOUR, 'now')
		const { createdAt } = await trial.find(await trial.enqueueOne())
		assert.ok(createdAt >= before + 3 * HOUR)
	},

	'nobody gets what somebody has': async (trial) => {
		await trial.enqueue({}, {})
		assert.equal((await trial.claim({ owner: 'r1' })).length, 2)
		assert.deepEqual(await trial.claimIds({ owner: 'r1' }), [])
		assert.deepEqual(await trial.claimIds({ owner: 'r2' }), [])
	},

	'at most as many as asked for are given, the earliest first': async (trial) => {
		const ids = await trial.enqueue({}, {}, {}, {}, {})
		assert.deepEqual(await trial.claimIds({ limit: 2 }), ids.slice(0, 2))
		assert.deepEqual(await trial.claimIds({ limit: 1 }), ids.slice(2, 3))
		assert.deepEqual(await trial.claimIds({ limit: MANY }), ids.slice(3))
	},

	'a limit of 0 gives nothing': async (trial) => {
		await trial.enqueue({}, {})
		assert.deepEqual(await trial.claimIds({ limit: 0 }), [])
	},

	'every lane has a limit of its own, and the lanes keep their order': async (trial) => {
		const of = (destination: string) => ({ destination })
		const [a1, b1, c1, a2, b2, , a3] = await trial.enqueue(...['a', 'b', 'c', 'a', 'b', 'b', 'a'].map(of))
		const lanes = [
			target({ destination: 'c' }),
			target({ destination: 'a', limit: 3 }),
			target({ destination: 'b', limit: 2 }),
		]
		assert.deepEqual(idsOf((await trial.claimTargets(lanes)).rows), [c1, a1, a2, a3, b1, b2])
	},

	'a full destination takes nothing from the others': async (trial) => {
		await trial.enqueue(...Array.from({ length: 50 }, () => ({ destination: 'busy' })))
		const id = await trial.enqueueOne({ destination: 'quiet' })
		const lanes = [target({ destination: 'busy', limit: 5 }), target({ destination: 'quiet', limit: 5 })]
		const { rows } = await trial.claimTargets(lanes)
		assert.equal(rows.length, 6)
		assert.equal(rows.at(-1)?.id, id)
	},

	'only what was asked for is given': async (trial) => {
		await trial.enqueue({ destination: 'b' }, { destination: 'A' }, { destination: 'aa' })
		assert.deepEqual(await trial.claimIds({ destination: 'a' }), [])
		assert.deepEqual((await trial.claimTargets([])).rows, [])
	},

	'two lanes of one destination never give a message twice': async (trial) => {
		await trial.enqueue({ key: 'k' }, { key: 'l' }, {})
		const lanes = [target({ isOrdered: true }), target({ isOrdered: true, keys: ['k', 'l'] })]
		const { rows } = await trial.claimTargets(lanes)
		assert.equal(new Set(idsOf(rows)).size, rows.length)
		for (const row of rows) assert.equal((await trial.find(row.id)).attempts, 1)
	},

	'the earliest due comes first, whenever it was enqueued': async (trial) => {
		const now = await trial.now()
		const [late, early, middle] = await trial.enqueue(
			{ notBefore: now + 3 * MINUTE },
			{ notBefore: now + MINUTE },
			{ notBefore: now + 2 * MINUTE },
		)
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds(), [early, middle, late])
	},

	'what is due at the same time comes in the order of enqueuing, whatever the ids are': async (trial) => {
		const notBefore = (await trial.now()) + MINUTE
		const ids = [trial.id(), trial.id(), trial.id(), trial.id()]
		const [w, x, y, z] = ids
		await trial.enqueue(...[z, x, w, y].map((id) => ({ id: id ?? '', notBefore })))
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds(), [z, x, w, y])
	},

	'one after the other comes in the order of enqueuing, whatever the ids are': async (trial) => {
		const ids = [trial.id(), trial.id(), trial.id()].reverse()
		for (const id of ids) await trial.enqueueOne({ id })
		assert.deepEqual(await trial.claimIds(), ids)
	},

	'the order holds from claim to claim': async (trial) => {
		const ids = await trial.enqueue(...Array.from({ length: 30 }, () => ({})))
		const claimed: string[] = []
		for (let round = 0; round < 10; round++) claimed.push(...(await trial.claimIds({ limit: 3 })))
		assert.deepEqual(claimed, ids)
	},

	'a relay that goes on from its latest claim skips what lies before': async (trial) => {
		const now = await trial.now()
		const times = [1, 2, 3].map((n) => ({ notBefore: now + n * MINUTE }))
		const [first, second, third] = await trial.enqueue(...times)
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds({ since: now + 2 * MINUTE, limit: 1 }), [second])
		assert.deepEqual(await trial.claimIds({ since: now + 2 * MINUTE + 1 }), [third])
		assert.deepEqual(await trial.claimIds({ since: now + 4 * MINUTE }), [])
		assert.deepEqual(await trial.claimIds({ since: 0 }), [first])
	},

	'a lower bound of one lane does not concern another': async (trial) => {
		const now = await trial.now()
		await trial.enqueueOne({ destination: 'a' })
		const id = await trial.enqueueOne({ destination: 'b' })
		const lanes = [target({ destination: 'a', since: now + HOUR }), target({ destination: 'b' })]
		assert.deepEqual(idsOf((await trial.claimTargets(lanes)).rows), [id])
	},

	'a message whose time is over is handed out all the same: the relay buries it': async (trial) => {
		const id = await trial.enqueueOne({ expiresAt: (await trial.now()) + MINUTE })
		await trial.advance(HOUR)
		const row = await trial.claimOne()
		assert.equal(row.id, id)
		assert.ok(row.expiresAt !== null && row.expiresAt < (await trial.now()))
	},

	'the latest delay of the backoff comes with the message': async (trial) => {
		await trial.enqueueOne()
		await trial.settle([retry(await trial.claimOne(), MINUTE, 45_000)])
		await trial.advance(HOUR)
		const again = await trial.claimOne()
		assert.deepEqual([again.attempt, again.delayMs], [2, 45_000])
		await trial.settle([retry(again, MINUTE, null)])
		await trial.advance(HOUR)
		const last = await trial.claimOne()
		assert.deepEqual([last.attempt, last.delayMs], [3, null])
	},

	'claims at the same time never share a message, and together leave none behind': async (trial) => {
		const ids = await trial.enqueue(...Array.from({ length: 40 }, () => ({})))
		const other = await trial.other()
		const claims = await Promise.all(
			Array.from({ length: 8 }, (_, n) =>
				trial.claim({ owner: `r${n}`, limit: 5 }, n % 2 ? other : trial.store),
			),
		)
		const rest = await trial.claim({ owner: 'last', limit: MANY })
		assert.deepEqual(sorted([...claims.flat(), ...rest].map((row) => row.id)), sorted(ids))
		for (const [n, rows] of claims.entries())
			for (const row of rows) assert.equal((await trial.find(row.id)).lockedBy, `r${n}`)
	},

	'a lease and a delay with fractions of a millisecond are no trouble': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne({ leaseMs: HOUR + 0.25 })
		assert.deepEqual(await trial.store.renew('r1', HOUR + 0.5, [row]), [])
		await trial.settle([retry(row, MINUTE + 0.125, 1_234.567)])
		assert.deepEqual(await trial.claimIds(), [])
		await trial.advance(2 * MINUTE)
		const again = await trial.claimOne({ leaseMs: HOUR })
		assert.equal(again.id, id)
		assert.ok(again.delayMs !== null && Math.abs(again.delayMs - 1_234.567) <= 1)
	},
}
