import { bulkhead, circuitBreaker, fallback, pipeline, retryWithBackoff } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { type Programs, User } from './programs.ts'

const client = new ResilientHttpClient({ timeout: 1_000, maxRetries: 2, baseDelayMs: 5, idempotency: 'auto' })

export const yaoki: Programs = {
	retry(load) {
		return retryWithBackoff(load, { maxRetries: 2, baseDelayMs: 5 })
	},

	getJson(url) {
		return client.get(url).json(User)
	},

	breaker(load) {
		const policy = pipeline(fallback('default'), circuitBreaker({ failureThreshold: 2 }))
		return () => policy.execute(load)
	},

	bulkhead(load) {
		const policy = bulkhead({ maxConcurrent: 2, maxQueue: 2 })
		return () => policy.execute(load)
	},

	post(url) {
		return client.post(url, { json: { item: 'tea' } }).text()
	},

	auth(session, baseUrl) {
		const auth = { token: () => session.token, refresh: () => session.refresh() }
		const api = client.extend({ baseUrl, auth })
		return (path) => api.get(path).text()
	},
}
