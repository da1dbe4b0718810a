import type { IdempotencyContext } from '../engine/context.ts'
import type { IdempotencyEngine } from '../engine/engine.ts'
import { openExchange } from './node-http/exchange.ts'
import type { NodeRequest, NodeResponse } from './node-http/node-types.ts'
import { sendStored, sendWebResponse } from './node-http/send.ts'

/** A handler of `node:http`, with the context of its request. */
export type IdempotentNodeHandler<Req, Res, Tx = unknown> = (
	request: Req,
	response: Res,
	context: IdempotencyContext<Tx>,
) => unknown

/**
 * Wraps a handler of `node:http`, `node:https` or the compatibility API of `node:http2`: a repeated request with the same `Idempotency-Key` gets the
 * stored response. The returned promise rejects if the handler throws, after the key was released.
 *
 * @example
 * const server = createServer(nodeIdempotency(engine, async (request, response, context) => {
 *   const charge = await context.step('charge', ({ idempotencyKey }) => stripe.charge(order, { idempotencyKey }))
 *   response.end(JSON.stringify(charge))
 * }))
 */
export function nodeIdempotency<Req extends NodeRequest, Res extends NodeResponse, Tx>(
	engine: IdempotencyEngine<Tx>,
	handler: IdempotentNodeHandler<Req, Res, Tx>,
): (request: Req, response: Res) => Promise<void> {
	return async (request, response) => {
		const exchange = await openExchange(engine, {
			request,
			response,
			raw: request,
			url: request.url ?? '/',
			parsed: (request as { body?: unknown }).body,
			respond: (stored) => sendStored(response, stored),
			send: (sent) => sendWebResponse(response, sent, request.httpVersionMajor === 1),
		})
		if (!exchange) return
		const { context, capture } = exchange
		try {
			await handler(request, response, context)
		} catch (error) {
			await capture?.fail()
			throw error
		}
	}
}
