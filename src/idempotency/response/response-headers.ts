/**
 * Which headers of a response are stored. An allow-list, because a header that describes the connection, the moment or the caller must not be
 * replayed: a cookie would log in every client that repeats the request.
 */

/** Describe the body or the resource, or say how to treat it. `x-` headers of an application are added by option. */
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

/** Headers that belong to one connection or one message. Storing them would corrupt the replay, so no option allows them. */
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

type HeaderPairs = Iterable<readonly [name: string, value: string]>

/** Returns the headers that may be stored, in their order, with repeated names. */
export function storedHeaders(headers: HeaderPairs, allowed: ReadonlySet<string>): [string, string][] {
	const stored: [string, string][] = []
	for (const [name, value] of headers)
		if (allowed.has(name.toLowerCase())) stored.push([name.toLowerCase(), value])
	return stored
}
