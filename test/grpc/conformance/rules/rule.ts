/** One rule of A6. Without differences, Yaoki and grpc-js follow it. */
export interface Rule {
	/** What A6 asks for; the name of the test after the prefix of the section. */
	readonly rule: string
	/** What grpc-js does instead; with the subject, the name of the test that shows it. */
	readonly grpcJs?: string | readonly string[]
	/** The same for Yaoki. */
	readonly yaoki?: string
}

/** The rules of one test file. */
export interface Section {
	readonly title: string
	/** The beginning of the names of its tests. */
	readonly prefix: string
	readonly file: string
	/** The file that shows the differences of grpc-js, if it is another one. */
	readonly differences?: string
	readonly rules: readonly Rule[]
}
