interface Page {
	readonly href?: string
	readonly origin?: string
	readonly protocol?: string
}

/** Returns the location of the page in a browser: relative URLs and cross-origin rules depend on it. */
export const page = (): Page | undefined => (globalThis as { location?: Page }).location

/** Returns the origin of the page in a browser, otherwise undefined. */
export const pageOrigin = (): string | undefined => page()?.origin
