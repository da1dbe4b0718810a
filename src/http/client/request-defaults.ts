/**
 * What a client adds to each request: base URL, headers and search parameters. With a base URL they belong to
 * its origin: a request for an absolute URL of another origin, such as a link in a response, gets none of
 * them. Otherwise a token would leak to that origin.
 */
import { withOptionPath } from '../../core/options/option-path.ts'
import { invalidOption } from '../../core/options/schema.ts'
import { type HeaderSource, isGiven } from '../headers/request-headers.ts'
import { isHttpScheme, originOf, textForMessage } from '../origin/origin-parser.ts'
import { page } from '../transport/browser.ts'
import { Auth, type AuthOptions } from './auth.ts'
import { mergeParams, type Param, readSearchParams, type SearchParams } from './search-params.ts'

/** Headers as for `fetch`. A header whose value is undefined is not sent, not even the client's default. */
export type RequestHeaders = HeaderSource | Readonly<Record<string, string | undefined>>

/** What a client adds to each request. */
export interface RequestDefaultOptions {
	/**
	 * Comes before every relative URL: `'https://api.example.com/v1'` and `'/users'` or `'users'` are
	 * `https://api.example.com/v1/users`. An absolute URL is requested as it is. Default: none.
	 */
	readonly baseUrl?: string | URL | undefined
	/**
	 * Headers of every request, or a function that returns them, called once per request. Headers of a request
	 * replace those of the same name. With a `baseUrl` they are sent to its origin only. Default: none.
	 */
	readonly headers?: RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>) | undefined
	/**
	 * Search parameters of every request, with a `baseUrl` to its origin only. Those of a request or in its URL
	 * replace them. Default: none.
	 */
	readonly searchParams?: SearchParams | undefined
	/**
	 * The token of every request to the origin of `baseUrl`, and how to renew it after a 401. A request that
	 * sets the `authorization` header itself, also to undefined, is sent without it. Default: none.
	 */
	readonly auth?: AuthOptions | undefined
}

/** Names in lower case; undefined removes a default. */
export type HeaderRecord = Readonly<Record<string, string | undefined>>

/** The validated options. */
export interface RequestDefaults {
	/** Undefined without a base URL. */
	readonly origin: string | undefined
	/** Returns the absolute URL of a request. */
	readonly resolve: (url: string) => string
	/** Returns true if headers, parameters and token may be sent to this absolute URL. */
	readonly isOwn: (url: string) => boolean
	readonly params: readonly Param[]
	readonly headers: HeaderRecord | (() => Promise<HeaderRecord>)
	/** The same without undefined values; undefined if there are none, or a function returns them. */
	readonly sent: Record<string, string> | undefined
	readonly auth: Auth | undefined
}

/** Validates the options. They extend the defaults of `parent`, unless those belong to another origin. */
export function readDefaults(
	{ baseUrl, headers, searchParams, auth }: RequestDefaultOptions,
	parent?: RequestDefaults,
): RequestDefaults {
	const base = baseUrl === undefined ? parent : readBaseUrl(baseUrl)
	const origin = base?.origin
	const isOther = parent?.origin !== undefined && parent.origin !== origin
	const inherited = isOther ? undefined : parent
	// Without an origin to compare with, the token would be sent to every URL.
	if (auth !== undefined && !origin)
		invalidOption('baseUrl', undefined, 'a URL, because auth sends its token to that origin only')
	const merged = mergeHeaders(inherited?.headers ?? {}, headers)
	return {
		origin,
		isOwn: (url) => origin === undefined || originOf(url) === origin,
		resolve: base?.resolve ?? requireScheme,
		params: mergeParams(inherited?.params ?? [], readSearchParams(searchParams)),
		headers: merged,
		sent: typeof merged === 'function' ? undefined : sentHeaders(merged),
		auth: auth === undefined ? inherited?.auth : withOptionPath('auth', () => new Auth(auth)),
	}
}

/** A page of a browser resolves relative URLs. */
function requireScheme(url: string): string {
	if (/^[a-z][\w+.-]*:/i.test(url) || page()) return url
	throw new TypeError(
		`Invalid URL '${textForMessage(url)}': it is relative. Set baseUrl, or pass an absolute URL`,
	)
}

const ABSOLUTE = /^[a-z][a-z\d+.-]*:\/\//i

function readBaseUrl(given: unknown): Pick<RequestDefaults, 'origin' | 'resolve'> {
	const url = URL.canParse(String(given), page()?.href) ? new URL(String(given), page()?.href) : undefined
	if (!url || !isHttpScheme(url.protocol) || url.username || url.password || url.search || url.hash)
		invalidOption(
			'baseUrl',
			textForMessage(String(given)),
			"a URL such as 'https://api.example.com/v1', without credentials, query and fragment",
		)
	const { href, origin } = url
	const folder = href.endsWith('/') ? href : `${href}/`
	return {
		origin,
		// Joined as text: `//example.org` and `..` in a relative URL cannot lead to another origin.
		resolve: (path) =>
			ABSOLUTE.test(path) ? path : /^[?#]|^$/.test(path) ? href + path : folder + path.replace(/^\//, ''),
	}
}

/** Returns the headers that have a value; undefined if there are none. */
export function sentHeaders(record: HeaderRecord): Record<string, string> | undefined {
	const entries = Object.entries(record).filter((entry): entry is [string, string] => entry[1] !== undefined)
	return entries.length ? Object.fromEntries(entries) : undefined
}

function mergeHeaders(
	outer: RequestDefaults['headers'],
	given: RequestDefaultOptions['headers'],
): RequestDefaults['headers'] {
	if (given === undefined) return outer
	if (typeof given !== 'function') {
		const own = headerRecord(given)
		return typeof outer === 'function' ? async () => ({ ...(await outer()), ...own }) : { ...outer, ...own }
	}
	return async () => {
		const own = headerRecord((await given()) ?? {})
		return { ...(typeof outer === 'function' ? await outer() : outer), ...own }
	}
}

/** Returns headers with lower-case names. Values are not part of an error, because they may be secrets. */
function headerRecord(given: unknown): HeaderRecord {
	const record: Record<string, string | undefined> = {}
	let option = 'headers'
	try {
		const source = Object(given)
		if (source !== given) throw new TypeError()
		for (const [name, value] of Symbol.iterator in source ? new Headers(source) : Object.entries(source)) {
			option = `headers['${name}']`
			record[name.toLowerCase()] = isGiven(value) ? (new Headers([[name, value]]).get(name) ?? '') : undefined
		}
	} catch {
		invalidOption(
			option,
			typeof given,
			"headers such as { 'x-api-key': key }, or a function that returns them",
		)
	}
	return record
}
