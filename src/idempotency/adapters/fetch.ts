import { admit } from '../engine/admit.ts'
import { type IdempotencyContext, idempotencyContext } from '../engine/context.ts'
import type { IdempotencyEngine } from '../engine/engine.ts'
import { checkEngine } from './check-engine.ts'
import {
	readWebBody,
	readWebOptions,
	type WaitUntil,
	type WebAdapterOptions,
	webExchange,
} from './web/exchange.ts'
import { captureWebResponse, toWebResponse } from './web/response-capture.ts'

/**
 * A handler of requests, with what the platform passes after the request: `env` and `ctx` of Workers, `info`
 * of Deno. `Req` may be `NextRequest`.
 */
export type IdempotentFetchHandler<
	Rest extends readonly unknown[],
	Tx = unknown,
	Req extends Request = Request,
> = (request: Req, context: IdempotencyContext<Tx>, ...rest: Rest) => Response | Promise<Response>

/**
 * Wraps a fetch handler (Bun, Deno, Next.js, Workers): a repeated request with the same `Idempotency-Key`
 * gets the stored response. On Workers, pass `ctx` on, or the option `waitUntil`: a request with a key
 * rejects without it. The handler gets the request itself, of the platform's class and with its body unread.
 * If the handler or `principal` throws, the returned promise rejects, and the platform responds and logs the
 * error.
 *
 * @example
 * export default { fetch: fetchIdempotency(engine, (request, context) => handle(request, context)) }
 */
export function fetchIdempotency<
	Rest extends readonly unknown[],
	Tx,
	Raw extends Request,
	// A parameter of its own: `principal` may need less than the handler.
	Req extends Raw = Raw,
>(
	engine: IdempotencyEngine<Tx, Raw>,
	handler: IdempotentFetchHandler<Rest, Tx, Req>,
	options: WebAdapterOptions = {},
): (request: Req, ...rest: Rest) => Promise<Response> {
	checkEngine(engine)
	const settings = readWebOptions(options, 'fetchIdempotency')
	return async (request, ...rest) => {
		const waitUntil = settings.waitUntil ?? waitUntilOf(rest)
		const readBody = () => readWebBody(request, engine.settings.maxRequestBytes)
		const exchange = webExchange(request, request, waitUntil, 'handler(request, env, ctx)', readBody)
		const admission = await admit(engine, exchange)
		if (admission.kind === 'respond') return toWebResponse(admission.response)
		const { claim, path } = admission
		const described = { method: request.method, path }
		const run = () => handler(request, idempotencyContext(engine, claim, described), ...rest)
		return claim ? captureWebResponse(engine, claim, described, run, waitUntil) : run()
	}
}

/** `ctx.waitUntil` of Workers and similar platforms, which otherwise end everything with the response. */
function waitUntilOf(rest: readonly unknown[]): WaitUntil | undefined {
	for (const given of rest) {
		const context = given as { waitUntil?: WaitUntil } | null | undefined
		if (typeof context?.waitUntil === 'function') return (promise) => context.waitUntil?.(promise)
	}
	return undefined
}
