import type { Call } from '../../core/engine/call.ts'
import { SENT_ONCE } from '../exchange/body.ts'
import { exchangeOf } from '../exchange/exchange.ts'
import type { HttpStatusError } from '../exchange/status-error.ts'
import { addressOf } from '../origin/origins.ts'
import { reword } from '../refusal.ts'

/**
 * Makes an error that leaves the client say which request it answers, and what could be mended. Only that one: of those
 * before it `explain` tells, where the same URL on every line would be in the way.
 */
export function nameRequest(error: HttpStatusError, call: Call): void {
	const { method, url } = exchangeOf(call).outgoing
	const why = call.stop === 'body-used' ? ` (${SENT_ONCE})` : ''
	reword(error, `${error.message} for ${method} ${addressOf(url)}${why}`)
}
