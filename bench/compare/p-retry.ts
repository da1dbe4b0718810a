import pRetry, { AbortError } from 'p-retry'
import { byHand } from './by-hand.ts'
import { type Programs, User } from './programs.ts'

const options = { retries: 2, minTimeout: 5, randomize: true }

/** p-retry retries a function, and nothing else. */
async function send(url: string, init: RequestInit = {}): Promise<Response> {
	const response = await fetch(url, { ...init, signal: AbortSignal.timeout(1_000) })
	if (response.ok) return response
	await response.body?.cancel()
	const error = new Error(`HTTP ${response.status}`)
	// Retry-After is not honored.
	throw response.status === 429 || response.status >= 500 ? error : new AbortError(error)
}

export const pRetryPrograms: Programs = {
	...byHand,

	retry(load) {
		return pRetry(load, options)
	},

	getJson(url) {
		return pRetry(async () => User.parse(await (await send(url)).json()), options)
	},

	post(url) {
		const headers = { 'idempotency-key': crypto.randomUUID(), 'content-type': 'application/json' }
		const init = { method: 'POST', headers, body: JSON.stringify({ item: 'tea' }) }
		return pRetry(async () => (await send(url, init)).text(), options)
	},
}
