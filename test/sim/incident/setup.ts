/** Attempts as the reader records them, without a log. */
import { encodeOutcome, OUTCOME } from '../../../src/sim/incident/log/attempt-outcome.ts'
import { AttemptBins, Attempts } from '../../../src/sim/incident/log/attempts.ts'

export interface RecordedAttempt {
	/** When it started, in milliseconds of the scenario. */
	readonly at: number
	/** Undefined if the start is not known; `at` is the end then. */
	readonly ms?: number | undefined
	/** Default: it got a response. */
	readonly outcome?: keyof typeof OUTCOME
	readonly status?: number
}

/** The wall time of the start of the scenario. */
export const ORIGIN = 1_000_000

/** Returns attempts in bins of a second, from time 0 to the last start or end. */
export function setup(list: readonly RecordedAttempt[], widthMs = 1_000): AttemptBins {
	const attempts = new Attempts(list.length)
	for (const { at, ms, outcome = 'responded', status = 0 } of list) {
		const code = encodeOutcome(OUTCOME[outcome], false, status)
		attempts.add(ms === undefined ? Number.NaN : ORIGIN + at, ORIGIN + at + (ms ?? 0), code)
	}
	const last = Math.max(0, ...list.map(({ at, ms = 0 }) => at + ms))
	return new AttemptBins(attempts, ORIGIN, ORIGIN + last, widthMs)
}

/** Returns an attempt every `everyMs` in a period. */
export const steadily = (
	fromMs: number,
	toMs: number,
	everyMs: number,
	details: Omit<RecordedAttempt, 'at'>,
): readonly RecordedAttempt[] =>
	Array.from({ length: Math.ceil((toMs - fromMs) / everyMs) }, (_, index) => {
		return { at: fromMs + index * everyMs, ...details }
	})
