/** What a claim returns, alone and concurrently with others. */
import type { IdempotencyClaimResult, IdempotencyStore } from '../../store/store.ts'
import { assertEqual, assertThat } from '../harness/assertions.ts'
import {
	type CaseTable,
	CHARGE,
	hashOf,
	LONG_MS,
	OTHER_ID,
	OTHER_REQUEST,
	RESPONSE,
	type StoreHarness,
} from '../harness/harness.ts'

const MANY = 20

/** Claims one key concurrently. Exactly one claim must succeed, and the others must find it running. */
async function expectOneWinner(t: StoreHarness): Promise<void> {
	const results = await t.concurrently(MANY, (store) => t.claim({}, store))
	assertEqual(kinds(results), ['claimed', ...Array(MANY - 1).fill('running')], 'the claims')
}

const kinds = (results: readonly IdempotencyClaimResult[]): string[] => results.map(({ kind }) => kind).sort()

export const claims: CaseTable = {
	'a key that was never used is claimed without steps': (t) => t.expectClaim({ kind: 'claimed', steps: {} }),

	'a claimed key is running for another claim, with the rest of its lease and its token': async (t) => {
		const claim = await t.claimed()
		await t.letPass(t.shortMs)
		const result = await t.claim()
		assertThat(result.kind === 'running', `the claim: expected running, got ${result.kind}`)
		const { leaseLeftMs, token } = result
		const maxMs = LONG_MS - t.shortMs
		const isRest = leaseLeftMs > 0 && leaseLeftMs <= maxMs
		assertThat(isRest, `the rest of the lease: expected at most ${maxMs}, got ${leaseLeftMs}`)
		assertEqual(token, claim.token, 'the token of the claim that holds the key')
	},

	'a claim that finds the key running changes nothing': async (t) => {
		const claim = await t.claimed()
		const before = await t.snapshot()
		await t.expectKind('running', { leaseMs: 3 * LONG_MS, retentionMs: 3 * LONG_MS })
		assertEqual(await t.snapshot(), before, 'the key')
		await t.complete(claim)
	},

	'every claim of a completed key gets the response': async (t) => {
		await t.completed()
		for (let n = 0; n < 3; n++) await t.expectClaim({ kind: 'completed', response: RESPONSE })
		await t.expectClaim({ kind: 'completed', response: RESPONSE }, { abandoned: 'reject' })
	},

	'every claim of a key that was completed without a response is unstored': async (t) => {
		await t.unstored()
		for (let n = 0; n < 3; n++) await t.expectClaim({ kind: 'unstored' })
	},

	'a claim of another key is independent': async (t) => {
		await t.completed()
		await t.released(CHARGE, { id: OTHER_ID, ...OTHER_REQUEST })
		await t.expectClaim({ kind: 'completed', response: RESPONSE })
	},

	'exactly one of many concurrent claims succeeds': expectOneWinner,

	'exactly one of many concurrent claims succeeds after a lease has ended': async (t) => {
		await t.abandoned()
		await expectOneWinner(t)
	},

	'exactly one of many concurrent claims succeeds after a release with steps': async (t) => {
		await t.released(CHARGE)
		await expectOneWinner(t)
	},

	'exactly one of many concurrent claims succeeds after the retention': async (t) => {
		await t.complete(await t.claimed(), RESPONSE, t.shortMs)
		await t.letPass(t.shortMs)
		await expectOneWinner(t)
	},

	'concurrent claims of different requests: one succeeds, and each other one gets a mismatch or finds it running':
		async (t) => {
			const fingerprints = [t.request().fingerprint, OTHER_REQUEST.fingerprint]
			const results = await t.concurrently(MANY, (store, n) => {
				// Two of four, because every second claim is on the second store.
				const fingerprint = fingerprints[n % 4 < 2 ? 0 : 1] ?? ''
				return t.claim({ fingerprint }, store)
			})
			const others = [...Array(MANY / 2).fill('mismatch'), ...Array(MANY / 2 - 1).fill('running')]
			assertEqual(kinds(results), ['claimed', ...others], 'the claims')
		},

	'concurrent claims of different keys all succeed': async (t) => {
		const results = await t.concurrently(MANY, (store, n) => t.claim({ id: hashOf(`${n}`) }, store))
		assertEqual(kinds(results), Array(MANY).fill('claimed'), 'the claims')
	},
}

/** A client of a database may send a command twice, because the connection was lost before the reply. */
export const repeatedClaims: CaseTable = {
	'a claim that is repeated with its token succeeds again, with its steps': async (t) => {
		const { token } = await t.claimed()
		await t.expectClaim({ kind: 'claimed', steps: {} }, { token })
		await t.save({ id: t.request().id, token }, CHARGE)
		await t.expectClaim({ kind: 'claimed', steps: CHARGE }, { token })
		await t.expectKind('running')
	},

	'a claim that is repeated with its token after its lease has ended succeeds again': async (t) => {
		const claim = await t.abandoned()
		await t.expectKind('claimed', { token: claim.token, abandoned: 'reject' })
		await t.expectKind('running', { abandoned: 'reject' })
		await t.complete(claim)
	},

	'a claim that is repeated with its token after a takeover finds the key running': async (t) => {
		const { token } = await t.abandoned()
		const next = await t.claimed()
		await t.expectKind('running', { token })
		await t.complete(next)
	},

	'a claim that is repeated with its token after its completion gets the response': async (t) => {
		const { token } = await t.completed()
		await t.expectClaim({ kind: 'completed', response: RESPONSE }, { token })
	},

	'a claim that is sent twice concurrently succeeds twice, and no other one does': async (t) => {
		const { token } = t.request()
		const results = await t.concurrently(MANY, (store: IdempotencyStore) => t.claim({ token }, store))
		assertEqual(kinds(results), Array(MANY).fill('claimed'), 'the claims')
		await t.expectKind('running')
	},
}
