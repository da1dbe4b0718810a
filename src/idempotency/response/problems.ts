/**
 * What a request gets that does not run, as problem details (RFC 9457). The texts say what the client has to
 * do, and nothing about the stored request or response: a key of another caller and an unknown key look the
 * same.
 */
import { MAX_JSON_DEPTH } from '../key/canonical-json.ts'
import type { StoredResponse } from '../store/store.ts'

const PROBLEMS = {
	'idempotency-key-missing': {
		status: 400,
		title: 'Idempotency-Key header required',
		detail:
			'Send an Idempotency-Key header with a unique value, and the same value when you repeat the request.',
	},
	'idempotency-key-malformed': { status: 400, title: 'Malformed Idempotency-Key header', detail: '' },
	'idempotency-key-reused': {
		status: 422,
		title: 'Idempotency key used for another request',
		detail: 'The key belongs to a different request. Use a new key for a new request.',
	},
	'request-in-progress': {
		status: 409,
		title: 'Request in progress',
		detail: 'The first request with this key has not ended. Repeat the request later.',
	},
	'request-outcome-unknown': {
		status: 409,
		title: 'Outcome unknown',
		detail: 'The first request with this key ended without a response. It is not repeated automatically.',
	},
	'response-not-stored': {
		status: 409,
		title: 'Response not stored',
		detail: 'The first request with this key was processed. Its response was too large to be repeated.',
	},
	'principal-missing': {
		status: 401,
		title: 'Authentication required',
		detail: 'An idempotency key needs an authenticated caller.',
	},
	'request-target-malformed': {
		status: 400,
		title: 'Malformed URL',
		detail: 'The URL of the request is not valid. Nothing was processed.',
	},
	'request-body-incomplete': {
		status: 400,
		title: 'Incomplete request body',
		detail: 'The body of the request ended early. Nothing was processed.',
	},
	'request-body-too-large': {
		status: 413,
		title: 'Request body too large',
		detail: 'The body is larger than this server accepts for a request with an idempotency key.',
	},
	'request-body-too-deep': {
		status: 400,
		title: 'Request body nested too deeply',
		detail: `The JSON body has more than ${MAX_JSON_DEPTH} levels of nested arrays and objects. Nothing was processed.`,
	},
	'internal-error': {
		status: 500,
		title: 'Internal server error',
		detail: 'The server failed to process the request.',
	},
	'idempotency-store-unavailable': {
		status: 503,
		title: 'Idempotency store unavailable',
		detail: 'The request was not processed. Repeat it later with the same key.',
	},
	'idempotency-store-not-ready': {
		status: 500,
		title: 'Idempotency store not ready',
		detail: 'The request was not processed. The operator of this server has to set up its idempotency store.',
	},
}

/** The member `code` of the body: for programs, stable across versions. */
export type ProblemCode = keyof typeof PROBLEMS

/** Returns the response for a request that does not run. */
export function problemResponse(
	code: ProblemCode,
	{ detail, retryAfterMs }: { detail?: string | undefined; retryAfterMs?: number | undefined } = {},
): StoredResponse {
	const problem = PROBLEMS[code]
	const { status, title } = problem
	const headers: [string, string][] = [
		['content-type', 'application/problem+json'],
		['cache-control', 'no-store'],
	]
	if (retryAfterMs !== undefined)
		headers.push(['retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))])
	const body = JSON.stringify({ type: 'about:blank', title, status, detail: detail || problem.detail, code })
	return { status, headers, body: new TextEncoder().encode(body) }
}
