/**
 * Which responses are stored, and which of their headers.
 *
 * A stored response is final for the key, so a response is stored only if a repetition would produce it
 * again: the effect (2xx, 3xx), or a request that can never succeed. The other statuses say something about
 * the moment: who the caller was, how busy the server was, or that it failed.
 *
 * Headers have an allow-list, because a header that describes the connection, the moment or the caller must
 * not be replayed: a cookie would log in every client that repeats the request.
 */
import { notify } from '../../core/options/hooks.ts'
import type { StoredResponse } from '../store/store.ts'

/** The outcome of a handler, as `shouldStore` sees it. */
export interface HandledResponse {
	readonly status: number
	readonly method: string
	readonly path: string
}

const NOT_STORED: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429])

/** If `shouldStore` throws, a console warning reports it, and the default decides. */
export function isStored(
	{ shouldStore }: { readonly shouldStore?: ((response: HandledResponse) => boolean) | undefined },
	response: HandledResponse,
): boolean {
	const { status } = response
	let isStored = status >= 200 && status < 500 && !NOT_STORED.has(status)
	if (shouldStore)
		notify('shouldStore', () => {
			isStored = shouldStore(response)
		})
	return isStored
}

/** Headers that describe the body or the resource. Applications add their `x-` headers by option. */
export const DEFAULT_RESPONSE_HEADERS: readonly string[] = [
	'accept-ranges',
	'cache-control',
	'content-digest',
	'content-disposition',
	'content-encoding',
	'content-language',
	'content-location',
	'content-range',
	'content-security-policy',
	'content-type',
	'etag',
	'last-modified',
	'link',
	'location',
	'vary',
	'x-content-type-options',
]

/** Headers of one connection or one message would corrupt the replay, so no option allows them. */
const NEVER: ReadonlySet<string> = new Set([
	'connection',
	'content-length',
	'date',
	'keep-alive',
	'proxy-authenticate',
	'proxy-connection',
	'te',
	'trailer',
	'transfer-encoding',
	'upgrade',
])

export const isNeverStored = (name: string): boolean => NEVER.has(name)

type Headers = Iterable<readonly [name: string, value: string]>

/** Returns a response with the headers that may be stored, in their order, with repeated names. */
export const storedResponse = (
	{ status, headers }: { readonly status: number; readonly headers: Headers },
	body: Uint8Array,
	allowed: ReadonlySet<string>,
): StoredResponse => ({
	status,
	headers: Array.from(headers, ([name, value]) => [name.toLowerCase(), value] as const).filter(([name]) =>
		allowed.has(name),
	),
	body,
})
