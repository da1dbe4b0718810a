/** A claim holds for a time. Who is not heard of until then loses what it had, and the next one learns of the death. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MINUTE, near } from '../harness/harness.ts'
import { claimRef, dead, release, retry, sent } from '../harness/settlements.ts'

export const leases: CaseTable = {
	'until its end a lease keeps others off': async (trial) => {
		await trial.enqueueOne()
		await trial.claimOne({ leaseMs: HOUR })
		await trial.advance(HOUR - 10 * MINUTE)
		assert.deepEqual(await trial.claimIds({ owner: 'r2' }), [])
	},

	'after its end the next gets the message, one attempt and one crash on': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.claimOne({ leaseMs: HOUR })
		await trial.advance(HOUR + 1)
		const row = await trial.claimOne({ owner: 'r2' })
		assert.deepEqual([row.id, row.attempt, row.crashes], [id, 2, 1])
		const found = await trial.find(id)
		assert.deepEqual(
			[found.status, found.attempts, found.crashes, found.lockedBy],
			['processing', 2, 1, 'r2'],
		)
	},

	'what a dead relay had is pending again before somebody takes it': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.claimOne({ leaseMs: HOUR })
		await trial.advance(HOUR + 1)
		assert.equal((await trial.find(id)).status, 'pending')
		assert.equal((await trial.store.list({ status: 'pending' }, 9)).length, 1)
		assert.deepEqual(await trial.store.list({ status: 'processing' }, 9), [])
	},

	'every death is counted': async (trial) => {
		await trial.enqueueOne()
		for (let crashes = 0; crashes < 5; crashes++) {
			const row = await trial.claimOne({ owner: `r${crashes}`, leaseMs: MINUTE })
			assert.deepEqual([row.attempt, row.crashes], [crashes + 1, crashes])
			await trial.advance(MINUTE + 1)
		}
	},

	'a message that comes back keeps its place in the order': async (trial) => {
		const ids = await trial.enqueue({}, {}, {})
		await trial.claim({ limit: 2, leaseMs: MINUTE })
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds({ owner: 'r2' }), ids)
	},

	'only those whose lease is over come back': async (trial) => {
		const [first] = await trial.enqueue({}, {})
		await trial.claim({ limit: 1, leaseMs: MINUTE })
		await trial.claim({ limit: 1, leaseMs: 3 * HOUR })
		await trial.advance(HOUR)
		assert.deepEqual(await trial.claimIds({ owner: 'r2' }), [first])
	},

	'its own lost message is a new claim to a relay as well': async (trial) => {
		await trial.enqueueOne()
		const first = await trial.claimOne({ leaseMs: MINUTE })
		await trial.advance(HOUR)
		const second = await trial.claimOne()
		assert.deepEqual([second.attempt, second.crashes], [2, 1])
		assert.deepEqual(await trial.store.settle('r1', [sent(first)], false), [first.id])
		await trial.settle([sent(second)])
	},

	'a late word of who lost it changes nothing and is answered as lost, whatever it says': async (trial) => {
		const id = await trial.enqueueOne()
		const lost = await trial.claimOne({ leaseMs: MINUTE })
		await trial.advance(HOUR)
		await trial.claimOne({ owner: 'r2' })
		const before = await trial.find(id)
		for (const outcome of [sent(lost), retry(lost, HOUR), release(lost), release(lost, HOUR), dead(lost)])
			assert.deepEqual(await trial.store.settle('r1', [outcome], true), [id], outcome.type)
		assert.deepEqual(await trial.find(id), before)
	},

	'a late word of a stranger that names the right attempt is lost as well': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne()
		assert.deepEqual(await trial.store.settle('r2', [sent(row)], false), [id])
		assert.equal((await trial.find(id)).lockedBy, 'r1')
	},

	'a late word counts as long as nobody took the message over': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne({ leaseMs: MINUTE })
		await trial.advance(HOUR)
		await trial.settle([sent(row)])
		assert.equal(await trial.store.find(id), undefined)
	},

	'a renewed lease lasts from now on': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne({ leaseMs: HOUR })
		await trial.advance(30 * MINUTE)
		const now = await trial.now()
		assert.deepEqual(await trial.store.renew('r1', HOUR, [claimRef(row)]), [])
		near((await trial.find(id)).leaseUntil, now + HOUR, 'leaseUntil')
		await trial.advance(50 * MINUTE)
		assert.deepEqual(await trial.claimIds({ owner: 'r2' }), [])
		await trial.advance(11 * MINUTE)
		assert.equal((await trial.claimOne({ owner: 'r2' })).crashes, 1)
	},

	'renewing changes neither attempts nor crashes': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne()
		for (let n = 0; n < 3; n++) await trial.store.renew('r1', HOUR, [claimRef(row)])
		const found = await trial.find(id)
		assert.deepEqual(
			[found.attempts, found.crashes, found.status, found.lockedBy],
			[1, 0, 'processing', 'r1'],
		)
	},

	'renewing tells what is lost and renews the rest': async (trial) => {
		await trial.enqueue({}, {}, {}, {})
		const [taken, kept, done, given] = await trial.claim({ leaseMs: HOUR })
		assert.ok(taken && kept && done && given)
		await trial.store.renew('r1', 3 * HOUR, [kept, done, given].map(claimRef))
		await trial.advance(2 * HOUR)
		await trial.claimOne({ owner: 'r2' })
		await trial.settle([sent(done), release(given, HOUR)])
		const unknown = { id: trial.id(), attempt: 1 }
		const lost = await trial.store.renew('r1', 4 * HOUR, [taken, kept, done, given, unknown].map(claimRef))
		assert.deepEqual([...lost].sort(), [taken.id, done.id, given.id, unknown.id].sort())
		await trial.advance(2 * HOUR)
		assert.deepEqual((await trial.find(kept.id)).lockedBy, 'r1')
		assert.ok(!(await trial.claimIds({ owner: 'r3' })).includes(kept.id))
	},

	'another attempt or another owner renews nothing': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne({ leaseMs: HOUR })
		assert.deepEqual(await trial.store.renew('r2', 9 * HOUR, [claimRef(row)]), [id])
		assert.deepEqual(await trial.store.renew('r1', 9 * HOUR, [{ id, attempt: 2 }]), [id])
		assert.deepEqual(await trial.store.renew('r1', 9 * HOUR, [{ id, attempt: 0 }]), [id])
		await trial.advance(2 * HOUR)
		assert.equal((await trial.claimOne({ owner: 'r2' })).id, id)
	},

	'nothing to renew is no trouble': async ({ store }) => {
		assert.deepEqual(await store.renew('r1', HOUR, []), [])
	},

	'a message that was given back has its attempt refunded and is due when it was': async (trial) => {
		const id = await trial.enqueueOne()
		const before = await trial.find(id)
		await trial.settle([release(await trial.claimOne())])
		const { lastAttemptAt: _, ...after } = await trial.find(id)
		const { lastAttemptAt: __, ...fresh } = before
		assert.deepEqual(after, fresh)
		const again = await trial.claimOne({ owner: 'r2' })
		assert.deepEqual([again.id, again.attempt, again.crashes], [id, 1, 0])
	},

	'a message that was given back keeps its place in the order': async (trial) => {
		const ids = await trial.enqueue({}, {}, {})
		const [first, second] = await trial.claim({ limit: 2 })
		assert.ok(first && second)
		await trial.advance(MINUTE)
		await trial.settle([release(second), release(first)])
		assert.deepEqual(await trial.claimIds(), ids)
	},

	'a message may be given back for later': async (trial) => {
		const id = await trial.enqueueOne()
		const now = await trial.now()
		await trial.settle([release(await trial.claimOne(), HOUR)])
		near((await trial.find(id)).dueAt, now + HOUR, 'dueAt')
		assert.deepEqual(await trial.claimIds(), [])
		await trial.advance(HOUR)
		assert.equal((await trial.claimOne()).attempt, 1)
	},

	'giving back forgets no crash, and the failure of a living process does': async (trial) => {
		await trial.enqueueOne()
		await trial.claimOne({ leaseMs: MINUTE })
		await trial.advance(HOUR)
		await trial.settle([release(await trial.claimOne())])
		const second = await trial.claimOne()
		assert.deepEqual([second.attempt, second.crashes], [2, 1])
		await trial.settle([retry(second, 0)])
		const third = await trial.claimOne()
		assert.deepEqual([third.attempt, third.crashes], [3, 0])
	},

	'a claim that was given back names nothing any more': async (trial) => {
		const id = await trial.enqueueOne()
		const row = await trial.claimOne()
		await trial.settle([release(row)])
		assert.deepEqual(await trial.store.settle('r1', [sent(row)], false), [id])
		assert.equal((await trial.find(id)).status, 'pending')
	},
}
