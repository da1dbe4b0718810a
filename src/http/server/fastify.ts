import { RETRIES_EXHAUSTED } from '../headers/retry-headers.ts'
import type { NodeRequest, NodeResponse } from './incoming-request.ts'
import { MIDDLEWARE_SCHEMA, readServerOptions, type ServerMiddlewareOptions } from './options.ts'
import { CONTENT_TYPE, DEADLINE_EXCEEDED, mustReportExhausted } from './responses.ts'
import { getServerContext, openContext, runNext } from './server-context.ts'

type FastifyRequest = {
	readonly raw: NodeRequest
}

type FastifyReply = {
	readonly raw: NodeResponse
	readonly statusCode: number
	code(status: number): unknown
	header(name: string, value: string): unknown
	send(payload: string): unknown
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void
type SendHook = (
	request: FastifyRequest,
	reply: FastifyReply,
	payload: unknown,
	done: (error: null, payload: unknown) => void,
) => void

/** The part of a Fastify instance that is used. */
type FastifyApp = {
	addHook(name: 'onRequest', hook: Hook): unknown
	addHook(name: 'onSend', hook: SendHook): unknown
}

/**
 * Creates a Fastify plugin that reads the caller's deadline and retry headers, and responds with 504 if the
 * deadline has expired. In a handler, pass `getServerContext(request)` to your policies and clients, so that
 * they stop when the caller stops waiting. The plugin applies to the instance it is registered with.
 *
 * @example
 * await fastify.register(fastifyServerContext({ maxDeadlineMs: 10_000, run: runWithContext }))
 */
export function fastifyServerContext(
	options: ServerMiddlewareOptions = {},
): (app: FastifyApp, registered: object, done: () => void) => void {
	const settings = readServerOptions(options, MIDDLEWARE_SCHEMA)
	const { run } = options
	const plugin = (app: FastifyApp, _registered: object, done: () => void): void => {
		app.addHook('onRequest', (request, reply, next) => {
			const context = openContext(request, settings, reply.raw)
			if (context.isExpired) {
				reply.code(DEADLINE_EXCEEDED.status)
				reply.header('content-type', CONTENT_TYPE)
				reply.send(DEADLINE_EXCEEDED.body)
			} else runNext(run, context, next)
		})
		app.addHook('onSend', (request, reply, payload, next) => {
			const context = getServerContext(request)
			if (context && mustReportExhausted(context, reply.statusCode)) reply.header(RETRIES_EXHAUSTED, 'true')
			next(null, payload)
		})
		done()
	}
	// Otherwise Fastify would apply the hooks only inside the plugin.
	return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
