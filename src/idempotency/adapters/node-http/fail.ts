/** Responds for code that failed, where no framework does it. */
import { logError, respondInstead } from '../../../http/server/responses.ts'
import { IdempotencyLeaseLostError } from '../../engine/errors.ts'
import { problemResponse } from '../../response/problems.ts'
import type { StoredResponse } from '../../store/store.ts'
import type { NodeResponse } from './node-types.ts'
import { sendStored } from './send.ts'

/** A lost lease: another request may run with the key, and a repetition gets its response. Frameworks send the error's status, which is the same. */
const responseFor = (error: unknown): StoredResponse =>
	error instanceof IdempotencyLeaseLostError
		? problemResponse('request-in-progress', { retryAfterMs: 1_000 })
		: problemResponse('internal-error')

/** Reports an error on the console and responds with 500, or with 409 for a lost lease. A response that has begun is destroyed. Never throws: a rejection would end the process. */
export function fail(response: NodeResponse, error: unknown): void {
	logError(error)
	try {
		respondInstead(response, () => sendStored(response, responseFor(error)))
	} catch {
		response.destroy()
	}
}
