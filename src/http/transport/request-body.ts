/**
 * The body of a request, which may have to be sent more than once. What is data is sent again as it is; what is a stream is gone
 * when it was sent, unless there is a function that makes a new one. Nothing is copied, cloned or split for the sake of
 * a retry that mostly does not come.
 */

/** Whatever `fetch` takes as a body, or a function that makes one for each attempt. */
export type BodySource = RequestInit['body'] | AsyncIterable<Uint8Array> | undefined
export type RequestBody = BodySource | (() => BodySource | Promise<BodySource>)

/** Can it be sent again? */
export function isReplayable(body: RequestBody): boolean {
	return typeof body === 'function' || !isStream(body)
}

/** Only what flows needs to be told so (`duplex`), and only that can be used up. */
export function isStream(body: RequestBody): boolean {
	if (typeof body !== 'object' || body === null) return false
	if ('getReader' in body || Symbol.asyncIterator in body) return true
	// Views, forms and parameters can be gone through as often as one likes; a generator only once.
	return Symbol.iterator in body && 'next' in body
}

/** Has somebody begun to read this stream already, or closed it? Those of Node say so by other names than those of the web. */
export function isBodyUsed(body: RequestBody): boolean {
	if (typeof body !== 'object' || body === null) return false
	if ('locked' in body) return body.locked
	return 'readableDidRead' in body && (body.readableDidRead === true || Object(body).destroyed === true)
}

/** What is wrong about a body, said before anything is sent. */
export const BODY_ALREADY_READ =
	'the request body has been read already, so it can not be sent; give a new one, or body: () => a new one'
export const BODY_NOT_REPLAYABLE =
	'not retried, for the request body is a stream and was sent already; give body: () => a new stream'
