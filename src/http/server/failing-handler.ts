/**
 * What becomes of a handler that throws. The platform's own answer to that can not say that a retry inside has given up, so the
 * caller would repeat everything that was tried here; then the answer is ours. Any other error of a fetch handler is left to the
 * platform, which hears of it. Of Node's nobody does: the request would hang, and the rejection end the process.
 */

import type { NodeResponse } from './disconnect.ts'
import type { ServerContext } from './request-context.ts'
import { BODY_TYPE, mustReportExhausted, reportExhausted, sendJson } from './responses.ts'

const GIVEN_UP_STATUS = 502
const GIVEN_UP_BODY = '{"error":"retries exhausted"}'
const BROKEN_STATUS = 500
const BROKEN_BODY = '{"error":"internal server error"}'

/** What is used of Node's response to answer in the place of a handler. */
export interface AnswerableResponse extends NodeResponse {
	readonly headersSent: boolean
	getHeaderNames(): string[]
	removeHeader(name: string): void
	destroy(): unknown
}

/** Who answers for a handler keeps its error from everybody else. */
const report = (error: unknown): void => console.error('yaoki: a request handler failed:', error)

/** Answers for a fetch handler that threw what a retry inside gave up; throws every other error on. */
export function exhaustedResponse(error: unknown, context: ServerContext): Response {
	if (!mustReportExhausted(context, GIVEN_UP_STATUS)) throw error
	report(error)
	const headers = { 'content-type': BODY_TYPE }
	return reportExhausted(new Response(GIVEN_UP_BODY, { status: GIVEN_UP_STATUS, headers }), context)
}

/** Answers for a handler of Node that threw, as far as it has not done so itself. */
export function sendHandlerFailure(
	error: unknown,
	response: AnswerableResponse,
	context: ServerContext,
): void {
	if (!isClientGone(error, context)) report(error)
	if (response.writableEnded) return
	if (response.headersSent) {
		// Half an answer must not look like a whole one.
		response.destroy()
		return
	}
	// They were meant for another answer: its length, its encoding, how long it may be cached.
	for (const name of response.getHeaderNames()) response.removeHeader(name)
	if (mustReportExhausted(context, GIVEN_UP_STATUS)) sendJson(response, GIVEN_UP_STATUS, GIVEN_UP_BODY)
	else sendJson(response, BROKEN_STATUS, BROKEN_BODY)
}

/** Did the work end because nobody waits for it any more? That is no failure to be told of. */
const isClientGone = (error: unknown, { signal, isExpired }: ServerContext): boolean =>
	signal.aborted && error === signal.reason && !isExpired
