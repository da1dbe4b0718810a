import type { Call } from '../../core/engine/call.ts'
import { reword } from '../options/option-path.ts'
import { addressOf } from '../origin/origin-parser.ts'
import { httpCallOf } from '../request/http-call.ts'
import type { HttpStatusError } from '../request/status-error.ts'
import { BODY_NOT_REPLAYABLE } from '../transport/request-body.ts'

/**
 * Makes an error that leaves the client say which request it answers, and what could be mended. Only that one: of those
 * before it `explain` tells, where the same URL on every line would be in the way.
 */
export function nameRequest(error: HttpStatusError, call: Call): void {
	const { method, url } = httpCallOf(call).request
	const why = call.stop === 'body-used' ? ` (${BODY_NOT_REPLAYABLE})` : ''
	reword(error, `${error.message} for ${method} ${addressOf(url)}${why}`)
}
