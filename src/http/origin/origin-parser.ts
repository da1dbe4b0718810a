/** Finds the origin of a URL, checks its scheme, and formats URLs for messages. */
import { reduceUrls, toMessageText } from '../../core/events/error-facts.ts'
import { page } from '../transport/browser.ts'

/** Maximum number of cached URL prefixes. */
const MAX_CACHED = 1_000

/** Scheme, host and port only: no user, and no query before the path. */
const PLAIN_PREFIX = /^https?:\/\/[^\s/?#\\@]+$/

/** Caches the origin of the part before the path: parsing a URL costs a hundredth of a request. */
export class OriginParser {
	readonly #cache = new Map<string, string>()
	/** The prefix of the previous URL with its slash: most clients call one origin most of the time. */
	#latestPrefix = '/'
	#latestOrigin = ''
	readonly #isAllowed: (scheme: string) => boolean

	/** `isAllowed` decides which schemes, such as `'https:'`, can be requested. */
	constructor(isAllowed: (scheme: string) => boolean = () => true) {
		this.#isAllowed = isAllowed
	}

	/** Returns the origin. Throws a TypeError if the URL is invalid or has credentials or another scheme. */
	originOf(url: string): string {
		return url.startsWith(this.#latestPrefix) && this.#latestOrigin ? this.#latestOrigin : this.#find(url)
	}

	#find(url: string): string {
		const start = url.indexOf('//')
		const end = start < 0 ? -1 : url.indexOf('/', start + 2)
		const prefix = end < 0 ? url : url.slice(0, end)
		const origin = this.#cache.get(prefix) ?? this.#parse(url, prefix)
		if (end >= 0 && PLAIN_PREFIX.test(prefix)) {
			this.#latestPrefix = `${prefix}/`
			this.#latestOrigin = origin
		}
		return origin
	}

	#parse(url: string, prefix: string): string {
		const { origin, protocol, username, password } = parseUrl(url)
		// `fetch` rejects credentials with a message that contains them, and undici drops them.
		if (username || password)
			throw new TypeError('URLs with credentials are not supported; use the authorization header')
		if (!this.#isAllowed(protocol)) throw new TypeError(schemeMessage(url, protocol))
		// data: and blob: URLs have no origin; their scheme is used instead.
		const name = origin === 'null' ? protocol : origin
		if (PLAIN_PREFIX.test(prefix)) {
			if (this.#cache.size >= MAX_CACHED) this.#cache.clear()
			this.#cache.set(prefix, name)
		}
		return name
	}
}

/** Schemes that every `fetch` supports. */
export const isHttpScheme = (scheme: string): boolean => /^https?:$/.test(scheme)

/** Schemes that `fetch` may support: Bun reads files and S3, and an app its own pages. */
export const isFetchScheme = (scheme: string): boolean =>
	/^(https?|data|blob|file):$/.test(scheme) ||
	scheme === page()?.protocol ||
	(scheme === 's3:' && 'Bun' in globalThis)

/** Returns the origin of an absolute URL. Empty if it cannot be parsed: a user's `fetch` may not know it. */
export const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : '')

/** Returns a URL for messages: without the query, which may contain secrets, and without credentials. */
export function urlForMessage(url: string): string {
	const { origin, pathname } = parseUrl(url)
	return origin + pathname
}

/** Returns a URL for messages that cannot be parsed or has another scheme, shortened. */
export function textForMessage(url: string): string {
	const text = reduceUrls(url).replace(/[?#].*/s, '')
	return toMessageText(text.replace(/^([a-z][\w+.-]*:)?([/\\]*)[^/\\]*@/i, '$1$2'), 200)
}

function schemeMessage(url: string, scheme: string): string {
	// Usually the scheme was forgotten, and the host is taken for it.
	const text = textForMessage(url)
	const example = /^[\w.-]+:\d+(?![^/])/.test(text) ? `http://${text}` : 'https://example.com/path'
	return `Invalid URL '${text}': unsupported scheme '${scheme}'. Use 'http:' or 'https:', for example '${example}'`
}

function parseUrl(url: string): URL {
	try {
		return new URL(url, page()?.href)
	} catch {
		// No cause: the platform's error contains the whole URL.
		throw new TypeError(
			`Invalid URL '${textForMessage(url)}': expected an absolute URL such as 'https://example.com/path'`,
		)
	}
}
