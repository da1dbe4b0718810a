/**
 * Leases: expiry, takeover, renewal and release. A relay may also settle the same claim twice, because the first response was lost with the connection;
 * meanwhile it may hold the same message with the same attempt again, because a release refunds the attempt and a replay resets it.
 */
import assert from 'node:assert/strict'
import type { ClaimedRow, Settlement } from '../../../store/rows.ts'
import { assertNear, type CaseTable, HOUR, MANY, MINUTE, type StoreHarness } from '../../harness/harness.ts'
import { claimRef, dead, release, retry, sent } from '../../harness/settlements.ts'

export const leases: CaseTable = {
	'a lease keeps other relays off until it expires': async (t) => {
		await t.enqueueOne()
		await t.claimOne({ leaseMs: HOUR })
		await t.advance(HOUR - 10 * MINUTE)
		assert.deepEqual(await t.claimIds({ owner: 'r2' }), [])
	},

	'an expired lease yields the message with one more attempt and crash': async (t) => {
		const id = await t.enqueueOne()
		await t.claimOne({ leaseMs: HOUR })
		await t.advance(HOUR + 1)
		await t.expectClaimed({ id, attempt: 2, crashes: 1 }, { owner: 'r2' })
		await t.expectMessage(id, { status: 'processing', attempts: 2, crashes: 1, lockedBy: 'r2' })
	},

	'a message is pending again once its lease has expired': async (t) => {
		const id = await t.enqueueOne()
		await t.claimOne({ leaseMs: HOUR })
		await t.advance(HOUR + 1)
		assert.equal((await t.find(id)).status, 'pending')
		assert.equal((await t.store.list({ status: 'pending' }, 9)).length, 1)
		assert.deepEqual(await t.store.list({ status: 'processing' }, 9), [])
	},

	'counts every crash': async (t) => {
		await t.enqueueOne()
		for (let crashes = 0; crashes < 5; crashes++) {
			await t.expectClaimed({ attempt: crashes + 1, crashes }, { owner: `r${crashes}`, leaseMs: MINUTE })
			await t.advance(MINUTE + 1)
		}
	},

	'a recovered message keeps its position': async (t) => {
		const ids = await t.enqueue({}, {}, {})
		await t.claim({ limit: 2, leaseMs: MINUTE })
		await t.advance(HOUR)
		assert.deepEqual(await t.claimIds({ owner: 'r2' }), ids)
	},

	'returns only messages whose lease has expired': async (t) => {
		const [first] = await t.enqueue({}, {})
		await t.claim({ limit: 1, leaseMs: MINUTE })
		await t.claim({ limit: 1, leaseMs: 3 * HOUR })
		await t.advance(HOUR)
		assert.deepEqual(await t.claimIds({ owner: 'r2' }), [first])
	},

	'a relay can reclaim its own lost message': async (t) => {
		await t.enqueueOne()
		const first = await t.claimOne({ leaseMs: MINUTE })
		await t.advance(HOUR)
		const second = await t.claimOne()
		assert.deepEqual([second.attempt, second.crashes], [2, 1])
		assert.deepEqual(await t.store.settle('r1', [sent(first)], false), [first.id])
		await t.settle([sent(second)])
	},

	'a late settlement after a takeover changes nothing and is reported as lost': async (t) => {
		const id = await t.enqueueOne()
		const lost = await t.claimOne({ leaseMs: MINUTE })
		await t.advance(HOUR)
		await t.claimOne({ owner: 'r2' })
		const before = await t.find(id)
		for (const settlement of [sent(lost), retry(lost, HOUR), release(lost), release(lost, HOUR), dead(lost)])
			assert.deepEqual(await t.store.settle('r1', [settlement], true), [id], settlement.type)
		assert.deepEqual(await t.find(id), before)
	},

	'a settlement by another owner with the right attempt is lost': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne()
		assert.deepEqual(await t.store.settle('r2', [sent(row)], false), [id])
		assert.equal((await t.find(id)).lockedBy, 'r1')
	},

	'a late settlement counts if the message was not takenOver over': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne({ leaseMs: MINUTE })
		await t.advance(HOUR)
		await t.settle([sent(row)])
		assert.equal(await t.store.find(id), undefined)
	},

	'renew extends the lease from now': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne({ leaseMs: HOUR })
		await t.advance(30 * MINUTE)
		const now = await t.now()
		assert.deepEqual(await t.store.renew('r1', HOUR, [claimRef(row)]), [])
		assertNear((await t.find(id)).leaseUntil, now + HOUR, 'leaseUntil')
		await t.advance(50 * MINUTE)
		assert.deepEqual(await t.claimIds({ owner: 'r2' }), [])
		await t.advance(11 * MINUTE)
		assert.equal((await t.claimOne({ owner: 'r2' })).crashes, 1)
	},

	'renew changes neither attempts nor crashes': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne()
		for (let n = 0; n < 3; n++) await t.store.renew('r1', HOUR, [claimRef(row)])
		await t.expectMessage(id, { attempts: 1, crashes: 0, status: 'processing', lockedBy: 'r1' })
	},

	'renew reports lost claims and renews the others': async (t) => {
		await t.enqueue({}, {}, {}, {})
		const [takenOver, renewed, done, released] = await t.claimMany(4, { leaseMs: HOUR })
		await t.store.renew('r1', 3 * HOUR, [renewed, done, released].map(claimRef))
		await t.advance(2 * HOUR)
		await t.claimOne({ owner: 'r2' })
		await t.settle([sent(done), release(released, HOUR)])
		const unknown = { id: t.id(), attempt: 1 }
		const lost = await t.store.renew(
			'r1',
			4 * HOUR,
			[takenOver, renewed, done, released, unknown].map(claimRef),
		)
		assert.deepEqual([...lost].sort(), [takenOver.id, done.id, released.id, unknown.id].sort())
		await t.advance(2 * HOUR)
		assert.deepEqual((await t.find(renewed.id)).lockedBy, 'r1')
		assert.ok(!(await t.claimIds({ owner: 'r3' })).includes(renewed.id))
	},

	'renew ignores another attempt or another owner': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne({ leaseMs: HOUR })
		assert.deepEqual(await t.store.renew('r2', 9 * HOUR, [claimRef(row)]), [id])
		assert.deepEqual(await t.store.renew('r1', 9 * HOUR, [{ id, attempt: 2 }]), [id])
		assert.deepEqual(await t.store.renew('r1', 9 * HOUR, [{ id, attempt: 0 }]), [id])
		await t.advance(2 * HOUR)
		assert.equal((await t.claimOne({ owner: 'r2' })).id, id)
	},

	'renew accepts an empty list': async ({ store }) => {
		assert.deepEqual(await store.renew('r1', HOUR, []), [])
	},

	'release refunds the attempt and keeps the due time': async (t) => {
		const id = await t.enqueueOne()
		const before = await t.find(id)
		await t.settle([release(await t.claimOne())])
		const { lastAttemptAt: _, ...after } = await t.find(id)
		const { lastAttemptAt: __, ...fresh } = before
		assert.deepEqual(after, fresh)
		await t.expectClaimed({ id, attempt: 1, crashes: 0 }, { owner: 'r2' })
	},

	'a released message keeps its position': async (t) => {
		const ids = await t.enqueue({}, {}, {})
		const [first, second] = await t.claimMany(2, { limit: 2 })
		await t.advance(MINUTE)
		await t.settle([release(second), release(first)])
		assert.deepEqual(await t.claimIds(), ids)
	},

	'release can schedule the message for later': async (t) => {
		const id = await t.enqueueOne()
		const now = await t.now()
		await t.settle([release(await t.claimOne(), HOUR)])
		assertNear((await t.find(id)).dueAt, now + HOUR, 'dueAt')
		assert.deepEqual(await t.claimIds(), [])
		await t.advance(HOUR)
		assert.equal((await t.claimOne()).attempt, 1)
	},

	'release keeps the crash count, and a retry resets it': async (t) => {
		await t.enqueueOne()
		await t.claimOne({ leaseMs: MINUTE })
		await t.advance(HOUR)
		await t.settle([release(await t.claimOne())])
		const second = await t.claimOne()
		assert.deepEqual([second.attempt, second.crashes], [2, 1])
		await t.settle([retry(second, 0)])
		await t.expectClaimed({ attempt: 3, crashes: 0 })
	},

	'a released claim matches nothing any more': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne()
		await t.settle([release(row)])
		assert.deepEqual(await t.store.settle('r1', [sent(row)], false), [id])
		assert.equal((await t.find(id)).status, 'pending')
	},
}

/** Settles twice, with a claim by the same owner in between. Returns that claim. */
const twice = async (
	t: StoreHarness,
	settlement: Settlement,
	between: () => Promise<unknown>,
): Promise<ClaimedRow> => {
	await t.settle([settlement])
	await t.advance(MINUTE)
	await between()
	const again = await t.claimOne()
	assert.deepEqual(await t.store.settle('r1', [settlement], false), [again.id])
	return again
}

const nothing = async (): Promise<void> => {}

export const repeatedSettlements: CaseTable = {
	'a repeated release does not end a later claim of the same relay': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne()
		const again = await twice(t, release(row), nothing)
		assert.equal(again.attempt, row.attempt)
		await t.expectMessage(id, { status: 'processing', lockedBy: 'r1', attempts: 1 })
		assert.deepEqual(await t.claimIds({ owner: 'r2' }), [])
		await t.settle([sent(again)])
	},

	'a repeated release for later does not end a later claim either': async (t) => {
		const id = await t.enqueueOne()
		const settlement = release(await t.claimOne(), 0)
		const before = await twice(t, settlement, nothing)
		await t.expectMessage(id, { status: 'processing', dueAt: before.dueAt })
	},

	'a repeated dead settlement does not end the claim of a replayed message': async (t) => {
		const id = await t.enqueueOne({ key: 'k' })
		const settlement = dead(await t.claimOne(), { afterDeadLetter: 'dead-letter-rest' })
		const again = await twice(t, settlement, () => t.store.replay({ ids: [id] }, 1))
		assert.equal((await t.find(id)).status, 'processing')
		await t.settle([sent(again)])
	},

	'a repeated retry does not end the claim of a replayed message': async (t) => {
		const id = await t.enqueueOne()
		const first = await t.claimOne()
		await t.settle([retry(first, 0)])
		await t.settle([dead(await t.claimOne())])
		await t.advance(MINUTE)
		await t.store.replay({ ids: [id] }, MANY)
		await t.claimOne()
		assert.deepEqual(await t.store.settle('r1', [retry(first, HOUR)], false), [id])
		assert.equal((await t.find(id)).status, 'processing')
	},

	'a renewed lease is the same claim': async (t) => {
		const id = await t.enqueueOne()
		const row = await t.claimOne()
		await t.advance(MINUTE)
		assert.deepEqual(await t.store.renew('r1', HOUR, [claimRef(row)]), [])
		await t.settle([release(row)])
		assert.equal((await t.find(id)).attempts, 0)
	},

	'a settlement without claimedAt matches by owner and attempt': async (t) => {
		const id = await t.enqueueOne()
		const { attempt } = await t.claimOne()
		await t.settle([{ type: 'release', id, attempt }])
		assert.equal((await t.find(id)).status, 'pending')
	},
}
