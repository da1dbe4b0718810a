import { Call } from '../../core/engine/call.ts'
import type { CallContext, CallOptions } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import { hasRetry, isEdgeOnly } from '../../core/retry/layer.ts'
import { writeDeadline } from '../headers/deadline-headers.ts'
import { OUTERMOST, RETRY_ATTEMPT, RETRY_LAYER } from '../headers/retry-headers.ts'
import type { Origin } from '../origin/origin.ts'

/** The part of a request that its added headers depend on. */
interface HeaderFacts {
	readonly origin: Origin
	readonly idempotencyKey: string | undefined
	readonly isKeyAdded: boolean
	readonly parent: CallOptions | undefined
	readonly timeoutMs: number
}

/** Returns the headers that the package adds. Mostly there is one or none, and no further object is created. */
export function attemptHeaders(
	{ origin, idempotencyKey, isKeyAdded, parent, timeoutMs }: HeaderFacts,
	{ attempt, deadline }: CallContext,
): Record<string, string> | undefined {
	const { deadlineHeader, nested, idempotencyHeader } = origin.settings
	const key = isKeyAdded && idempotencyKey !== undefined ? { [idempotencyHeader]: idempotencyKey } : undefined
	if (!origin.mayAddHeaders) return key
	// The service need not work longer than this attempt waits.
	const remaining =
		deadlineHeader && deadline
			? { [deadlineHeader]: writeDeadline(deadlineHeader, Math.min(deadline.remainingMs, timeoutMs)) }
			: undefined
	const isOutermost = nested === OUTERMOST || (parent !== undefined && hasOutermostRetry(parent))
	if (!key && !isOutermost && attempt === 0) return remaining
	return {
		...key,
		...remaining,
		...(attempt > 0 && { [RETRY_ATTEMPT]: String(attempt) }),
		...(isOutermost && { [RETRY_LAYER]: OUTERMOST }),
	}
}

/**
 * Returns true if a retry layer around this call, in this process or at a caller, is set to `nested: 'outermost'`. Requests then send
 * `x-retry-layer`, or the setting would end at the second service.
 */
export function hasOutermostRetry(context: CallOptions | undefined): boolean {
	const call = Context.callOf(Context.of(context))
	return call instanceof Call && hasRetry(call, call.current, isEdgeOnly)
}
