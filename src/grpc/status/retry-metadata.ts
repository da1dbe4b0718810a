/** The metadata with which clients and servers inform each other about retries. */

/** The metadata key with the number of earlier attempts of the call. */
export const PREVIOUS_ATTEMPTS_KEY = 'grpc-previous-rpc-attempts'

/** The metadata key with which a server says when, and whether, it wants a retry. */
export const PUSHBACK_KEY = 'grpc-retry-pushback-ms'

/** The value in place of a delay if the server asks not to retry. */
export const NO_RETRY = -1

/** The longest delay that the header can express, in milliseconds. */
export const MAX_PUSHBACK_MS: number = 2 ** 31 - 1

/**
 * Returns the delay that the server asks for, in milliseconds; `NO_RETRY` if it asks not to retry; undefined
 * if it asks for nothing. A value that is not a 32-bit integer without leading zeros, and several values,
 * mean not to retry: a server that sends any pushback is in trouble, and retrying immediately, as a parser of
 * numbers without this rule would, makes it worse.
 */
export function parsePushback(values: readonly unknown[]): number | undefined {
	if (values.length === 0) return undefined
	const [value] = values
	if (values.length > 1 || typeof value !== 'string' || !/^(0|[1-9]\d{0,9})$/.test(value)) return NO_RETRY
	const delayMs = Number(value)
	return delayMs <= MAX_PUSHBACK_MS ? delayMs : NO_RETRY
}
