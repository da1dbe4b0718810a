import type { IdempotencyContext } from '../engine/context.ts'
import type { IdempotencyEngine } from '../engine/engine.ts'
import { checkEngine } from './check-engine.ts'
import { type OpenExchange, openExchange } from './node-http/exchange.ts'
import type { NodeRequest, NodeResponse } from './node-http/node-types.ts'
import { fail } from './node-http/send.ts'

/** A handler of `node:http`, with the context of its request. */
export type IdempotentNodeHandler<Req, Res, Tx = unknown> = (
	request: Req,
	response: Res,
	context: IdempotencyContext<Tx>,
) => unknown

/**
 * Wraps a handler of `node:http`, `node:https` or the compatibility API of `node:http2`: a repeated request
 * with the same `Idempotency-Key` gets the stored response. If the handler or `principal` throws, the key is
 * released, the error is written with `console.error`, and the client gets 500, or 409 with Retry-After for
 * an `IdempotencyLeaseLostError`; a response whose head was sent is destroyed. To report errors elsewhere,
 * catch them in the handler. The returned promise never rejects.
 *
 * @example
 * import { createServer } from 'node:http'
 *
 * const server = createServer(nodeIdempotency(engine, async (request, response, context) => {
 *   const charge = await context.step('charge', ({ idempotencyKey }) => stripe.charge(order, { idempotencyKey }))
 *   response.end(JSON.stringify(charge))
 * }))
 */
export function nodeIdempotency<Raw extends NodeRequest, Req extends Raw, Res extends NodeResponse, Tx>(
	engine: IdempotencyEngine<Tx, Raw>,
	handler: IdempotentNodeHandler<Req, Res, Tx>,
): (request: Req, response: Res) => Promise<void> {
	checkEngine(engine)
	return async (request, response) => {
		let exchange: OpenExchange<Tx> | undefined
		try {
			exchange = await openExchange(engine, {
				request,
				response,
				raw: request,
				url: request.url ?? '/',
				parsed: (request as { body?: unknown }).body,
			})
			if (exchange) await handler(request, response, exchange.context)
		} catch (error) {
			await exchange?.capture?.fail()
			fail(response, error)
		}
	}
}
