/** What the adapters for fetch handlers and Hono share: options, and the description of a request. */
import { YaokiError } from '../../../core/errors/errors.ts'
import { checkNames, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import { isWorkers } from '../../../core/runtime/platform.ts'
import type { Exchange } from '../../engine/admit.ts'
import { bodyConsumedError, IdempotencyRequestTooLargeError } from '../../engine/errors.ts'
import { BodyCollector } from '../../response/body-collector.ts'

/**
 * Keeps a request of Workers and similar platforms alive after its response. Without it, a response that is
 * stored late, or whose client has left, is lost silently, and a repeated request runs again. So a missing
 * one is an error where the platform is known to need it.
 */
export type WaitUntil = (promise: Promise<unknown>) => void

/** Options of the adapters for fetch handlers and Hono. */
export interface WebAdapterOptions {
	/**
	 * Keeps a request alive until a promise settles, where `ctx` is not passed on: `waitUntil` of
	 * `cloudflare:workers`, or `after` of Next.js. Default: `ctx.waitUntil`.
	 */
	readonly waitUntil?: WaitUntil | undefined
}

const SCHEMA: OptionSchema = { waitUntil: 'function' }

export function readWebOptions(options: WebAdapterOptions, owner: string): WebAdapterOptions {
	checkNames(options, SCHEMA, owner)
	return readOptions<WebAdapterOptions>(options, SCHEMA)
}

/** Describes a request to the engine. `call` is how the user passes `ctx` on. */
export const webExchange = <Raw>(
	request: Request,
	raw: Raw,
	waitUntil: WaitUntil | undefined,
	call: string,
	readBody: () => Promise<Uint8Array | undefined>,
): Exchange<Raw> => ({
	method: request.method,
	url: request.url,
	headers: { get: (name) => request.headers.get(name) ?? undefined },
	raw,
	signal: () => request.signal,
	checkPlatform: () => checkWaitUntil(waitUntil, call),
	readBody,
})

function checkWaitUntil(waitUntil: WaitUntil | undefined, call: string): void {
	if (waitUntil || !isWorkers()) return
	throw new YaokiError(
		'YAOKI_IDEMPOTENCY_NO_WAIT_UNTIL',
		`Workers end what runs after the response, so the response might not be stored. Pass ctx on: ${call}, or the option waitUntil`,
	)
}

/**
 * Reads the body of a web request for the fingerprint. A copy is read, so that the handler gets the request
 * itself with its body unread: a new `Request` would lose the class of the platform (`NextRequest`,
 * `BunRequest`), and replaced body methods would not reach `new Request(request)` and `fetch(request)`.
 */
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
		// Both, because the source is cancelled with its last copy. Not awaited: a source that does not end its
		// cancellation must not delay the response.
		reader.cancel().catch(() => {})
		request.body.cancel().catch(() => {})
		throw new IdempotencyRequestTooLargeError(maxBytes)
	}
	return collected.joined()
}
