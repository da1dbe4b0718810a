/**
 * The body of a request, which may have to be sent more than once. What is data is sent again as it is; what is a stream is gone
 * when it was sent, unless there is a function that makes a new one. Nothing is copied, cloned or split for the sake of
 * a retry that mostly does not come.
 */

/** Whatever `fetch` takes as a body, or a function that makes one for each attempt. */
export type BodySource = BodyInit | AsyncIterable<Uint8Array> | null | undefined
export type RequestBody = BodySource | (() => BodySource | Promise<BodySource>)

/** Can it be sent again? */
export function isReplayable(body: RequestBody): boolean {
	return typeof body === 'function' || !isStream(body)
}

/** Only what flows needs to be told so (`duplex`), and only that can be used up. */
export function isStream(body: RequestBody): boolean {
	if (typeof body !== 'object' || body === null) return false
	// A Blob and a FormData have streams or iterators of their own, but not these; views and buffers have neither.
	return 'getReader' in body || Symbol.asyncIterator in body
}

/** Has somebody begun to read this stream already? */
export function isUsed(body: RequestBody): boolean {
	return typeof body === 'object' && body !== null && 'locked' in body && body.locked
}

/** What is wrong about a body, said before anything is sent. */
export const USED_BODY =
	'the request body has been read already, so it can not be sent; give a new one, or body: () => a new one'
export const SENT_ONCE =
	'not retried, for the request body is a stream and was sent already; give body: () => a new stream'
