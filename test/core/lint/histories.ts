/** What may happen to calls, so that the figures of lint can be held against it in virtual time. */
import type { Policy } from 'yaoki'
import type { VirtualRuntime } from 'yaoki/testing'

/** What the work does when it is called for the n-th time; it hangs where there is no time. */
export interface Deed {
	readonly takesMs: number | undefined
	readonly ok: boolean
}

export interface Took {
	ms: number
	calls: number
}

/** Runs one call and tells what it took, once it has ended; one that hangs for good has none. */
export function begin(clock: VirtualRuntime, policy: Policy, deeds: readonly Deed[]): Took {
	const took: Took = { ms: Number.NaN, calls: 0 }
	const from = clock.now()
	const end = () => {
		took.ms = clock.now() - from
	}
	const work = () => {
		const { takesMs, ok } = deeds[took.calls++ % deeds.length] ?? { takesMs: undefined, ok: false }
		if (takesMs === 0 && !ok) throw new Error('down')
		return new Promise<string>((resolve, reject) => {
			if (takesMs === undefined) return
			clock.setTimer(takesMs, () => (ok ? resolve('ok') : reject(new Error('down'))))
		})
	}
	policy.execute(work).then(end, end)
	return took
}

export async function take(clock: VirtualRuntime, policy: Policy, ...deeds: readonly Deed[]): Promise<Took> {
	const took = begin(clock, policy, deeds)
	await clock.runUntilIdle()
	return took
}

export const HANGS: Deed = { takesMs: undefined, ok: false }
export const FAILS: Deed = { takesMs: 0, ok: false }
