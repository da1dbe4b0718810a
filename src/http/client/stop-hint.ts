/** Why a request that could have been retried was not, for the message of its error. */
import { safeMessage } from '../../core/classify/safe-get.ts'
import type { Call } from '../../core/engine/call.ts'
import { formatMs, YaokiError } from '../../core/errors/errors.ts'
import { reduceUrls } from '../../core/events/message-text.ts'
import { attachRecord, type StopReason } from '../../core/explain/record.ts'
import { HttpStatusError, setMessage } from '../request/status-error.ts'
import { BODY_NOT_REPLAYABLE } from '../transport/request-body.ts'

const HINTS: { readonly [reason in StopReason]?: string } = {
	'body-used': BODY_NOT_REPLAYABLE,
	'not-idempotent':
		"not retried: the request has no idempotency key. Pass yaoki.idempotencyKey, or idempotency: 'auto'",
}

/** Returns why a request that could have been retried was not, and how to change that. */
export function stopHint(
	{ stop, options }: Call,
	error: unknown,
	maxRetryAfterMs: number,
): string | undefined {
	if (!stop) return undefined
	if (!(error instanceof HttpStatusError) || error.retryAfterMs === undefined) return HINTS[stop]
	const asked = `not retried: server asked for ${formatMs(error.retryAfterMs)}`
	if (stop === 'retry-after') return `${asked}, maxRetryAfterMs is ${formatMs(maxRetryAfterMs)}`
	if (stop !== 'deadline') return HINTS[stop]
	error.remainingMs = Math.floor(options?.deadline?.remainingMs ?? 0)
	return `${asked}, ${formatMs(error.remainingMs)} left`
}

/**
 * Adds the hint to an error. The toolkit's own errors get another message and keep their class. A foreign error becomes the cause of a
 * new one, but only if the body prevented the retry: code that inspects the class, code or message of network errors of a POST keeps
 * working, and `explain` has the hint.
 */
export function withHint(error: unknown, call: Call, hint: string | undefined): unknown {
	if (!hint) return error
	if (error instanceof YaokiError) {
		setMessage(error, `${error.message} (${hint})`)
		return error
	}
	if (call.stop !== 'body-used') return error
	const wrapped = new TypeError(`${reduceUrls(safeMessage(error))} (${hint})`, { cause: error })
	attachRecord(wrapped, call)
	return wrapped
}
