/** The headers of outgoing requests, and the timeout of incoming ones. */
import { type DeadlineHeader, readDeadline, writeDeadline } from '../../http/headers/deadline-headers.ts'
import { PREVIOUS_ATTEMPTS_KEY } from '../status/retry-metadata.ts'

/** The header with the timeout. Connect has its own, gRPC and gRPC-Web share one. */
function timeoutHeaderOf(header: Headers): DeadlineHeader {
	const isGrpc = header.get('content-type')?.startsWith('application/grpc')
	return isGrpc ? 'grpc-timeout' : 'connect-timeout-ms'
}

/** Returns the timeout in milliseconds; undefined without one. */
export const readTimeout = (header: Headers): number | undefined =>
	readDeadline(header, [timeoutHeaderOf(header)])

/** Returns the headers of an attempt. Without `remainingMs`, the timeout stays as it is. */
export function headerOfAttempt(
	header: Headers,
	previousAttempts: number,
	remainingMs: number | undefined,
): Headers {
	const copy = new Headers(header)
	if (previousAttempts > 0) copy.set(PREVIOUS_ATTEMPTS_KEY, String(previousAttempts))
	if (remainingMs !== undefined) {
		const name = timeoutHeaderOf(header)
		copy.set(name, writeDeadline(name, remainingMs))
	}
	return copy
}

/** Returns what is wrong with outgoing metadata; undefined if each protocol can send it. */
export function findInvalidHeader(header: Headers): string | undefined {
	let invalid: string | undefined
	header.forEach((value, name) => {
		if (/[^\t -~]/.test(value)) invalid ??= name
	})
	return (
		invalid &&
		`metadata "${invalid}" has a value that is not printable ASCII; use encodeBinaryHeader and a key that ends with -bin for it`
	)
}
