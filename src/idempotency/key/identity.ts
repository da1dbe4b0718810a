/**
 * Whose key it is. The same key of another principal, method or route is another key, so that no caller can
 * read the response of another. Only the hash is stored.
 *
 * The hash begins with the name of the engine: two services that share a database receive the same key of the
 * same caller if one forwards it to the other, and must not answer for each other.
 */
import { sha256 } from './sha256.ts'

export interface IdempotencyIdentity {
	/** Who sends the request: a user, an account, a tenant. Never from a header that any client can set. */
	readonly principal: string
	readonly method: string
	readonly route: string
	readonly key: string
}

export const identityHash = (
	name: string,
	{ principal, method, route, key }: IdempotencyIdentity,
): string | Promise<string> => sha256(JSON.stringify([name, principal, method, route, key]))
