/** Messages and claims as tests of this store write them. */
import type { Runtime } from '../../../../src/core/runtime/runtime.ts'
import { systemRuntime } from '../../../../src/core/runtime/system.ts'
import type { ClaimRequest, ClaimTarget, Settlement } from '../../../../src/outbox/store/rows.ts'

/** A claim of one target. */
export const wanted = (
	target: Partial<ClaimTarget> = {},
	request: Partial<ClaimRequest> = {},
): ClaimRequest => ({
	owner: 'relay',
	leaseMs: 60_000,
	poisonCandidates: false,
	poisonAfter: 2,
	targets: [{ destination: 'a', limit: 1_000, since: 0, isOrdered: false, isProbe: false, ...target }],
	...request,
})

export const retry = (row: { id: string; attempt: number }, message: string): Settlement => ({
	type: 'retry',
	id: row.id,
	attempt: row.attempt,
	inMs: 60_000,
	delayMs: 1_000,
	error: { type: 'Error', message, fingerprint: 'f' },
})

/** A runtime by whose clock every claim takes this long. */
export function runtimeWithClaimsOf(ms: number): Runtime {
	let now = 0
	return {
		...systemRuntime,
		now() {
			now += ms
			return now
		},
	}
}
