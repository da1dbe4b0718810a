/** How many spellings of origins are remembered. */
const MOST_SPELLINGS = 1_000

/** A URL that is nothing but scheme, host and port up to its path: no user, no query before the path. */
const PLAIN = /^https?:\/\/[^\s/?#\\@]+$/

/**
 * The origin of a URL. Parsing one costs a hundredth of a request, and of most requests the part before the path has been seen
 * before, so that is remembered.
 */
export class Origins {
	readonly #known = new Map<string, string>()
	/** Up to the path, and its slash: most clients ask one origin most of the time. */
	#latestStart = '/'
	#latest = ''

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
		// What has no origin of its own (data:, blob:) is told apart by its scheme.
		const name = origin === 'null' ? protocol : origin
		if (PLAIN.test(prefix)) {
			if (this.#known.size >= MOST_SPELLINGS) this.#known.clear()
			this.#known.set(prefix, name)
		}
		return name
	}
}

/** Where the page is, in a browser: relative URLs and the question what is another origin depend on it. */
const page = (): { readonly href?: string; readonly origin?: string } | undefined =>
	(globalThis as { location?: { href?: string; origin?: string } }).location

/** The origin of the page, in a browser. */
export const pageOrigin = (): string | undefined => page()?.origin

function parsed(url: string): URL {
	try {
		return new URL(url, page()?.href)
	} catch (cause) {
		throw new TypeError(
			`'${url}' is no URL that can be requested; it takes one such as 'https://example.com/path'`,
			{
				cause,
			},
		)
	}
}
