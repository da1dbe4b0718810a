/**
 * Which answers may be remembered, and by what they are told apart. Where a header can not be understood, the answer is not
 * kept: a miss costs an error that was due anyway, a wrong hit shows one user the data of another.
 */

/** The part of a request that its answer may depend on. `get` takes lower-case names, as that of `Headers` does. */
export interface CachedRequest {
	readonly method: string
	readonly url: string
	readonly headers: { get(name: string): string | null }
	/** That of the cache when the request was sent; undefined counts as the present one. */
	readonly generation?: number | undefined
}

/** What can be known of an answer before its body is read. */
export interface ResponseHead {
	readonly status: number
	readonly headers: Headers
}

/**
 * By these headers answers are always told apart, whether the server says so or not: they are the usual places of credentials,
 * and servers seldom name them in Vary. So is Range, for a part is another answer than the whole.
 */
const ALWAYS: readonly string[] = ['authorization', 'cookie', 'x-api-key', 'api-key', 'x-auth-token', 'range']

/** A server that names more than this, at once or one after another, varies by something else than headers. */
export const MAX_VARY_NAMES = 32

const NAME = /^[\w!#$%&'*+.^`|~-]+$/
// Also found inside another directive's quotes or name, which errs on the side of not keeping.
const NO_STORE = /\bno-store\b/i
const NOT_FROM_STORE = /\bno-(store|cache)\b/i

/** A URL as far as the server gets to see it. */
export function withoutFragment(url: string): string {
	const end = url.indexOf('#')
	return end < 0 ? url : url.slice(0, end)
}

const isGet = ({ method }: CachedRequest): boolean => method.toUpperCase() === 'GET'

/** May this request have changed what a later GET of the same URL would answer? */
export const isUnsafe = ({ method }: CachedRequest): boolean => !/^(GET|HEAD|OPTIONS|TRACE)$/i.test(method)

/** Has the server said that this is not there, or not for this principal? Then what was kept must not be shown instead. */
export const isWithdrawn = ({ status }: ResponseHead): boolean => [401, 403, 404, 410, 451].includes(status)

/** Does the caller take an answer that is not fresh? Who says `no-cache` or `no-store` does not. */
export const acceptsCached = (request: CachedRequest): boolean =>
	isGet(request) &&
	!NOT_FROM_STORE.test(request.headers.get('cache-control') ?? '') &&
	!NOT_FROM_STORE.test(request.headers.get('pragma') ?? '')

/**
 * May the answer to this GET be kept, as far as its head tells? `Cache-Control: private` may, since nobody is given what is
 * another's. A cookie that is set was meant for one moment, and would be set again by every answer from memory.
 */
export function isStorable(request: CachedRequest, { status, headers }: ResponseHead): boolean {
	return (
		isGet(request) &&
		status >= 200 &&
		status < 300 &&
		status !== 206 &&
		!headers.has('set-cookie') &&
		!NO_STORE.test(headers.get('cache-control') ?? '') &&
		!NO_STORE.test(request.headers.get('cache-control') ?? '')
	)
}

/**
 * The names in Vary, in lower case, without those that always count. Undefined when nobody can tell what the answer depends on: `*`,
 * or what is no name of a header (asking `Headers` for one throws).
 */
export function varyNames(headers: Headers): readonly string[] | undefined {
	const vary = headers.get('vary')
	if (!vary) return []
	const names = new Set<string>()
	for (const listed of vary.split(',')) {
		const name = listed.trim().toLowerCase()
		if (name === '*' || (name && !NAME.test(name))) return undefined
		if (name && !ALWAYS.includes(name)) names.add(name)
	}
	return names.size > MAX_VARY_NAMES ? undefined : [...names]
}

/**
 * All that tells answers of one URL apart, as one text. It holds the credentials themselves. A short hash of them would be a way to be given
 * another's answer by a collision, a cryptographic one is only to be had asynchronously here, and a dump of this memory has
 * the answers as well. JSON, for a plain join could be forged by a separator in a value, and a missing header is not an empty one.
 */
export const selectorOf = ({ headers }: CachedRequest, names: readonly string[]): string =>
	JSON.stringify([...ALWAYS, ...names].map((name) => headers.get(name)))
