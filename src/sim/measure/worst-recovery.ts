import type { Recovery, RecoveryStatus, RunRecovery } from './result.ts'

/** From the best to the worst. */
const STATUSES: readonly RecoveryStatus[] = ['recovered', 'not-shown', 'not-recovered']

/** Combines the recoveries of clients and services, each a list by fault: a run has recovered when all have. */
export function worstRecovery(lists: readonly (readonly Recovery[] | undefined)[]): RunRecovery | null {
	const known = lists.filter((list) => list !== undefined)
	const faults = (known[0] ?? []).map((_, index) => worst(known.flatMap((list) => list[index] ?? [])))
	const last = faults.at(-1)
	return last ? { ...last, faults } : null
}

/** Calls of a client that did not call after the fault show nothing, so the others decide if there are any. */
const isSilent = ({ status, callsAfter, drainedAfterMs }: Recovery): boolean =>
	status === 'not-shown' && callsAfter === 0 && drainedAfterMs !== null

function worst(every: readonly Recovery[]): Recovery {
	const conclusive = every.filter((one) => !isSilent(one))
	const all = conclusive.some(({ callsAfter }) => callsAfter > 0) ? conclusive : every
	const latest = (of: (one: Recovery) => number | null): number | null =>
		all.reduce<number | null>((max, one) => {
			const value = of(one)
			return max === null || value === null ? null : Math.max(max, value)
		}, 0)
	const shortest = (of: (one: Recovery) => number | null): number | null =>
		all.reduce<number | null>((min, one) => {
			const value = of(one)
			return min === null || value === null ? null : Math.min(min, value)
		}, Infinity)
	return {
		status: STATUSES.findLast((status) => all.some((one) => one.status === status)) ?? 'recovered',
		faultEndedAtMs: all[0]?.faultEndedAtMs ?? 0,
		healthyAfterMs: latest((one) => one.healthyAfterMs),
		drainedAfterMs: latest((one) => one.drainedAfterMs),
		recoveredAfterMs: latest((one) => one.recoveredAfterMs),
		heldForMs: shortest((one) => one.heldForMs),
		callsAfter: Math.max(0, ...all.map(({ callsAfter }) => callsAfter)),
	}
}
