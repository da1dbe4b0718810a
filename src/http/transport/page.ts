interface Page {
	readonly href?: string
	readonly origin?: string
	readonly protocol?: string
}

/** Where the page is, in a browser: relative URLs and the question what is another origin depend on it. */
export const page = (): Page | undefined => (globalThis as { location?: Page }).location

/** The origin of the page, in a browser. */
export const pageOrigin = (): string | undefined => page()?.origin
