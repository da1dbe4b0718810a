/** Stores a web response, and returns the one to send. */
import type { IdempotencyClaim } from '../../engine/claim.ts'
import type { IdempotencyEngine } from '../../engine/engine.ts'
import type { IdempotencyRequest } from '../../engine/options.ts'
import { captureBody } from '../../response/captured-body.ts'
import { isStored, storedResponse } from '../../response/storage-rules.ts'
import type { StoredResponse } from '../../store/store.ts'
import type { WaitUntil } from './exchange.ts'

/** Runs what produces the response. If it throws, the key is released. */
export async function captureWebResponse<T>(
	engine: IdempotencyEngine<T, never>,
	claim: IdempotencyClaim,
	{ method, path }: Pick<IdempotencyRequest, 'method' | 'path'>,
	run: () => Response | Promise<Response>,
	waitUntil?: WaitUntil,
): Promise<Response> {
	let response: Response
	let isKept: boolean
	try {
		response = await run()
		isKept = isStored(engine.settings, { status: response.status, method, path })
	} catch (error) {
		await engine.claims.tryRelease(claim, waitUntil)
		throw error
	}
	// A transaction has already stored the response.
	if (claim.hasEnded) return response
	if (!isKept) {
		await engine.claims.tryRelease(claim, waitUntil)
		return response
	}
	const { maxBodyBytes, allowedHeaders } = engine.settings
	const store = (body: Uint8Array | undefined) => {
		const stored = body && storedResponse(response, body, allowedHeaders)
		return engine.claims.tryComplete(claim, stored, waitUntil)
	}
	if (!response.body) {
		await store(new Uint8Array(0))
		return response
	}
	const captured = captureBody(
		response.body,
		maxBodyBytes,
		{ onComplete: store, onError: () => engine.claims.tryRelease(claim, waitUntil) },
		waitUntil,
	)
	const isSmall = Number(response.headers.get('content-length') ?? Infinity) <= maxBodyBytes
	const sent = isSmall ? await new Response(captured).arrayBuffer() : captured
	return new Response(sent, response)
}

/**
 * A stored response, or a problem, as a web response. Without bytes it has no body: some statuses must not
 * have one, and servers add a content type to any.
 */
export function toWebResponse({ status, headers, body }: StoredResponse): Response {
	return new Response(body.length > 0 ? new Uint8Array(body) : null, {
		status,
		headers: headers.map(([name, value]): [string, string] => [name, value]),
	})
}
