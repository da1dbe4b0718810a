import { RETRIES_EXHAUSTED } from '../headers/retry-headers.ts'
import type { NodeResponse } from './disconnect.ts'
import type { NodeRequest } from './normalize-request.ts'
import { MIDDLEWARE_RULES, readServerOptions, type ServerMiddlewareOptions } from './options.ts'
import { BODY_TYPE, DEADLINE_BODY, DEADLINE_STATUS, mustReportExhausted } from './responses.ts'
import { getServerContext, openContext } from './server-context.ts'

interface FastifyRequest {
	readonly raw: NodeRequest
}

interface FastifyReply {
	readonly raw: NodeResponse
	readonly statusCode: number
	code(status: number): unknown
	header(name: string, value: string): unknown
	send(payload: string): unknown
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void
type SendHook = (
	request: FastifyRequest,
	reply: FastifyReply,
	payload: unknown,
	done: (error: null, payload: unknown) => void,
) => void

/** What is used of a Fastify instance. */
interface FastifyApp {
	addHook(name: 'onRequest', hook: Hook): unknown
	addHook(name: 'onSend', hook: SendHook): unknown
}

/**
 * A plugin for Fastify that holds for the instance it is registered with. Handlers ask `getServerContext(request)`.
 *
 * @example
 * await app.register(fastifyServerContext({ maxDeadlineMs: 10_000, run: withContext }))
 */
export function fastifyServerContext(
	options: ServerMiddlewareOptions = {},
): (app: FastifyApp, registered: object, done: () => void) => void {
	const settings = readServerOptions(options, MIDDLEWARE_RULES)
	const { run } = options
	const plugin = (app: FastifyApp, _registered: object, done: () => void): void => {
		app.addHook('onRequest', (request, reply, next) => {
			const context = openContext(request, settings, reply.raw)
			if (context.isExpired) {
				reply.code(DEADLINE_STATUS)
				reply.header('content-type', BODY_TYPE)
				reply.send(DEADLINE_BODY)
			} else if (run) run(context, next)
			else next()
		})
		app.addHook('onSend', (request, reply, payload, next) => {
			const context = getServerContext(request)
			if (context && mustReportExhausted(context, reply.statusCode)) reply.header(RETRIES_EXHAUSTED, 'true')
			next(null, payload)
		})
		done()
	}
	// Fastify would keep the hooks to the plugin itself otherwise.
	return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
