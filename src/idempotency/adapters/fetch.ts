import { admit } from '../engine/admit.ts'
import type { Claim } from '../engine/claim.ts'
import { type IdempotencyContext, idempotencyContext } from '../engine/context.ts'
import type { IdempotencyEngine } from '../engine/engine.ts'
import { captureBody } from '../response/captured-body.ts'
import { storedHeaders } from '../response/response-headers.ts'
import type { StoredResponse } from '../store/store.ts'

/** A handler of requests, with what the platform passes after the request: `env` and `ctx` of Workers, `info` of Deno. */
export type IdempotentFetchHandler<Rest extends readonly unknown[], Tx = unknown> = (
	request: Request,
	context: IdempotencyContext<Tx>,
	...rest: Rest
) => Response | Promise<Response>

/**
 * Wraps a fetch handler (Bun, Deno, Next.js, Workers): a repeated request with the same `Idempotency-Key` gets the stored response.
 *
 * @example
 * export default { fetch: fetchIdempotency(engine, (request, context) => handle(request, context)) }
 */
export function fetchIdempotency<Rest extends readonly unknown[], Tx>(
	engine: IdempotencyEngine<Tx>,
	handler: IdempotentFetchHandler<Rest, Tx>,
): (request: Request, ...rest: Rest) => Promise<Response> {
	return async (request, ...rest) => {
		const { method } = request
		const { pathname: path, search } = new URL(request.url)
		let body: Uint8Array<ArrayBuffer> | undefined
		const admission = await admit(engine, {
			method,
			path,
			query: search.slice(1),
			contentType: request.headers.get('content-type'),
			key: request.headers.get('idempotency-key'),
			raw: request,
			readBody: async () => {
				body = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined
				return body
			},
		})
		if (admission.kind === 'respond') return toResponse(admission.response)
		// The body has been read for the fingerprint.
		const fresh = body ? new Request(request, { body }) : request
		if (admission.kind === 'unprotected')
			return handler(fresh, idempotencyContext(engine, undefined, { method, path }), ...rest)
		return run(engine, admission.claim, fresh, path, handler, rest)
	}
}

async function run<Rest extends readonly unknown[], Tx>(
	engine: IdempotencyEngine<Tx>,
	claim: Claim,
	request: Request,
	path: string,
	handler: IdempotentFetchHandler<Rest, Tx>,
	rest: Rest,
): Promise<Response> {
	const { method } = request
	let response: Response
	try {
		response = await handler(request, idempotencyContext(engine, claim, { method, path }), ...rest)
	} catch (error) {
		await engine.tryRelease(claim)
		throw error
	}
	// By a transaction.
	if (claim.hasEnded) return response
	const { status, headers } = response
	if (!engine.shouldStore(status, method, path)) {
		await engine.tryRelease(claim)
		return response
	}
	const { maxBodyBytes, allowedHeaders } = engine.settings
	const stored = (body: Uint8Array | undefined) =>
		engine.tryComplete(claim, body && { status, headers: storedHeaders(headers, allowedHeaders), body })
	if (!response.body) {
		await stored(new Uint8Array(0))
		return response
	}
	const captured = captureBody(
		response.body,
		maxBodyBytes,
		{ onComplete: stored, onError: () => engine.tryRelease(claim) },
		waitUntilOf(rest),
	)
	const isSmall = Number(headers.get('content-length') ?? Infinity) <= maxBodyBytes
	const sent = isSmall ? await new Response(captured).arrayBuffer() : captured
	return new Response(sent, response)
}

/** `ctx.waitUntil` of Workers and similar platforms, which otherwise end everything with the response. */
function waitUntilOf(rest: readonly unknown[]): ((promise: Promise<unknown>) => void) | undefined {
	for (const given of rest) {
		const context = given as { waitUntil?: (promise: Promise<unknown>) => void } | null | undefined
		if (typeof context?.waitUntil === 'function') return (promise) => context.waitUntil?.(promise)
	}
	return undefined
}

/** Statuses that must not have a body, not even an empty one. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

function toResponse({ status, headers, body }: StoredResponse): Response {
	const response = new Response(BODILESS.has(status) ? null : new Uint8Array(body), { status })
	for (const [name, value] of headers) response.headers.append(name, value)
	return response
}
