/** Writes of a claim that has lost its key, in whatever way, return false and change nothing. */
import type { IdempotencyClaimRef } from '../../store/store.ts'
import { assertEqual } from '../harness/assertions.ts'
import { type CaseTable, CHARGE, LONG_MS, RESPONSE, type StoreHarness } from '../harness/harness.ts'

/** Returns a claim that has lost its key. */
type Loss = (t: StoreHarness) => Promise<IdempotencyClaimRef>

const LOSSES: Readonly<Record<string, Loss>> = {
	'after a takeover': async (t) => {
		const lost = await t.abandoned()
		await t.claimed()
		return lost
	},
	'after a takeover whose lease has ended too': async (t) => {
		const lost = await t.abandoned()
		await t.abandoned()
		return lost
	},
	'after a takeover that has completed': async (t) => {
		const lost = await t.abandoned()
		await t.completed()
		return lost
	},
	'after a takeover that was released with steps': async (t) => {
		const lost = await t.abandoned()
		await t.released(CHARGE)
		return lost
	},
	'after a takeover that was released without steps': async (t) => {
		const lost = await t.abandoned()
		await t.released()
		return lost
	},
	'after its completion': (t) => t.completed(),
	'after its completion without a response': (t) => t.unstored(),
	'after its release': (t) => t.released(),
	'after its release with steps': (t) => t.released(CHARGE),
	'after its release and the next claim': async (t) => {
		const claim = await t.released()
		await t.claimed()
		return claim
	},
	'after the retention of a key that never completed': (t) => t.expired(),
	'after the retention of its response': async (t) => {
		const claim = await t.claimed()
		await t.complete(claim, RESPONSE, t.shortMs)
		await t.letPass(t.shortMs)
		return claim
	},
	'after an operator has decided that the next request runs': async (t) => {
		const claim = await t.abandoned({}, CHARGE)
		await t.store.resolve(claim.id, undefined, LONG_MS)
		return claim
	},
	'after an operator has set the response': async (t) => {
		const claim = await t.abandoned()
		await t.store.resolve(claim.id, RESPONSE, LONG_MS)
		return claim
	},
	'with a token that never claimed the key': async (t) => {
		const { id } = await t.claimed()
		return { id, token: t.request().token }
	},
	'of a key that was never used': async (t) => t.request(),
}

export const fencing: CaseTable = {
	...Object.fromEntries(
		Object.entries(LOSSES).map(([name, lose]) => [
			`no write of a claim has an effect ${name}`,
			async (t: StoreHarness) => t.expectFenced(await lose(t)),
		]),
	),

	...Object.fromEntries(
		(['heartbeat', 'complete', 'saveStep', 'release'] as const).map((operation) => [
			`${operation} returns false after the retention, also if no other call came before`,
			async (t: StoreHarness) => {
				const claim = await t.expired()
				const writes = {
					heartbeat: () => t.store.heartbeat(claim, LONG_MS),
					complete: () => t.store.complete(claim, RESPONSE, LONG_MS),
					saveStep: () => t.store.saveStep(claim, 'charge', '{"value":1}'),
					release: () => t.store.release(claim),
				}
				assertEqual(await writes[operation](), false, `the result of ${operation}`)
				await t.expectGone()
			},
		]),
	),

	'the claim that has taken over is not affected by late writes': async (t) => {
		const lost = await t.abandoned({}, CHARGE)
		const next = await t.claimed()
		await t.expectFenced(lost)
		await t.save(next, { mail: '{"value":2}' })
		await t.complete(next)
		await t.expectFenced(lost)
		await t.expectClaim({ kind: 'completed', response: RESPONSE })
	},
}
