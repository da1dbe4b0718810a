/**
 * Whose key it is. The same key of another principal, method or route is another key, so that no caller can read the response of
 * another. Only the hash is stored.
 */
import { sha256 } from './sha256.ts'

export interface Identity {
	/** Who sends the request: a user, an account, a tenant. Never from a header that any client can set. */
	readonly principal: string
	readonly method: string
	readonly route: string
	readonly key: string
}

export const identityHash = ({ principal, method, route, key }: Identity): string | Promise<string> =>
	sha256(JSON.stringify([principal, method, route, key]))
