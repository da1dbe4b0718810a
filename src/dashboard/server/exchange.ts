/** A request, as every kind of server gives it to the dashboard. */
import type { Rejection } from './rejection.ts'

export interface Exchange {
	/** Without its body: `authorize` gets it, and must not read it. */
	readonly request: Request
	/** The request of the framework. */
	readonly native: unknown
	/** The path as the client has sent it, with its escapes. */
	readonly path: string
	/** The path of the mount, without a slash at its end. Undefined if the framework does not say it. */
	readonly base: string | undefined
	/** False if the framework may remove a slash at the end of the path, as Next.js does. */
	readonly keepsSlash: boolean
	/** Where the connection comes from. Undefined if the platform does not say it. */
	readonly peer:
		| { readonly address: string | undefined; readonly httpVersion?: string | undefined }
		| undefined
	/** Reads the body, which is JSON, of at most `MAX_BODY_BYTES`. */
	readBody(): Promise<JsonBody | Rejection>
}

export interface JsonBody {
	readonly value: unknown
}
