/** Responds for code that failed, where no framework does it. */
import { logError, respondInstead } from '../../../http/server/responses.ts'
import { problemResponse } from '../../response/problems.ts'
import type { NodeResponse } from './node-types.ts'
import { sendStored } from './send.ts'

/** Reports an error on the console and responds with 500. A response that has begun is destroyed. Never throws: a rejection would end the process. */
export function fail(response: NodeResponse, error: unknown): void {
	logError(error)
	try {
		respondInstead(response, () => sendStored(response, problemResponse('internal-error')))
	} catch {
		response.destroy()
	}
}
