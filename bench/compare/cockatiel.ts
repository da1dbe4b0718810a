import {
	bulkhead,
	ConsecutiveBreaker,
	circuitBreaker,
	ExponentialBackoff,
	fallback,
	handleAll,
	handleWhen,
	retry,
	TimeoutStrategy,
	timeout,
	wrap,
} from 'cockatiel'
import { byHand } from './by-hand.ts'
import { type Programs, User } from './programs.ts'

const backoff = new ExponentialBackoff({ initialDelay: 5 })

class StatusError extends Error {
	readonly status: number
	constructor(status: number) {
		super(`HTTP ${status}`)
		this.status = status
	}
}

/** Which errors are worth a retry is up to the user. Retry-After is not honored. */
const isTransient = (error: unknown): boolean =>
	!(error instanceof StatusError) || error.status === 429 || error.status >= 500
const http = wrap(
	retry(handleWhen(isTransient), { maxAttempts: 2, backoff }),
	timeout(1_000, TimeoutStrategy.Aggressive),
)

const send = (url: string, init: RequestInit = {}): Promise<string> =>
	http.execute(async ({ signal }) => {
		const response = await fetch(url, { ...init, signal })
		const text = await response.text()
		if (!response.ok) throw new StatusError(response.status)
		return text
	})

export const cockatiel: Programs = {
	...byHand,

	retry(load) {
		return retry(handleAll, { maxAttempts: 2, backoff }).execute(load)
	},

	async getJson(url) {
		return User.parse(JSON.parse(await send(url)))
	},

	breaker(load) {
		const breaker = new ConsecutiveBreaker(2)
		const policy = wrap(
			fallback(handleAll, 'default'),
			circuitBreaker(handleAll, { halfOpenAfter: 30_000, breaker }),
		)
		return () => policy.execute(load)
	},

	bulkhead(load) {
		const policy = bulkhead(2, 2)
		return () => policy.execute(load)
	},

	post(url) {
		const headers = { 'idempotency-key': crypto.randomUUID(), 'content-type': 'application/json' }
		return send(url, { method: 'POST', headers, body: JSON.stringify({ item: 'tea' }) })
	},
}
