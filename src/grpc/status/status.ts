/** The status codes of gRPC. The position of a name is its code. */
export const STATUS_NAMES = [
	'OK',
	'CANCELLED',
	'UNKNOWN',
	'INVALID_ARGUMENT',
	'DEADLINE_EXCEEDED',
	'NOT_FOUND',
	'ALREADY_EXISTS',
	'PERMISSION_DENIED',
	'RESOURCE_EXHAUSTED',
	'FAILED_PRECONDITION',
	'ABORTED',
	'OUT_OF_RANGE',
	'UNIMPLEMENTED',
	'INTERNAL',
	'UNAVAILABLE',
	'DATA_LOSS',
	'UNAUTHENTICATED',
] as const

/** The name of a gRPC status, such as `'UNAVAILABLE'`. */
export type StatusName = (typeof STATUS_NAMES)[number]

/** The code of a gRPC status, from 0 to 16. */
export type StatusCode = number

export const OK = 0
export const CANCELLED = 1
export const UNKNOWN = 2
export const DEADLINE_EXCEEDED = 4
export const RESOURCE_EXHAUSTED = 8
export const INTERNAL = 13
export const UNAVAILABLE = 14

/** Returns the name of a status code. A code that gRPC does not define is UNKNOWN, as gRPC specifies. */
export const statusNameOf = (code: StatusCode): StatusName => STATUS_NAMES[code] ?? 'UNKNOWN'
