/** Another request with the key of a first one: it learns that the key was used, and nothing else. */
import type { IdempotencyClaimRef } from '../../store/store.ts'
import { assertEqual } from '../harness/assertions.ts'
import { type CaseTable, LONG_MS, OTHER_REQUEST, RESPONSE, type StoreHarness } from '../harness/harness.ts'

const STEPS = { charge: '{"value":"secret"}' }

/** How a key gets into each state in which it has a fingerprint. */
const STATES: Readonly<Record<string, (t: StoreHarness) => Promise<unknown>>> = {
	running: (t) => t.claimed(),
	'running with steps': async (t) => t.save(await t.claimed(), STEPS),
	completed: (t) => t.completed(),
	'completed without a response': (t) => t.unstored(),
	abandoned: (t) => t.abandoned(),
	'abandoned with steps': (t) => t.abandoned({}, STEPS),
	'released with steps': (t) => t.released(STEPS),
	'resolved with a response': async (t) => {
		const { id } = await t.abandoned()
		await t.store.resolve(id, RESPONSE, LONG_MS)
	},
}

const caseOf =
	(prepare: (t: StoreHarness) => Promise<unknown>): CaseTable[string] =>
	async (t) => {
		await prepare(t)
		const before = await t.snapshot()
		for (const abandoned of ['rerun', 'reject'] as const)
			await t.expectClaim({ kind: 'mismatch' }, { ...OTHER_REQUEST, abandoned })
		assertEqual(await t.snapshot(), before, 'the key')
	}

export const mismatch: CaseTable = {
	...Object.fromEntries(
		Object.entries(STATES).map(([state, prepare]) => [
			`another request gets only a mismatch, and changes nothing, while the key is ${state}`,
			caseOf(prepare),
		]),
	),

	'another request gets a mismatch after a takeover': async (t) => {
		await t.abandoned()
		await t.claimed()
		await t.expectClaim({ kind: 'mismatch' }, OTHER_REQUEST)
	},

	'another request with the token of a claim gets a mismatch': async (t) => {
		const { token }: IdempotencyClaimRef = await t.claimed()
		await t.expectClaim({ kind: 'mismatch' }, { ...OTHER_REQUEST, token })
	},
}
