/**
 * The part of undici that the transport uses, as structural types: the package never imports undici, so users choose its version (7 or
 * 8). The options are loosely typed, because their types differ between the two.
 */

/** The undici module: `import * as undici from 'undici'`. */
export interface UndiciModule {
	request(url: string, options: object): Promise<UndiciResult>
}

/** The result of undici's `request`. */
export interface UndiciResult {
	readonly statusCode: number
	/** Missing in the first 7.x versions. */
	readonly statusText?: string
	/** Names are in lower case. */
	readonly headers: Readonly<Record<string, string | string[] | undefined>>
	readonly body: UndiciBody
}

/** undici's body: a Node `Readable` with the read methods of a `Response`. */
export interface UndiciBody extends AsyncIterable<Uint8Array> {
	text(): Promise<string>
	arrayBuffer(): Promise<ArrayBuffer>
	/** Reads and discards up to `limit` bytes; destroys the body if there are more. */
	dump(options: { limit: number }): Promise<unknown>
	on(event: 'error', listener: () => void): unknown
	resume(): unknown
	destroy(): unknown
}
