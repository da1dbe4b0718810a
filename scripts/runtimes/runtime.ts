/** The addresses of the servers for the suite. */
export interface Urls {
	/** Refuses connections. */
	readonly deadUrl: string
	/** Also serves the folder of the suite: the origin of the page in a browser. */
	readonly faultyUrl: string
	/** The same server under another origin. */
	readonly apiUrl: string
	/** An empty database. */
	readonly postgresUrl: string
}

/** What the suite needs: its package and its servers. */
export interface Site {
	/** A folder with the suite and the installed package. */
	readonly home: string
	/** The entries of the package and their files. */
	readonly entries: ReadonlyMap<string, string>
	readonly urls: Urls
}

/** The results of the suite. */
export interface Outcome {
	readonly passed: number
	/** Names of tests that this runtime cannot run. */
	readonly skipped: readonly string[]
	readonly failed: readonly { readonly name: string; readonly error: string }[]
}

/** A JavaScript runtime. */
export interface Runtime {
	readonly name: string
	/** Why it may be missing, for the row of a skipped runtime. */
	readonly missing?: string
	/** Undefined if it is not installed. Only a runtime with `missing` may be. */
	run(site: Site): Promise<(Outcome & { readonly version: string }) | undefined>
}
