/** The parts of a URL that identify a request. */
export interface RequestTarget {
	readonly path: string
	/** Without `?`. */
	readonly query: string
}

/**
 * Splits a URL, absolute or not. Returns undefined if it is malformed: any client can send `GET http://%/`. A request to a proxy has an absolute URL. `URL`
 * does not parse the others: it takes the start of `//a/b` for a host.
 */
export function splitUrl(url: string): RequestTarget | undefined {
	if (/^[a-z][a-z\d+.-]*:\/\//i.test(url)) {
		if (!URL.canParse(url)) return undefined
		const { pathname, search } = new URL(url)
		return { path: pathname, query: search.slice(1) }
	}
	const at = url.indexOf('?')
	return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at + 1) }
}
