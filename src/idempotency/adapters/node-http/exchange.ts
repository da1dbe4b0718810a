/** What the adapters of Node, Express and Fastify do before the handler. */
import { admit } from '../../engine/admit.ts'
import {
	type IdempotencyContext,
	idempotencyContext,
	keepContext,
	keptContext,
} from '../../engine/context.ts'
import type { IdempotencyEngine } from '../../engine/engine.ts'
import type { NodeRequest, NodeResponse, NodeSocket } from './node-types.ts'
import { readRequestBody } from './request-body.ts'
import { ResponseCapture } from './response-capture.ts'
import { fail, sendStored, sendWebResponse } from './send.ts'

export interface NodeExchange<Raw> {
	readonly request: NodeRequest
	readonly response: NodeResponse
	/** The framework's request. */
	readonly raw: Raw
	/** The path and query that the client sent, before a router has removed a prefix. */
	readonly url: string
	readonly routePath?: string | undefined
	/** Set if the framework destroys the socket when a handler throws after the head. */
	readonly failingSocket?: NodeSocket | undefined
	/** The value that a body parser has made. */
	readonly parsed: unknown
	/** Called before the adapter itself sends a response: a stored one, a problem, or one of a transaction. */
	takeOver?(): void
}

/** The handler runs with this. */
export interface OpenExchange<Tx> {
	readonly context: IdempotencyContext<Tx>
	/** Undefined without protection. */
	readonly capture: ResponseCapture | undefined
}

/** Returns undefined if the handler does not run: the request got its response. */
export async function openExchange<Tx, Raw extends object>(
	engine: IdempotencyEngine<Tx, Raw>,
	{ request, response, raw, url, routePath, failingSocket, parsed, takeOver }: NodeExchange<Raw>,
): Promise<OpenExchange<Tx> | undefined> {
	const kept = keptContext<Tx>(raw, engine)
	if (kept) return { context: kept, capture: undefined }
	const { method = 'GET', headers } = request
	const admission = await admit(engine, {
		method,
		url,
		routePath,
		// Node joins repeated lines with commas.
		headers: { get: (name) => headers[name.toLowerCase()]?.toString() },
		raw,
		signal: () => closeSignal(response),
		readBody: () => readRequestBody(request, parsed, engine.settings.maxRequestBytes),
	}).catch((error) => {
		// Frameworks take a falsy error for none, and Express takes 'route' for a command: both would run the
		// handler without a principal.
		if (error !== null && typeof error === 'object') throw error
		throw new Error('principal or route failed with a value that is not an error', { cause: error })
	})
	if (admission.kind === 'respond') {
		takeOver?.()
		sendStored(response, admission.response)
		return undefined
	}
	const { claim, path } = admission
	const described = { method, path }
	const context = idempotencyContext(engine, claim, described, (sent) => {
		takeOver?.()
		return sendWebResponse(response, sent, request.httpVersionMajor === 1)
	})
	keepContext(raw, engine, context)
	return { context, capture: claim && new ResponseCapture(engine, claim, response, described, failingSocket) }
}

/**
 * For frameworks with middleware: calls `next` if the handler runs, and with an error of `principal` or
 * `route`.
 */
export function openBefore<Raw extends object>(
	engine: IdempotencyEngine<unknown, Raw>,
	exchange: NodeExchange<Raw>,
	next: (error?: Error) => void,
): void {
	openExchange(engine, exchange)
		.then((open) => {
			if (open) next()
		}, next)
		.catch((error) => fail(exchange.response, error))
}

function closeSignal(response: NodeResponse): AbortSignal {
	const controller = new AbortController()
	if (response.closed) controller.abort()
	else response.once('close', () => controller.abort())
	return controller.signal
}
