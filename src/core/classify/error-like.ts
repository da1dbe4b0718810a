/** The fields that errors of any library may have. Each is checked where it is used. */
export interface ErrorLike {
	readonly message?: unknown
	readonly code?: unknown
	readonly name?: unknown
	readonly errno?: unknown
	readonly reason?: unknown
	/** MySQL. */
	readonly sqlState?: unknown
	/** Prisma. */
	readonly errorCode?: unknown
	/** MongoDB. */
	readonly codeName?: unknown
	readonly errorLabels?: unknown
	/** node:sqlite: an extended result code. */
	readonly errcode?: unknown
	/** nodemailer: the SMTP command that failed, and the code of the reply. */
	readonly command?: unknown
	readonly responseCode?: unknown
	readonly status?: unknown
	readonly statusCode?: unknown
	readonly headers?: unknown
	readonly responseHeaders?: unknown
	readonly response?: ErrorLike | null
	/** AWS. */
	readonly $response?: ErrorLike | null
	readonly $metadata?: { readonly httpStatusCode?: unknown } | null
	readonly $retryable?: boolean | { readonly throttling?: unknown } | null
	/** tRPC. */
	readonly data?: { readonly httpStatus?: unknown } | null
	readonly meta?: { readonly response?: ErrorLike | null } | null
	readonly retryable?: unknown
	readonly retriable?: unknown
	readonly isRetryable?: unknown
	readonly details?: unknown
	readonly metadata?: unknown
	readonly issues?: unknown
	readonly retryAfterMs?: unknown
	readonly retryAfter?: unknown
	readonly timeToReset?: unknown
	readonly cause?: unknown
	/** The driver's error: Sequelize, TypeORM; Stripe's `detail`. */
	readonly original?: unknown
	readonly driverError?: unknown
	readonly detail?: unknown
	readonly errors?: unknown
}

export const isErrorLike = (value: unknown): value is ErrorLike => typeof value === 'object' && value !== null

/** The response that a client attaches to its error. */
export const responseOf = ({ response, $response, meta }: ErrorLike): ErrorLike | null | undefined =>
	response ?? $response ?? meta?.response
