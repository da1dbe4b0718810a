/** The parts of nice-grpc that are used, as structural types: the package never imports it. */

export interface NiceMetadata {
	get(key: string): unknown
	set(key: string, value: string): unknown
	[Symbol.iterator](): Iterator<[string, (string | Uint8Array)[]]>
}

export interface NiceCallOptions {
	readonly metadata?: NiceMetadata | undefined
	readonly signal?: AbortSignal | undefined
	readonly onHeader?: ((header: never) => void) | undefined
	readonly onTrailer?: ((trailer: never) => void) | undefined
}

/** A call, as middleware sees it. */
export interface NiceCall<Request, Response> {
	readonly method: { readonly path: string }
	readonly requestStream: boolean
	readonly responseStream: boolean
	readonly request: Request | AsyncIterable<Request>
	next(request: never, options: never): AsyncGenerator<Response, unknown, undefined>
}

/** A middleware of nice-grpc for clients: its type `ClientMiddleware` without importing it. */
export type NiceMiddleware = <Request, Response>(
	call: NiceCall<Request, Response>,
	options: NiceCallOptions,
) => AsyncGenerator<Response, Response | undefined, undefined>

/** What the middleware needs of the module that the user passes: `import * as nice from 'nice-grpc'`. */
export interface NiceModule {
	readonly ClientError: new (path: string, code: number, details: string) => Error
	readonly Metadata: new (init?: never) => NiceMetadata
}
