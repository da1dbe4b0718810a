/**
 * What an event says of the service that was called, as one number for a row. What the policy did about it is not of
 * interest here: a refusal of the client's own says nothing of the service, and an answer that can not be retried, such as a 404, says that it
 * works.
 */
import type {
	RejectedEvent,
	RetryAttemptEvent,
	RetryFailureEvent,
	YaokiEvent,
} from '../../core/events/events.ts'

/** `hung`: no answer for as long as anybody waited. `refused`: by a policy, so that nobody was called. */
export const OUTCOME = { answered: 0, failed: 1, hung: 2, refused: 3, unknown: 4 } as const

export type Verdict = (typeof OUTCOME)[keyof typeof OUTCOME]

/** The toolkit's own refusals, by the errors that they end calls with. */
const REFUSALS: readonly string[] = [
	'CircuitOpenError',
	'BulkheadRejectedError',
	'RateLimitedError',
	'DeadlineExceededError',
]

const REFUSAL_OF: Readonly<Record<RejectedEvent['reason'], number>> = {
	'circuit-open': 0,
	'bulkhead-full': 1,
	'queue-timeout': 1,
	'rate-limited': 2,
	throttled: 2,
	deadline: 3,
}

/** How many kinds of refusal there are. */
export const REFUSAL_KINDS: number = REFUSALS.length

/** The kind of a `rejected` event. A reason that is not known yet is a kind that no error names. */
export const refusalKind = ({ reason }: RejectedEvent): number => REFUSAL_OF[reason] ?? REFUSAL_KINDS

/** A verdict, whether the whole call failed by it, and a detail: the status of a failure, the kind of a refusal. */
export const coded = (verdict: Verdict, isCallLost: boolean, detail = 0): number =>
	verdict + (isCallLost ? 8 : 0) + 16 * detail

export const outcomeOf = (code: number): number => code % 8
export const isCallLost = (code: number): boolean => code % 16 >= 8
export const detailOf = (code: number): number => Math.floor(code / 16)

type Described = Extract<YaokiEvent, { readonly errorType?: string }>

const STATUS = /\b(?:HTTP|status(?: code)?:?) ([45]\d\d)\b/i
const TIMED_OUT = /^TimeoutError\b|\btime(?:d ?|_?)out\b|ETIMEDOUT|_TIMEOUT\b/i
const WITHIN = /no answer within (\d+(?:\.\d+)?) ms/

/** What the error of an event means. */
export function codeOfError({ errorType = '', errorMessage = '' }: Described, isLost: boolean): number {
	const refusal = REFUSALS.indexOf(errorType)
	if (refusal >= 0) return coded(OUTCOME.refused, isLost, refusal)
	const status = Number(STATUS.exec(errorMessage)?.[1] ?? 0)
	if (status > 0) return coded(OUTCOME.failed, isLost, status)
	const isTimeout = TIMED_OUT.test(errorType) || TIMED_OUT.test(errorMessage)
	return coded(isTimeout ? OUTCOME.hung : OUTCOME.failed, isLost)
}

/** How long the attempt waited, if its error is a timeout of the toolkit's that says so; or NaN. */
export const waitedMs = ({ errorMessage = '' }: Described): number =>
	Number(WITHIN.exec(errorMessage)?.[1] ?? Number.NaN)

/** Ends of a call that say nothing of its last attempt: the caller, a hook or another branch ended it. */
const SILENT: ReadonlySet<string> = new Set(['abort', 'cancelled', 'hook-threw', 'interrupted'])

/** What the last attempt of a call that a retry gave up came to. */
export function codeOfFailure(event: RetryFailureEvent): number {
	const { stop, attempts, durationMs } = event
	const code = codeOfError(event, true)
	if (stop === 'permanent') return coded(OUTCOME.answered, true)
	// A limit around the retry: only of a first attempt is it known that it was under way all that time.
	if (stop === 'timeout' || (stop === 'deadline' && event.errorType === 'DeadlineExceededError'))
		return coded(attempts === 1 && durationMs > 0 ? OUTCOME.hung : OUTCOME.unknown, true)
	if (SILENT.has(stop) && outcomeOf(code) !== OUTCOME.refused) return coded(OUTCOME.unknown, true)
	return code
}

/** What an attempt that is made again came to. */
export function codeOfAttempt(event: RetryAttemptEvent): number {
	if (event.outcome === 'unwanted-result') return coded(OUTCOME.failed, false)
	const code = codeOfError(event, false)
	return event.outcome === 'cancelled' && outcomeOf(code) !== OUTCOME.refused
		? coded(OUTCOME.unknown, false)
		: code
}
