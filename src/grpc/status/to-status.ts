import { safeMessage } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import {
	CANCELLED,
	DEADLINE_EXCEEDED,
	INTERNAL,
	RESOURCE_EXHAUSTED,
	type StatusCode,
	UNAVAILABLE,
} from './status.ts'

const CODES: Readonly<Record<string, StatusCode>> = {
	YAOKI_CIRCUIT_OPEN: UNAVAILABLE,
	YAOKI_BULKHEAD_REJECTED: RESOURCE_EXHAUSTED,
	YAOKI_RATE_LIMITED: RESOURCE_EXHAUSTED,
	YAOKI_DEADLINE_EXCEEDED: DEADLINE_EXCEEDED,
	YAOKI_TIMEOUT: DEADLINE_EXCEEDED,
	YAOKI_CANCELLED: CANCELLED,
}

/**
 * Returns the status for a failure that did not come from the server. What user code has thrown, such as a
 * classifier, is INTERNAL: gRPC's code for broken invariants, which service configs hardly ever retry.
 */
export function statusOf(error: unknown): { readonly code: StatusCode; readonly details: string } {
	const code = error instanceof YaokiError ? CODES[error.code] : undefined
	return { code: code ?? INTERNAL, details: safeMessage(error) }
}
