import type { IdempotencyEngine } from '../engine/engine.ts'
import { checkEngine } from './check-engine.ts'
import { openBefore } from './node-http/exchange.ts'
import type { NodeRequest, NodeResponse } from './node-http/node-types.ts'

/** The part of Fastify's request that is used. */
export type FastifyRequest = {
	readonly raw: NodeRequest
	readonly originalUrl: string
	readonly body: unknown
}

/** The part of Fastify's reply that is used. */
type FastifyReply = {
	readonly raw: NodeResponse
	getHeaders(): Readonly<Record<string, number | string | readonly string[] | undefined>>
	hijack(): unknown
}

/** The part of a Fastify instance that is used. */
export type FastifyApp = {
	addHook(
		name: 'preHandler',
		hook: (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void,
	): unknown
}

/**
 * Creates a plugin for Fastify that applies to the instance it is registered with: a repeated request with
 * the same `Idempotency-Key` gets the stored response. Handlers call `engine.context(request)`. If a handler
 * fails, the status of the error handler's response decides whether it is stored. An error of `principal`
 * goes to the error handler too.
 *
 * It runs as a `preHandler` hook, so the caller must be authenticated in an earlier hook (`onRequest`,
 * `preParsing`, `preValidation`). The response is stored as it leaves the `onSend` hooks, which do not run
 * again for a replay, nor for the response of `context.transaction`.
 *
 * @example
 * await fastify.register(fastifyIdempotency(engine))
 */
export function fastifyIdempotency<Tx, Req extends FastifyRequest = FastifyRequest>(
	engine: IdempotencyEngine<Tx, Req>,
): (app: FastifyApp, options: object, done: () => void) => void {
	checkEngine(engine)
	const plugin = (app: FastifyApp, _options: object, ready: () => void): void => {
		app.addHook('preHandler', (request, reply, done) => {
			const exchange = {
				request: request.raw,
				response: reply.raw,
				raw: request as Req,
				url: request.originalUrl,
				parsed: request.body,
				takeOver: () => takeOver(reply),
			}
			openBefore(engine, exchange, done)
		})
		ready()
	}
	// Otherwise Fastify would apply the hook only inside the plugin.
	return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}

/** Stops Fastify from sending a response. Headers that hooks have set are kept. */
function takeOver(reply: FastifyReply): void {
	reply.hijack()
	for (const [name, value] of Object.entries(reply.getHeaders()))
		if (value !== undefined) reply.raw.setHeader(name, typeof value === 'number' ? String(value) : value)
}
