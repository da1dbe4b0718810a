import { describe, expect, it } from 'vitest'
import { explain, type YaokiEvent } from 'yaoki'
import { type HttpClientOptions, ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { failure, virtualTime } from './setup.ts'

const URL = 'http://a.example.com/'
const KEY =
	"not retried: the request has no idempotency key. Pass yaoki.idempotencyKey, or idempotency: 'auto'"

const waitFor = (seconds: number) => async () =>
	new Response('', { status: 503, headers: { 'retry-after': String(seconds) } })

const reset = () => Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })

function clientOf(fetch: () => Promise<Response>, options: HttpClientOptions = {}) {
	const time = virtualTime({ areWaitsHeld: true })
	const events: YaokiEvent[] = []
	const onEvent = (event: YaokiEvent) => events.push(event)
	return {
		...time,
		events,
		client: new ResilientHttpClient({ fetch, runtime: time.runtime, onEvent, ...options }),
	}
}

describe('a POST that is not retried says why', () => {
	it('a POST that is not retried says why after a failed status, in the message and in explain', async () => {
		const { client } = clientOf(async () => new Response('', { status: 503 }))
		const error = await failure(client.post(URL))
		expect(error).toMatchObject({ message: `HTTP 503 for POST ${URL} (${KEY})` })
		expect(explain(error)).toMatchObject({ stop: 'not-idempotent', hint: KEY })
	})

	it('a POST that is not retried says why after a timeout, in the message and in explain', async () => {
		const { client, clock } = clientOf(() => new Promise(() => {}), { timeout: 100 })
		const failed = failure(client.post(URL))
		await clock.advance(100)
		const error = await failed
		expect(error).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining(`(${KEY})`) })
		expect(explain(error)?.hint).toBe(KEY)
	})

	it('a POST that is not retried says why after a network error, which stays untouched, in explain and in the event', async () => {
		const thrown = reset()
		const { client, events } = clientOf(() => Promise.reject(thrown))
		const error = await failure(client.post(URL))
		expect(error).toBe(thrown)
		expect(error).toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNRESET' } })
		expect(explain(error)).toMatchObject({ stop: 'not-idempotent', hint: KEY })
		expect(String(explain(error))).toContain(`stopped: not-idempotent (${KEY})`)
		expect(events.find(({ type }) => type === 'call')).toMatchObject({ stop: 'not-idempotent' })
	})

	it('a POST that is not retried says why after a failed status of resilientFetch, in explain', async () => {
		const { runtime } = virtualTime()
		const fetch = resilientFetch({ fetch: async () => new Response('', { status: 503 }), runtime })
		const response = await fetch(URL, { method: 'POST' })
		expect(explain(response)?.hint).toBe(KEY)
	})
})

describe('a Retry-After that the call cannot wait for', () => {
	it('is in the message with the time that is left, and in fields', async () => {
		const { client } = clientOf(waitFor(20), { totalTimeoutMs: 15_000 })
		const error = await failure(client.get(URL))
		expect(error).toMatchObject({
			message: `HTTP 503 for GET ${URL} (not retried: server asked for 20 s, 15 s left)`,
			retryAfterMs: 20_000,
			remainingMs: 15_000,
		})
		expect(explain(error)?.stop).toBe('deadline')
	})

	it('is in explain of a response', async () => {
		const { runtime } = virtualTime()
		const fetch = resilientFetch({ fetch: waitFor(20), runtime, totalTimeoutMs: 15_000 })
		expect(explain(await fetch(URL))?.hint).toBe('not retried: server asked for 20 s, 15 s left')
	})

	it('is in the message with maxRetryAfterMs if it is longer than that', async () => {
		const { client } = clientOf(waitFor(3_600))
		expect(await failure(client.get(URL))).toMatchObject({
			message: `HTTP 503 for GET ${URL} (not retried: server asked for 3600 s, maxRetryAfterMs is 60 s)`,
			retryAfterMs: 3_600_000,
			remainingMs: undefined,
		})
	})

	it('rejects later calls with the pause and the time that is left, in the message and in fields', async () => {
		const { client } = clientOf(waitFor(20), { totalTimeoutMs: 15_000 })
		await failure(client.get(URL))
		expect(await failure(client.get(URL))).toMatchObject({
			name: 'RateLimitedError',
			message: expect.stringContaining('paused by the Retry-After of a 503, 20 s left'),
			retryAfterMs: 20_000,
			remainingMs: 15_000,
		})
	})

	it('is not mentioned if another reason prevents the retry', async () => {
		const { client } = clientOf(waitFor(20), { maxRetries: 0 })
		const error = await failure(client.get(URL))
		expect(error).toMatchObject({ message: `HTTP 503 for GET ${URL}`, remainingMs: undefined })
		expect(explain(error)?.hint).toBeUndefined()
	})
})
