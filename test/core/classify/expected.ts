/** Expected classifications, and helpers that catch and classify the error of a client. */
import { type Classification, classify } from 'yaoki'

export const TRANSIENT: Classification = { kind: 'transient', isKnown: true }
export const THROTTLED: Classification = { kind: 'throttled', isKnown: true }
export const PERMANENT: Classification = { kind: 'permanent', isKnown: true }
export const CANCELLED: Classification = { kind: 'cancelled', isKnown: true }
export const UNKNOWN: Classification = { kind: 'transient', isKnown: false }

/** Returns the error that a call throws. A call that succeeds fails the test. */
export async function catchFailure(call: () => unknown): Promise<unknown> {
	try {
		await call()
	} catch (error) {
		return error
	}
	throw new Error('this call was expected to fail')
}

export const classifyFailure = async (call: () => unknown): Promise<Classification> =>
	classify(await catchFailure(call))

const meaning = (kind: Classification, ...statuses: readonly number[]) =>
	statuses.map((status) => [status, kind.kind, kind] as const)

/** Each HTTP status with its kind and classification. */
export const STATUSES: readonly (readonly [status: number, kind: string, meaning: Classification])[] = [
	...meaning(PERMANENT, 400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 418, 422, 501, 505),
	...meaning(TRANSIENT, 408, 425, 500, 502, 504, 507, 511, 599),
	...meaning(THROTTLED, 429, 503),
]

/** gRPC's codes with their classification. */
export const GRPC_CODES: readonly (readonly [code: number, name: string, meaning: Classification])[] = [
	[1, 'CANCELLED', CANCELLED],
	[2, 'UNKNOWN', TRANSIENT],
	[3, 'INVALID_ARGUMENT', PERMANENT],
	[4, 'DEADLINE_EXCEEDED', TRANSIENT],
	[5, 'NOT_FOUND', PERMANENT],
	[6, 'ALREADY_EXISTS', PERMANENT],
	[7, 'PERMISSION_DENIED', PERMANENT],
	[8, 'RESOURCE_EXHAUSTED', THROTTLED],
	[9, 'FAILED_PRECONDITION', PERMANENT],
	[10, 'ABORTED', TRANSIENT],
	[11, 'OUT_OF_RANGE', PERMANENT],
	[12, 'UNIMPLEMENTED', PERMANENT],
	[13, 'INTERNAL', TRANSIENT],
	[14, 'UNAVAILABLE', TRANSIENT],
	[15, 'DATA_LOSS', PERMANENT],
	[16, 'UNAUTHENTICATED', PERMANENT],
]

/** tRPC's codes with the classification of their HTTP status. */
export const TRPC_CODES: readonly (readonly [name: string, meaning: Classification])[] = [
	['PARSE_ERROR', PERMANENT],
	['BAD_REQUEST', PERMANENT],
	['INTERNAL_SERVER_ERROR', TRANSIENT],
	['NOT_IMPLEMENTED', PERMANENT],
	['BAD_GATEWAY', TRANSIENT],
	['SERVICE_UNAVAILABLE', THROTTLED],
	['GATEWAY_TIMEOUT', TRANSIENT],
	['UNAUTHORIZED', PERMANENT],
	['PAYMENT_REQUIRED', PERMANENT],
	['FORBIDDEN', PERMANENT],
	['NOT_FOUND', PERMANENT],
	['METHOD_NOT_SUPPORTED', PERMANENT],
	['TIMEOUT', TRANSIENT],
	['CONFLICT', PERMANENT],
	['PRECONDITION_FAILED', PERMANENT],
	['PAYLOAD_TOO_LARGE', PERMANENT],
	['UNSUPPORTED_MEDIA_TYPE', PERMANENT],
	['UNPROCESSABLE_CONTENT', PERMANENT],
	['PRECONDITION_REQUIRED', PERMANENT],
	['TOO_MANY_REQUESTS', THROTTLED],
	['CLIENT_CLOSED_REQUEST', PERMANENT],
]
