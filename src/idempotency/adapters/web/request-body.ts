/**
 * Reads the body of a web request for the fingerprint. A copy is read, so that the handler gets the request itself with its body unread: a new `Request`
 * would lose the class of the platform (`NextRequest`, `BunRequest`), and replaced body methods would not reach `new Request(request)` and `fetch(request)`.
 */
import { bodyConsumedError, IdempotencyRequestTooLargeError } from '../../engine/errors.ts'
import { BodyCollector } from '../../response/body-collector.ts'

export async function readWebBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
	if (request.bodyUsed) throw bodyConsumedError()
	if (Number(request.headers.get('content-length') ?? 0) > maxBytes)
		throw new IdempotencyRequestTooLargeError(maxBytes)
	if (!request.body) return undefined
	const reader = request.clone().body?.getReader()
	if (!reader) return undefined
	const collected = new BodyCollector(maxBytes)
	for (;;) {
		const { done, value } = await reader.read()
		if (done) break
		collected.add(value)
		if (!collected.isTooLarge) continue
		// Both, because the source is cancelled with its last copy. Not awaited: a source that does not end its cancellation must not delay the response.
		reader.cancel().catch(() => {})
		request.body.cancel().catch(() => {})
		throw new IdempotencyRequestTooLargeError(maxBytes)
	}
	return collected.joined()
}
