/**
 * Request bodies, which may have to be sent more than once. Data is sent again as it is. A stream can be sent once, unless the caller
 * passes a function that creates a new one. Nothing is copied, cloned or teed for a retry that rarely happens.
 */

/** Whatever `fetch` accepts as a body, or an async iterable where the runtime supports it. */
export type BodySource = RequestInit['body'] | AsyncIterable<Uint8Array> | undefined
/** A body, or a function that creates one for each attempt. */
export type RequestBody = BodySource | (() => BodySource | Promise<BodySource>)

/** Returns true if the body can be sent again. */
export function isReplayable(body: RequestBody): boolean {
	return typeof body === 'function' || !isStream(body)
}

/** Returns true for bodies that can be read once: web streams, async iterables, generators. `fetch` requires `duplex` for them. */
export function isStream(body: RequestBody): boolean {
	if (typeof body !== 'object' || body === null) return false
	if ('getReader' in body || Symbol.asyncIterator in body) return true
	// Views, forms and URLSearchParams are iterable any number of times; a generator only once.
	return Symbol.iterator in body && 'next' in body
}

/** Returns true if the stream was read or closed before. Node's streams and web streams report this differently. */
export function isBodyUsed(body: RequestBody): boolean {
	if (typeof body !== 'object' || body === null) return false
	if ('locked' in body) return body.locked
	return 'readableDidRead' in body && (body.readableDidRead === true || Object(body).destroyed === true)
}

/** Ends a stream that is not sent, as `fetch` does, so that what it reads from is released. Never throws. */
export function discardBody(body: unknown, reason: unknown): void {
	const stream: Partial<Record<'destroy' | 'cancel' | 'return', (reason?: unknown) => unknown>> = Object(body)
	try {
		// A Node stream is destroyed without the reason: nothing listens to its error.
		const ending = stream.destroy ? stream.destroy() : (stream.cancel?.(reason) ?? stream.return?.())
		Promise.resolve(ending).catch(() => {})
	} catch {
		// A stream that is locked or broken.
	}
}

export const BODY_ALREADY_READ =
	'The request body has already been read. Pass a new one, or body: () => a new stream'
export const BODY_NOT_REPLAYABLE =
	'not retried: the request body is a stream and was already sent. Pass body: () => a new stream'
