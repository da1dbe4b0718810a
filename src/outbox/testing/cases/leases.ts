/**
 * Leases: expiry, takeover, renewal and release. A relay may also settle the same claim twice, because the
 * first response was lost with the connection; meanwhile it may hold the same message with the same attempt
 * again, because a release refunds the attempt and a replay resets it.
 */
import assert from 'node:assert/strict'
import type { ClaimedRow, ClaimRef, Settlement } from '../../store/rows.ts'
import { assertFields, assertNear, HOUR, MINUTE, required, sorted } from '../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../harness/harness.ts'
import { claimRef, dead, release, retry, sent } from '../harness/settlements.ts'

const R2 = { owner: 'r2' }

const claimName = ({ id, attempt, claimedAt }: ClaimRef): string => `${id} ${attempt} ${claimedAt}`

export const leases: CaseTable = {
	'a lease keeps other relays off until it expires': async (t) => {
		await t.enqueueAndClaim({}, { leaseMs: HOUR })
		await t.advance(HOUR - 10 * MINUTE)
		await t.expectClaim([], R2)
	},

	'an expired lease yields the message with one more attempt and crash': async (t) => {
		const { id } = await t.enqueueAndClaim({}, { leaseMs: HOUR })
		await t.advance(HOUR + 1)
		await t.expectClaimed({ id, attempt: 2, crashes: 1 }, R2)
		await t.expectMessage(id, { status: 'processing', attempts: 2, crashes: 1, lockedBy: 'r2' })
	},

	'a message is pending again once its lease has expired': async (t) => {
		const { id } = await t.enqueueAndClaim({}, { leaseMs: HOUR })
		await t.advance(HOUR + 1)
		await t.expectStatus('pending', [id])
		await t.expectCounts({ pending: 1, processing: 0 })
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
		await t.crash({ limit: 2 })
		await t.expectClaim(ids, R2)
	},

	'returns only messages whose lease has expired': async (t) => {
		const [first] = await t.enqueue({}, {})
		await t.claim({ limit: 1, leaseMs: MINUTE })
		await t.claim({ limit: 1, leaseMs: 3 * HOUR })
		await t.advance(HOUR)
		await t.expectClaim([first], R2)
	},

	'a relay can reclaim its own lost message': async (t) => {
		const first = await t.enqueueAndClaim({}, { leaseMs: MINUTE })
		await t.advance(HOUR)
		const second = await t.claimOne()
		assertFields(second, { attempt: 2, crashes: 1 })
		await t.expectLost([sent(first)])
		await t.settle([sent(second)])
	},

	'a late settlement after a takeover changes nothing and is reported as lost': async (t) => {
		const lost = await t.enqueueAndClaim({}, { leaseMs: MINUTE })
		await t.advance(HOUR)
		await t.claimOne(R2)
		const before = await t.find(lost.id)
		for (const settlement of [sent(lost), retry(lost, HOUR), release(lost), release(lost, HOUR), dead(lost)])
			await t.expectLost([settlement], 'r1', true)
		assert.deepEqual(await t.find(lost.id), before)
	},

	'a settlement by another owner with the right attempt is lost': async (t) => {
		const row = await t.enqueueAndClaim()
		await t.expectLost([sent(row)], 'r2')
		await t.expectMessage(row.id, { lockedBy: 'r1' })
	},

	'a late settlement counts if the message was not taken over': async (t) => {
		const row = await t.enqueueAndClaim({}, { leaseMs: MINUTE })
		await t.advance(HOUR)
		await t.settle([sent(row)])
		await t.expectGone(row.id)
	},

	'renew extends the lease from now': async (t) => {
		const row = await t.enqueueAndClaim({}, { leaseMs: HOUR })
		await t.advance(30 * MINUTE)
		const now = await t.now()
		assert.deepEqual(await t.store.renew('r1', HOUR, [claimRef(row)]), [])
		assertNear((await t.find(row.id)).leaseUntil, now + HOUR, 'leaseUntil')
		await t.advance(50 * MINUTE)
		await t.expectClaim([], R2)
		await t.advance(11 * MINUTE)
		await t.expectClaimed({ crashes: 1 }, R2)
	},

	'renew changes neither attempts nor crashes': async (t) => {
		const row = await t.enqueueAndClaim()
		for (let n = 0; n < 3; n++) await t.store.renew('r1', HOUR, [claimRef(row)])
		await t.expectMessage(row.id, { attempts: 1, crashes: 0, status: 'processing', lockedBy: 'r1' })
	},

	'renew reports lost claims and renews the others': async (t) => {
		await t.enqueueMany(4)
		const [takenOver, renewed, done, released] = await t.claimMany(4, { leaseMs: HOUR })
		await t.store.renew('r1', 3 * HOUR, [renewed, done, released].map(claimRef))
		await t.advance(2 * HOUR)
		await t.claimOne(R2)
		await t.settle([sent(done), release(released, HOUR)])
		const unknown = { id: t.id(), attempt: 1 }
		const claims = [takenOver, renewed, done, released, unknown].map(claimRef)
		const lost = await t.store.renew('r1', 4 * HOUR, claims)
		assert.deepEqual(sorted(lost), sorted([takenOver.id, done.id, released.id, unknown.id]))
		await t.advance(2 * HOUR)
		await t.expectMessage(renewed.id, { lockedBy: 'r1' })
		assert.ok(!(await t.claimIds({ owner: 'r3' })).includes(renewed.id))
	},

	'renew ignores another attempt or another owner': async (t) => {
		const row = await t.enqueueAndClaim({}, { leaseMs: HOUR })
		const { id } = row
		assert.deepEqual(await t.store.renew('r2', 9 * HOUR, [claimRef(row)]), [id])
		for (const attempt of [2, 0])
			assert.deepEqual(await t.store.renew('r1', 9 * HOUR, [{ id, attempt }]), [id])
		await t.advance(2 * HOUR)
		await t.expectClaim([id], R2)
	},

	'renew accepts an empty list': async ({ store }) => assert.deepEqual(await store.renew('r1', HOUR, []), []),

	'claimsOf returns the claims that an owner holds at the given destinations': async (t) => {
		await t.enqueue({}, {}, {}, {}, { destination: 'b' }, { destination: 'c' })
		const [held, done, failed, released] = await t.claimMany(4)
		const atOther = await t.claimOne({ destination: 'b' })
		await t.claimOne({ destination: 'c' })
		await t.enqueueAndClaim({}, R2)
		await t.settle([sent(done), retry(failed, HOUR), release(released)])
		const claims = await t.store.claimsOf('r1', ['a', 'b', 'unused'])
		assert.deepEqual(sorted(claims.map(claimName)), sorted([held, atOther].map(claimName)))
		assert.deepEqual(await t.store.claimsOf('r3', ['a', 'b', 'c']), [])
		assert.deepEqual(await t.store.claimsOf('r1', []), [])
	},

	'claimsOf finds all messages of a run, and claims with a renewed lease': async (t) => {
		await t.enqueueMany(3, { key: 'k' })
		const run = await t.claimMany(3, { isOrdered: true, keys: ['k'], perKey: 3, leaseMs: HOUR })
		await t.advance(30 * MINUTE)
		await t.store.renew('r1', HOUR, run.map(claimRef))
		await t.advance(45 * MINUTE)
		const claims = await t.store.claimsOf('r1', ['a'])
		assert.deepEqual(sorted(claims.map(claimName)), sorted(run.map(claimName)))
	},

	'claimsOf leaves out expired leases and claims that were taken over': async (t) => {
		await t.enqueueMany(2)
		await t.claimMany(2, { leaseMs: MINUTE })
		await t.advance(HOUR)
		assert.deepEqual(await t.store.claimsOf('r1', ['a']), [])
		await t.claimOne({ ...R2, limit: 1 })
		assert.deepEqual(await t.store.claimsOf('r1', ['a']), [])
	},

	'a claim from claimsOf can be released, and a late release does not end a later claim': async (t) => {
		const { id } = await t.enqueueAndClaim()
		const [claim] = await t.store.claimsOf('r1', ['a'])
		const found = required(claim, 'the claim')
		await t.settle([release(found)])
		await t.expectMessage(id, { status: 'pending', attempts: 0, crashes: 0, lockedBy: null })
		await t.advance(MINUTE)
		await t.claimOne()
		await t.expectLost([release(found)])
		await t.expectMessage(id, { attempts: 1, lockedBy: 'r1' })
	},

	'release refunds the attempt and keeps the due time': async (t) => {
		const id = await t.enqueueOne()
		const { lastAttemptAt: _, ...before } = await t.find(id)
		await t.settle([release(await t.claimOne())])
		await t.expectMessage(id, before)
		await t.expectClaimed({ id, attempt: 1, crashes: 0 }, R2)
	},

	'a released message keeps its position': async (t) => {
		const ids = await t.enqueue({}, {}, {})
		const [first, second] = await t.claimMany(2, { limit: 2 })
		await t.advance(MINUTE)
		await t.settle([release(second), release(first)])
		await t.expectClaim(ids)
	},

	'release can schedule the message for later': async (t) => {
		const row = await t.enqueueAndClaim()
		await t.settle([release(row, HOUR)])
		assertNear((await t.find(row.id)).dueAt, (await t.now()) + HOUR, 'dueAt')
		await t.expectClaim([])
		await t.advance(HOUR)
		await t.expectClaimed({ attempt: 1 })
	},

	'release keeps the crash count, and a retry resets it': async (t) => {
		await t.enqueueOne()
		await t.crash()
		await t.settle([release(await t.claimOne())])
		const second = await t.claimOne()
		assertFields(second, { attempt: 2, crashes: 1 })
		await t.settle([retry(second, 0)])
		await t.expectClaimed({ attempt: 3, crashes: 0 })
	},

	'a released claim matches nothing any more': async (t) => {
		const row = await t.enqueueAndClaim()
		await t.settle([release(row)])
		await t.expectLost([sent(row)])
		await t.expectStatus('pending', [row.id])
	},
}

/** Settles twice, with a claim by the same owner in between. Returns that claim. */
const twice = async (
	t: StoreHarness,
	settlement: Settlement,
	between?: () => Promise<unknown>,
): Promise<ClaimedRow> => {
	await t.settle([settlement])
	await t.advance(MINUTE)
	await between?.()
	const again = await t.claimOne()
	await t.expectLost([settlement])
	return again
}

export const repeatedSettlements: CaseTable = {
	'a repeated release does not end a later claim of the same relay': async (t) => {
		const row = await t.enqueueAndClaim()
		const again = await twice(t, release(row))
		assert.equal(again.attempt, row.attempt)
		await t.expectMessage(row.id, { status: 'processing', lockedBy: 'r1', attempts: 1 })
		await t.expectClaim([], R2)
		await t.settle([sent(again)])
	},

	'a repeated release for later does not end a later claim either': async (t) => {
		const { id, dueAt } = await twice(t, release(await t.enqueueAndClaim(), 0))
		await t.expectMessage(id, { status: 'processing', dueAt })
	},

	'a repeated dead settlement does not end the claim of a replayed message': async (t) => {
		const row = await t.enqueueAndClaim({ key: 'k' })
		const settlement = dead(row, { afterDeadLetter: 'dead-letter-rest' })
		const again = await twice(t, settlement, () => t.replay({ ids: [row.id] }, 1))
		await t.expectStatus('processing', [row.id])
		await t.settle([sent(again)])
	},

	'a repeated retry does not end the claim of a replayed message': async (t) => {
		const first = await t.enqueueAndClaim()
		await t.settle([retry(first, 0)])
		await t.die()
		await t.advance(MINUTE)
		await t.replay({ ids: [first.id] }, MANY)
		await t.claimOne()
		await t.expectLost([retry(first, HOUR)])
		await t.expectStatus('processing', [first.id])
	},

	'a renewed lease is the same claim': async (t) => {
		const row = await t.enqueueAndClaim()
		await t.advance(MINUTE)
		assert.deepEqual(await t.store.renew('r1', HOUR, [claimRef(row)]), [])
		await t.settle([release(row)])
		await t.expectMessage(row.id, { attempts: 0 })
	},

	'a settlement without claimedAt matches by owner and attempt': async (t) => {
		const { id, attempt } = await t.enqueueAndClaim()
		await t.settle([{ type: 'release', id, attempt }])
		await t.expectStatus('pending', [id])
	},
}
