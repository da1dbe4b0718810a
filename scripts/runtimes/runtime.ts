/** Where the suite finds its servers. */
export interface Urls {
	/** Nobody listens there. */
	readonly deadUrl: string
	/** Serves the suite's folder as well: in a browser, the page's own origin. */
	readonly faultyUrl: string
	/** The same stories from another origin. */
	readonly apiUrl: string
}

/** Where the suite finds its package and its servers. */
export interface Site {
	/** A folder with the suite, and the packed package installed beside it. */
	readonly home: string
	/** What can be imported, and the file of the package that it stands for. */
	readonly entries: ReadonlyMap<string, string>
	readonly urls: Urls
}

/** What the suite answers. */
export interface Outcome {
	readonly passed: number
	/** By name: what this runtime lacks. */
	readonly skipped: readonly string[]
	readonly failed: readonly { readonly name: string; readonly error: string }[]
}

/** Something that runs JavaScript. */
export interface Runtime {
	readonly name: string
	/** Undefined when it is not installed; only a browser may be missing. */
	run(site: Site): Promise<(Outcome & { readonly version: string }) | undefined>
}
