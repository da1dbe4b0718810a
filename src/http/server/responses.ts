/** What a server says on its own: that nothing was left of the deadline, and that a retry inside has given up. */

import { RETRIES_EXHAUSTED } from '../headers/retry-headers.ts'
import type { NodeResponse } from './disconnect.ts'
import type { ServerContext } from './request-context.ts'

export const DEADLINE_STATUS = 504
export const DEADLINE_BODY = '{"error":"deadline exceeded"}'
export const BODY_TYPE = 'application/json'

/**
 * Must this answer say that a retry inside has given up? Not when the handler has coped, nor when it blames the request: nobody
 * repeats those.
 */
export const mustReportExhausted = ({ retriesExhausted }: ServerContext, status: number): boolean =>
	retriesExhausted && (status === 429 || status >= 500)

/**
 * The answer to a request that came too late: 504 with a short JSON body.
 *
 * @example
 * if (createServerContext(request).isExpired) return deadlineExceededResponse()
 */
export const deadlineExceededResponse = (): Response =>
	new Response(DEADLINE_BODY, { status: DEADLINE_STATUS, headers: { 'content-type': BODY_TYPE } })

/** The response, with what it must say. A copy then, for the headers of one that came from `fetch` can not be changed. */
export function reportExhausted(response: Response, context: ServerContext): Response {
	if (!mustReportExhausted(context, response.status)) return response
	const copy = new Response(response.body, response)
	copy.headers.set(RETRIES_EXHAUSTED, 'true')
	return copy
}

/** Answers with a short JSON body on Node's response. */
export function sendJson(response: NodeResponse, status: number, body: string): void {
	response.statusCode = status
	response.setHeader('content-type', BODY_TYPE)
	response.end(body)
}

/** The same as `deadlineExceededResponse`, on Node's response. */
export const sendDeadlineExceeded = (response: NodeResponse): void =>
	sendJson(response, DEADLINE_STATUS, DEADLINE_BODY)

/** Has Node's response say what it must when its head is written: neither the status nor the outcome is known before. */
export function reportExhaustedInHead(response: NodeResponse, context: ServerContext): void {
	const { writeHead } = response
	response.writeHead = (status, ...rest) => {
		if (mustReportExhausted(context, status)) response.setHeader(RETRIES_EXHAUSTED, 'true')
		return Reflect.apply(writeHead, response, [status, ...rest])
	}
}
