/** How long keys are kept, and how expired ones are deleted. */
import { assertEqual, assertNear, assertThat } from '../harness/assertions.ts'
import {
	type CaseTable,
	CHARGE,
	hashOf,
	LONG_MS,
	OTHER_REQUEST,
	RESPONSE,
	type StoreHarness,
} from '../harness/harness.ts'

const idOf = (n: number): string => hashOf(`key ${n}`)

/** Purges in batches of 2. `counts` are the results if the database does not delete keys by itself. */
async function expectPurged(
	t: StoreHarness,
	counts: readonly number[],
	isExclusive?: boolean,
): Promise<void> {
	const purged: number[] = []
	for (const _ of counts) purged.push(await t.store.purge(2, isExclusive))
	assertEqual(purged, t.opened.purgesItself ? counts.map(() => 0) : counts, 'the results of purge')
}

/** Purges ten keys concurrently, and then the rest. */
async function expectPurgedOnce(t: StoreHarness, limit: number, isExclusive?: boolean): Promise<void> {
	await expired(t, 10)
	const counts = await t.concurrently(4, async (store) => store.purge(limit, isExclusive))
	const sum = counts.reduce((total, count) => total + count, 0)
	assertThat(sum <= 10, `the sum of the results of purge: expected at most 10, got ${sum}`)
	assertEqual(sum + (await t.store.purge(100)), t.opened.purgesItself ? 0 : 10, 'the number of purged keys')
}

/** Completes keys whose retention ends before this returns. */
async function expired(t: StoreHarness, count: number): Promise<void> {
	for (let n = 0; n < count; n++)
		await t.complete(await t.claimed({ id: idOf(n) }), n % 2 ? RESPONSE : undefined, t.shortMs)
	await t.letPass(t.shortMs)
}

export const retention: CaseTable = {
	'a response is kept as long as its completion says, not as its claim does': async (t) => {
		await t.complete(await t.claimed({ retentionMs: 0 }), RESPONSE, LONG_MS)
		await t.letPass(t.shortMs)
		await t.expectClaim({ kind: 'completed', response: RESPONSE })
		const { expiresAt, completedAt } = await t.find()
		assertNear(expiresAt, Number(completedAt) + LONG_MS, 'the time of expiry')
	},

	'a response is kept from its completion, not from its claim': async (t) => {
		const claim = await t.claimed({ leaseMs: t.shortMs })
		await t.letPass(2 * t.shortMs)
		await t.complete(claim, RESPONSE, LONG_MS)
		await t.expectKind('completed')
		await t.letPass(t.shortMs)
		await t.expectKind('completed')
	},

	'a key is new when the retention of its response is over': async (t) => {
		await t.complete(await t.claimed(), RESPONSE, t.shortMs)
		await t.letPass(t.shortMs)
		await t.expectGone()
		await t.expectClaim({ kind: 'claimed', steps: {} }, OTHER_REQUEST)
		await t.expectKind('running', OTHER_REQUEST)
	},

	'a key that was completed without a response is new when its retention is over': async (t) => {
		await t.store.complete(await t.claimed(), undefined, t.shortMs)
		await t.letPass(t.shortMs)
		await t.expectGone()
		await t.expectKind('claimed', OTHER_REQUEST)
	},

	'a retention of 0 keeps nothing': async (t) => {
		await t.complete(await t.claimed(), RESPONSE, 0)
		await t.expectKind('claimed')
	},

	'a key is kept while its lease lasts, whatever its retention is': async (t) => {
		const claim = await t.claimed({ retentionMs: 0 })
		await t.letPass(t.shortMs)
		await t.expectKind('running')
		assertEqual(await t.store.heartbeat(claim, 2 * LONG_MS), true, 'the result of heartbeat')
		await t.complete(claim)
	},

	'a key that never completes is kept for its retention after the end of the lease': async (t) => {
		await t.claimed({ leaseMs: t.shortMs, retentionMs: LONG_MS })
		await t.letPass(2 * t.shortMs)
		await t.expectClaim({ kind: 'mismatch' }, OTHER_REQUEST)
		const { expiresAt, createdAt } = await t.find()
		assertNear(expiresAt, createdAt + LONG_MS, 'the time of expiry')
	},

	'a key that never completes is new when its retention is over': async (t) => {
		await t.expired()
		await t.expectGone()
		await t.expectClaim({ kind: 'claimed', steps: {} }, { ...OTHER_REQUEST, abandoned: 'reject' })
	},

	'a heartbeat extends the time for which a key is kept': async (t) => {
		const claim = await t.claimed({ retentionMs: LONG_MS })
		await t.store.heartbeat(claim, 3 * LONG_MS)
		const { expiresAt, createdAt } = await t.find()
		assertNear(expiresAt, createdAt + 4 * LONG_MS, 'the time of expiry')
	},

	'a takeover extends the time for which a key is kept': async (t) => {
		await t.abandoned({ retentionMs: LONG_MS })
		await t.claimed({ leaseMs: LONG_MS, retentionMs: 2 * LONG_MS })
		const { expiresAt, createdAt } = await t.find()
		assertNear(expiresAt, createdAt + 3 * LONG_MS, 'the time of expiry')
	},
}

export const purge: CaseTable = {
	'an empty store has nothing to purge': async (t) => {
		assertEqual(await t.store.purge(10), 0, 'the result of purge')
	},

	'purge deletes expired keys in batches': async (t) => {
		await expired(t, 5)
		await expectPurged(t, [2, 2, 1, 0])
		for (let n = 0; n < 5; n++) await t.expectGone(idOf(n))
	},

	'purge deletes keys that never completed, after their retention': async (t) => {
		await t.expired()
		await expectPurged(t, [1])
	},

	'purge keeps running, abandoned, released and completed keys': async (t) => {
		await t.claimed({ id: idOf(1), retentionMs: 0 })
		await t.completed(RESPONSE, { id: idOf(2), retentionMs: 0 })
		await t.released(CHARGE, { id: idOf(3) })
		await t.unstored({ id: idOf(4) })
		await t.abandoned({ id: idOf(5) })
		assertEqual(await t.store.purge(100), 0, 'the result of purge')
		const states = await Promise.all([1, 2, 3, 4, 5].map(async (n) => (await t.find(idOf(n))).state))
		assertEqual(states, ['running', 'completed', 'released', 'unstored', 'running'], 'the states')
	},

	'an exclusive purge deletes expired keys too, and later ones find nothing': async (t) => {
		await expired(t, 3)
		await expectPurged(t, [2, 1, 0], true)
	},

	'concurrent exclusive purges delete each key once': (t) => expectPurgedOnce(t, 3, true),

	'concurrent purges delete each key once': (t) => expectPurgedOnce(t, 10),
}
