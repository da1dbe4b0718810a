/** Reads the body of a web request for the fingerprint, and gives it back. */
import { bodyConsumedError, RequestBodyTooLargeError } from '../../engine/errors.ts'
import { BodyCollector } from '../../response/body-collector.ts'

export async function readWebBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
	if (request.bodyUsed) throw bodyConsumedError()
	if (Number(request.headers.get('content-length') ?? 0) > maxBytes)
		throw new RequestBodyTooLargeError(maxBytes)
	const reader = request.body?.getReader()
	if (!reader) return undefined
	const collected = new BodyCollector(maxBytes)
	for (;;) {
		const { done, value } = await reader.read()
		if (done) break
		collected.add(value)
		if (!collected.isTooLarge) continue
		// Not awaited: a source that does not end its cancellation must not delay the response.
		reader.cancel().catch(() => {})
		throw new RequestBodyTooLargeError(maxBytes)
	}
	return collected.joined()
}

/** A request with a body that was read. Requests that a platform made without the global class cannot be copied as a whole. */
export function withBody(request: Request, body: Uint8Array): Request {
	const init = { body: body as Uint8Array<ArrayBuffer> }
	try {
		return new Request(request, init)
	} catch {
		const { url, method, headers, signal } = request
		return new Request(url, { method, headers, signal, ...init })
	}
}
