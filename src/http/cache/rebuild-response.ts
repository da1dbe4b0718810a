/** A `Response` in place of another, over other bytes. The constructor takes no URL, so it is put on the object. */

/** What a rebuilt response takes over. */
export interface RebuiltHead {
	readonly status: number
	readonly statusText: string
	readonly url: string
	readonly redirected?: boolean
	readonly headers: Headers
}

/** With these the constructor refuses any body, even an empty one. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304]

export function rebuildResponse(
	body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>,
	{ status, statusText, url, redirected = false, headers }: RebuiltHead,
): Response {
	const init = { status, statusText, headers }
	const response = new Response(WITHOUT_BODY.includes(status) ? null : body, init)
	return Object.defineProperties(response, {
		url: { value: url, configurable: true, enumerable: true },
		redirected: { value: redirected, configurable: true, enumerable: true },
	})
}
