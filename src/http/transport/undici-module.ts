/**
 * The little of undici that is used, as structural types: the package never imports undici, so that its version is the
 * user's choice, and versions 7 and 8 both fit. Options are loose on purpose, since their types differ between the two.
 */

/** What `import * as undici from 'undici'` gives, as far as it is needed. */
export interface UndiciModule {
	request(url: string, options: object): Promise<UndiciResult>
}

/** What undici's `request` resolves with. */
export interface UndiciResult {
	readonly statusCode: number
	/** The first 7.x do not tell it. */
	readonly statusText?: string
	/** Names are in lower case. */
	readonly headers: Readonly<Record<string, string | string[] | undefined>>
	readonly body: UndiciBody
}

/** A Node `Readable` that can read itself. */
export interface UndiciBody extends AsyncIterable<Uint8Array> {
	text(): Promise<string>
	arrayBuffer(): Promise<ArrayBuffer>
	/** Reads up to `limit` bytes and throws them away; destroys itself when there are more. */
	dump(options: { limit: number }): Promise<unknown>
	on(event: 'error', listener: () => void): unknown
	resume(): unknown
	destroy(): unknown
}
