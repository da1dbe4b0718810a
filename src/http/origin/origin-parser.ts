import { page } from '../transport/page.ts'

/** How many spellings of origins are remembered. */
const MOST_SPELLINGS = 1_000

/** A URL that is nothing but scheme, host and port up to its path: no user, no query before the path. */
const PLAIN = /^https?:\/\/[^\s/?#\\@]+$/

/**
 * The origin of a URL. Parsing one costs a hundredth of a request, and of most requests the part before the path has been seen
 * before, so that is remembered.
 */
export class OriginParser {
	readonly #known = new Map<string, string>()
	/** Up to the path, and its slash: most clients ask one origin most of the time. */
	#latestStart = '/'
	#latest = ''
	readonly #takes: (scheme: string) => boolean

	/** `takes` says which schemes are sent; of what others there are `of` throws. */
	constructor(takes: (scheme: string) => boolean = () => true) {
		this.#takes = takes
	}

	/** Throws a TypeError for what is no URL. */
	of(url: string): string {
		return url.startsWith(this.#latestStart) && this.#latest ? this.#latest : this.#find(url)
	}

	#find(url: string): string {
		const start = url.indexOf('//')
		const end = start < 0 ? -1 : url.indexOf('/', start + 2)
		const prefix = end < 0 ? url : url.slice(0, end)
		const origin = this.#known.get(prefix) ?? this.#parse(url, prefix)
		if (end >= 0 && PLAIN.test(prefix)) {
			this.#latestStart = `${prefix}/`
			this.#latest = origin
		}
		return origin
	}

	#parse(url: string, prefix: string): string {
		const { origin, protocol } = parsed(url)
		if (!this.#takes(protocol)) throw new TypeError(notTaken(url, protocol))
		// What has no origin of its own (data:, blob:) is told apart by its scheme.
		const name = origin === 'null' ? protocol : origin
		if (PLAIN.test(prefix)) {
			if (this.#known.size >= MOST_SPELLINGS) this.#known.clear()
			this.#known.set(prefix, name)
		}
		return name
	}
}

/** What every transport can send. */
export const isHttp = (scheme: string): boolean => /^https?:$/.test(scheme)

/** What `fetch` may be able to serve as well: Bun reads files and S3 with it, and an app its own pages, whatever their scheme. */
export const isFetched = (scheme: string): boolean =>
	/^(https?|data|blob|file):$/.test(scheme) ||
	scheme === page()?.protocol ||
	(scheme === 's3:' && 'Bun' in globalThis)

/** As much of a URL as a message bears. */
const shown = (url: string): string => (url.length > 200 ? `${url.slice(0, 200)}...` : url)

function notTaken(url: string, scheme: string): string {
	// Mostly somebody forgot it, and what is taken for a scheme is a host.
	const meant = /^[\w.-]+:\d+(?![^/?#])/.test(url) ? `http://${url}` : 'https://example.com/path'
	return `'${shown(url)}' has the scheme '${scheme}', which is not requested here; it takes 'http:' or 'https:', as in '${shown(meant)}'`
}

/** Where a request goes, for a message: without the query, in which there may be anything, and without credentials. */
export function addressOf(url: string): string {
	const { origin, pathname } = parsed(url)
	return origin + pathname
}

function parsed(url: string): URL {
	try {
		return new URL(url, page()?.href)
	} catch (cause) {
		throw new TypeError(
			`'${shown(url)}' is no URL that can be requested; it takes one such as 'https://example.com/path'`,
			{
				cause,
			},
		)
	}
}
