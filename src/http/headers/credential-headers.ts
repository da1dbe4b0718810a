/**
 * Request headers that identify a user or a program. They are not sent to another origin after a redirect, and they separate cached
 * responses. `fetch` knows only the first three; services use the others for API keys and tokens.
 */
export const CREDENTIAL_HEADERS: readonly string[] = [
	'authorization',
	'cookie',
	'proxy-authorization',
	'x-api-key',
	'api-key',
	'apikey',
	'x-auth-token',
	'x-goog-api-key',
	'x-amz-security-token',
	'ocp-apim-subscription-key',
	'private-token',
	'x-vault-token',
]

/** The default header of idempotency keys. */
const IDEMPOTENCY_KEY = 'idempotency-key'

/** Returns true for a header, in lower case, that must not reach another origin. */
export const isOriginBound = (name: string, idempotencyHeader: string = IDEMPOTENCY_KEY): boolean =>
	name === IDEMPOTENCY_KEY || name === idempotencyHeader || CREDENTIAL_HEADERS.includes(name)
