/** The properties that a rebuilt response copies. */
export interface RebuiltHead {
	readonly status: number
	readonly statusText: string
	readonly url: string
	readonly redirected?: boolean
	readonly headers: Headers
}

/** With these statuses the constructor rejects any body, even an empty one. */
const BODILESS: readonly number[] = [204, 205, 304]

/** Returns a copy of a `Response` with another body. The constructor accepts no URL, so the property is defined on the object. */
export function rebuildResponse(
	body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>,
	head: RebuiltHead,
): Response {
	const { status, statusText, headers } = head
	const init = { status, statusText, headers }
	return moveToUrlOf(head, new Response(BODILESS.includes(status) ? null : body, init))
}

/** Gives a new response the URL of another one, unless it has its own. */
export function moveToUrlOf<R extends { readonly url: string }>(
	{ url, redirected = false }: Pick<RebuiltHead, 'url' | 'redirected'>,
	response: R,
): R {
	if (response.url) return response
	return Object.defineProperties(response, {
		url: { value: url, configurable: true, enumerable: true },
		redirected: { value: redirected, configurable: true, enumerable: true },
	})
}
