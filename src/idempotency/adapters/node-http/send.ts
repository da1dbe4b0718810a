/** Sends responses through a Node response. */

import { logError, respondInstead } from '../../../http/server/responses.ts'
import { IdempotencyLeaseLostError } from '../../engine/errors.ts'
import { problemResponse } from '../../response/problems.ts'
import type { StoredResponse } from '../../store/store.ts'
import type { NodeResponse } from './node-types.ts'

export function sendStored(response: NodeResponse, { status, headers, body }: StoredResponse): void {
	response.statusCode = status
	setHeaders(response, headers)
	response.end(body)
}

/** Sends a web response. A body of one chunk gets a content-length. */
export async function sendWebResponse(
	response: NodeResponse,
	{ status, statusText, headers, body }: Response,
	hasReason: boolean,
): Promise<void> {
	response.statusCode = status
	if (statusText && hasReason) response.statusMessage = statusText
	setHeaders(response, headers)
	if (!body) {
		response.end()
		return
	}
	const reader = body.getReader()
	let last: Uint8Array | undefined
	try {
		for (;;) {
			const { done, value } = await reader.read()
			if (done) break
			if (last && !response.write(last)) await drained(response)
			last = value
			if (response.destroyed) {
				await reader.cancel()
				return
			}
		}
	} catch (error) {
		response.destroy(error instanceof Error ? error : undefined)
		throw error
	}
	if (last) response.end(last)
	else response.end()
}

function setHeaders(response: NodeResponse, headers: Iterable<readonly [name: string, value: string]>): void {
	const values = new Map<string, string[]>()
	for (const [name, value] of headers) values.set(name, [...(values.get(name) ?? []), value])
	for (const [name, [first = '', ...more]] of values)
		response.setHeader(name, more.length > 0 ? [first, ...more] : first)
}

/** Waits until the client has read, or has disconnected. */
const drained = (response: NodeResponse): Promise<void> =>
	new Promise((resolve) => {
		const end = () => {
			response.off('drain', end)
			response.off('close', end)
			resolve()
		}
		response.once('drain', end)
		response.once('close', end)
	})

/** After a lost lease another request may run, and a repetition gets its response. */
const responseFor = (error: unknown): StoredResponse =>
	error instanceof IdempotencyLeaseLostError
		? problemResponse('request-in-progress', { retryAfterMs: 1_000 })
		: problemResponse('internal-error')

/**
 * Reports an error on the console and responds with 500, or with 409 for a lost lease. A response that has
 * begun is destroyed. Never throws: a rejection would end the process.
 */
export function fail(response: NodeResponse, error: unknown): void {
	logError(error)
	try {
		respondInstead(response, () => sendStored(response, responseFor(error)))
	} catch {
		response.destroy()
	}
}
