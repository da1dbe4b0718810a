/**
 * Responses that the wrappers create: for an expired deadline, and for a handler that throws. The platform's
 * response to a throwing handler cannot report exhausted retries, so the caller would retry everything that
 * was tried here; in that case the wrapper responds. Other errors of a fetch handler are left to the
 * platform. In Node nothing handles them: the request would hang, and the rejection would end the process.
 */
import { safeMessage } from '../../core/classify/safe-get.ts'
import { RETRIES_EXHAUSTED } from '../headers/retry-headers.ts'
import { isUnavailable } from '../request/status-error.ts'
import type { NodeResponse } from './incoming-request.ts'
import type { ServerContext } from './options.ts'

/** A response in a form that suits every platform. */
export interface PlainResponse {
	readonly status: number
	readonly body: string
}

export const CONTENT_TYPE = 'application/json'
export const DEADLINE_EXCEEDED: PlainResponse = { status: 504, body: '{"error":"deadline exceeded"}' }
const EXHAUSTED: PlainResponse = { status: 502, body: '{"error":"retries exhausted"}' }
const HANDLER_FAILED: PlainResponse = { status: 500, body: '{"error":"internal server error"}' }

const toResponse = ({ status, body }: PlainResponse): Response =>
	new Response(body, { status, headers: { 'content-type': CONTENT_TYPE } })

/** Sends a response through Node's `ServerResponse`. */
export function sendJson(response: NodeResponse, { status, body }: PlainResponse): void {
	response.statusCode = status
	response.setHeader('content-type', CONTENT_TYPE)
	response.end(body)
}

/**
 * Creates the response to a request whose deadline has expired: 504 with a short JSON body.
 *
 * @example
 * const { isExpired } = createServerContext(request)
 * const response = isExpired ? deadlineExceededResponse() : await handle(request)
 */
export const deadlineExceededResponse = (): Response => toResponse(DEADLINE_EXCEEDED)

/** Returns true if a response must report exhausted retries: callers retry only these statuses. */
export const mustReportExhausted = ({ retriesExhausted }: ServerContext, status: number): boolean =>
	retriesExhausted && isUnavailable(status)

/** Returns the response with the header if needed: a copy, because headers of `fetch` are immutable. */
export function reportExhausted(response: Response, context: ServerContext): Response {
	if (!mustReportExhausted(context, response.status)) return response
	const copy = new Response(response.body, response)
	copy.headers.set(RETRIES_EXHAUSTED, 'true')
	return copy
}

/** Adds the header when Node's response writes its head: before that the status is unknown. */
export function reportExhaustedInHead(response: NodeResponse, context: ServerContext): void {
	const { writeHead } = response
	response.writeHead = (status, ...rest) => {
		if (mustReportExhausted(context, status)) response.setHeader(RETRIES_EXHAUSTED, 'true')
		return Reflect.apply(writeHead, response, [status, ...rest])
	}
}

/** The part of Node's response that is used to respond for a handler. */
export type ReplaceableResponse = {
	readonly headersSent: boolean
	readonly writableEnded: boolean
	getHeaderNames(): string[]
	removeHeader(name: string): void
	destroy(): unknown
}

/** Reports an error that nothing else would report. Never throws: the rejection would end the process. */
export function logError(error: unknown): void {
	const text = 'yaoki: a request handler failed:'
	try {
		console.error(text, error)
	} catch {
		// Node's console throws for an error whose message, stack or name has a getter that throws.
		console.error(text, safeMessage(error))
	}
}

/** Responds for a fetch handler that threw after exhausted retries; rethrows any other error. */
export function exhaustedResponse(error: unknown, context: ServerContext): Response {
	if (!mustReportExhausted(context, EXHAUSTED.status)) throw error
	logError(error)
	return reportExhausted(toResponse(EXHAUSTED), context)
}

/** Responds for a Node handler that threw, if it has not responded itself. */
export function sendHandlerFailure(
	error: unknown,
	response: NodeResponse & ReplaceableResponse,
	context: ServerContext,
): void {
	if (!isClientAbort(error, context)) logError(error)
	respondInstead(response, () =>
		sendJson(response, mustReportExhausted(context, EXHAUSTED.status) ? EXHAUSTED : HANDLER_FAILED),
	)
}

/** Calls `send` for a Node handler that failed, unless it has responded. A partial response is destroyed. */
export function respondInstead(response: ReplaceableResponse, send: () => void): void {
	if (response.writableEnded) return
	if (response.headersSent) {
		// A partial response must not look complete.
		response.destroy()
		return
	}
	// They describe another response: its length, encoding, cacheability.
	for (const name of response.getHeaderNames()) response.removeHeader(name)
	send()
}

/** Returns true if the handler stopped because the client has disconnected, which is not a failure. */
const isClientAbort = (error: unknown, { signal, isExpired }: ServerContext): boolean =>
	signal.aborted && error === signal.reason && !isExpired
