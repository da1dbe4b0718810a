/** Leases and takeover, by the clock of the store. */
import { assertEqual, assertNear } from '../harness/assertions.ts'
import { type CaseTable, CHARGE, LONG_MS, OTHER_REQUEST, RESPONSE } from '../harness/harness.ts'

export const leases: CaseTable = {
	'a claim whose lease has ended is taken over': async (t) => {
		await t.abandoned()
		await t.expectClaim({ kind: 'claimed', steps: {} })
		await t.expectKind('running')
	},

	'a claim whose lease has ended is abandoned for a claim that rejects such keys': async (t) => {
		await t.abandoned()
		for (let n = 0; n < 2; n++) await t.expectClaim({ kind: 'abandoned' }, { abandoned: 'reject' })
		await t.expectKind('claimed', { abandoned: 'rerun' })
		await t.expectKind('running', { abandoned: 'reject' })
	},

	'a lease that lasts is not taken over, whatever the other claim wants': async (t) => {
		await t.claimed()
		await t.letPass(t.shortMs)
		await t.expectKind('running', { leaseMs: t.shortMs, retentionMs: 0 })
		await t.expectKind('running', { abandoned: 'reject' })
	},

	'a claim whose process has ended is taken over before its lease ends, with its steps': async (t) => {
		const claim = await t.claimed()
		await t.save(claim, CHARGE)
		await t.expectClaim({ kind: 'claimed', steps: CHARGE }, { endedToken: claim.token })
		await t.expectKind('running', { endedToken: claim.token })
		assertEqual(await t.store.heartbeat(claim, LONG_MS), false, 'the result of heartbeat')
	},

	'a claim whose process has ended is abandoned for a claim that rejects such keys': async (t) => {
		const { token } = await t.claimed()
		await t.expectClaim({ kind: 'abandoned' }, { abandoned: 'reject', endedToken: token })
		await t.expectKind('running')
	},

	'a claim is not taken over because the process of another one has ended': async (t) => {
		await t.claimed()
		await t.expectKind('running', { endedToken: t.request().token })
	},

	'an ended process has no effect on other requests, completed keys and released keys': async (t) => {
		const claim = await t.claimed()
		await t.expectClaim({ kind: 'mismatch' }, { ...OTHER_REQUEST, endedToken: claim.token })
		await t.complete(claim)
		await t.expectClaim({ kind: 'completed', response: RESPONSE }, { endedToken: claim.token })
	},

	'exactly one of many concurrent claims takes over from an ended process': async (t) => {
		const { token } = await t.claimed()
		const results = await t.concurrently(20, (store) => t.claim({ endedToken: token }, store))
		assertEqual(results.filter(({ kind }) => kind === 'claimed').length, 1, 'the claims that succeeded')
	},

	'a takeover has its own lease': async (t) => {
		await t.abandoned()
		await t.abandoned()
		await t.claimed({ leaseMs: 2 * LONG_MS })
		assertNear((await t.find()).leaseLeftMs, 2 * LONG_MS, 'the lease')
	},

	'a heartbeat extends the lease': async (t) => {
		const claim = await t.claimed({ leaseMs: t.shortMs })
		assertEqual(await t.store.heartbeat(claim, LONG_MS), true, 'the result of heartbeat')
		await t.letPass(t.shortMs)
		await t.expectKind('running')
		assertNear((await t.find()).leaseLeftMs, LONG_MS, 'the lease')
	},

	'a lease is counted from the last heartbeat': async (t) => {
		const claim = await t.claimed()
		assertEqual(await t.store.heartbeat(claim, t.shortMs), true, 'the result of heartbeat')
		await t.letPass(t.shortMs)
		await t.expectKind('claimed')
	},

	'a heartbeat after the end of the lease holds the key again, unless it was taken over': async (t) => {
		const claim = await t.abandoned()
		assertEqual(await t.store.heartbeat(claim, LONG_MS), true, 'the result of heartbeat')
		await t.expectKind('running')
		await t.complete(claim)
	},

	'a step, a completion and a release after the end of the lease count, unless it was taken over': async (
		t,
	) => {
		const late = await t.abandoned()
		await t.save(late, CHARGE)
		await t.release(late)
		const later = await t.abandoned({}, { mail: '{"value":2}' })
		await t.complete(later)
		await t.expectClaim({ kind: 'completed', response: RESPONSE })
	},
}
