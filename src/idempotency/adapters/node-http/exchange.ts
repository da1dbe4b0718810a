/** What the adapters of Node, Express and Fastify do before the handler. */
import { admit } from '../../engine/admit.ts'
import { idempotencyContext } from '../../engine/context.ts'
import type { IdempotencyEngine } from '../../engine/engine.ts'
import type { IdempotencyContext } from '../../engine/request-context.ts'
import { keepContext, keptContext } from '../../engine/request-context.ts'
import { splitUrl } from '../../key/request-target.ts'
import { problemResponse } from '../../response/problems.ts'
import type { StoredResponse } from '../../store/store.ts'
import type { NodeRequest, NodeResponse, NodeSocket } from './node-types.ts'
import { readRequestBody } from './request-body.ts'
import { ResponseCapture } from './response-capture.ts'

export interface NodeExchange<Raw> {
	readonly request: NodeRequest
	readonly response: NodeResponse
	/** The framework's request. */
	readonly raw: Raw
	/** The path and query that the client sent, before a router has removed a prefix. */
	readonly url: string
	/** The path of the route that the framework has found, if that is known. */
	readonly routePath?: string | undefined
	/** Set if the framework destroys the socket when a handler throws after the head. */
	readonly failingSocket?: NodeSocket | undefined
	/** The value that a body parser has made. */
	readonly parsed: unknown
	/** Sends a response without the handler. */
	respond(response: StoredResponse): unknown
	/** Sends the response of a transaction. */
	send(response: Response): unknown
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
	{ request, response, raw, url, routePath, failingSocket, parsed, respond, send }: NodeExchange<Raw>,
): Promise<OpenExchange<Tx> | undefined> {
	const kept = keptContext<Tx>(raw, engine)
	if (kept) return { context: kept, capture: undefined }
	const { method = 'GET', headers } = request
	const target = splitUrl(url)
	if (!target) {
		await respond(problemResponse('request-target-malformed'))
		return undefined
	}
	const { query } = target
	const path = routePath ?? target.path
	const contentType = headers['content-type']
	const admission = await admit(engine, {
		method,
		path,
		query,
		contentType: typeof contentType === 'string' ? contentType : undefined,
		// Node joins repeated lines with commas.
		key: headers['idempotency-key'],
		headers: { get: (name) => headers[name.toLowerCase()]?.toString() },
		raw,
		signal: () => closeSignal(response),
		readBody: () => readRequestBody(request, parsed, engine.settings.maxRequestBytes),
	}).catch((error) => {
		// Frameworks take a falsy error for none, and Express takes 'route' for a command: both would run the handler without a principal.
		if (error !== null && typeof error === 'object') throw error
		throw new Error('principal or route failed with a value that is not an error', { cause: error })
	})
	if (admission.kind === 'respond') {
		await respond(admission.response)
		return undefined
	}
	const claim = admission.kind === 'run' ? admission.claim : undefined
	const described = { method, path }
	const context = idempotencyContext(engine, claim, described, send)
	keepContext(raw, engine, context)
	return {
		context,
		capture: claim && new ResponseCapture(engine, claim, response, described, failingSocket),
	}
}

function closeSignal(response: NodeResponse): AbortSignal {
	const controller = new AbortController()
	if (response.closed) controller.abort()
	else response.once('close', () => controller.abort())
	return controller.signal
}
