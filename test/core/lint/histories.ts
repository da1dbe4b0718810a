/** Operations with prescribed outcomes, to compare the figures of lint with calls in virtual time. */
import type { Policy } from 'yaoki'
import type { VirtualRuntime } from 'yaoki/testing'

/** The outcome of one attempt. It hangs if `takesMs` is undefined. */
export interface Outcome {
	readonly takesMs: number | undefined
	readonly ok: boolean
	/** The Retry-After of its failure. */
	readonly asksMs?: number
}

export interface CallResult {
	ms: number
	attempts: number
}

/** Starts a call. The duration is set when it ends; it stays NaN if the call never ends. */
export function startCall(
	clock: VirtualRuntime,
	policy: Policy<unknown>,
	outcomes: readonly Outcome[],
): CallResult {
	const result: CallResult = { ms: Number.NaN, attempts: 0 }
	const from = clock.now()
	const end = () => {
		result.ms = clock.now() - from
	}
	const operation = () => {
		const { takesMs, ok, asksMs } = outcomes[result.attempts++ % outcomes.length] ?? HANGS
		if (takesMs === 0 && !ok) throw Object.assign(new Error('down'), { retryAfterMs: asksMs })
		return new Promise<string>((resolve, reject) => {
			if (takesMs === undefined) return
			clock.setTimer(takesMs, () => (ok ? resolve('ok') : reject(new Error('down'))))
		})
	}
	policy.execute(operation).then(end, end)
	return result
}

export async function runCall(
	clock: VirtualRuntime,
	policy: Policy<unknown>,
	...outcomes: readonly Outcome[]
): Promise<CallResult> {
	const result = startCall(clock, policy, outcomes)
	await clock.runUntilIdle()
	return result
}

export const HANGS: Outcome = { takesMs: undefined, ok: false }
export const FAILS: Outcome = { takesMs: 0, ok: false }
/** Fails and asks for a retry sooner than any backoff. */
export const ASKS: Outcome = { takesMs: 0, ok: false, asksMs: 0.001 }
