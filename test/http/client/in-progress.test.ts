/** A 409 with Retry-After to a request with a key: the server still processes an earlier attempt, and its response will exist soon. */
import { describe, expect, it } from 'vitest'
import { Deadline, explain } from 'yaoki'
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'
import { failure, virtualTime } from './setup.ts'

const URL = 'http://a.example.com/orders'
const ORIGIN = 'http://a.example.com'

/** A client of a server that responds with a 409 this many times, and what its hooks reported. */
function clientOf(conflicts: number, options: HttpClientOptions = {}, retryAfter = '2') {
	const { clock, runtime, waits } = virtualTime()
	const statuses: number[] = []
	const fetch = async () => {
		const status = statuses.length < conflicts ? 409 : 201
		statuses.push(status)
		return new Response('', { status, headers: status === 409 ? { 'retry-after': retryAfter } : {} })
	}
	const retries: [status: unknown, attempt: number, delayMs: number][] = []
	const client = new ResilientHttpClient({
		fetch,
		runtime,
		idempotency: 'auto',
		onRetry: (error: unknown, attempt, delayMs) => retries.push([Object(error).statusCode, attempt, delayMs]),
		...options,
	})
	const post = (yaoki = {}) => client.post(URL, { body: 'x', yaoki })
	return { client, clock, runtime, waits, statuses, retries, post }
}

describe('a 409 with Retry-After to a request with a key', () => {
	it('is not counted in maxRetries, and onRetry and explain show each wait', async () => {
		const { post, retries, waits } = clientOf(9, { maxRetries: 1 })
		const response = await post()
		expect(response.status).toBe(201)
		expect(retries.map(([status, attempt]) => [status, attempt])).toEqual(
			Array.from({ length: 9 }, (_, n) => [409, n + 1]),
		)
		for (const ms of waits) {
			expect(ms).toBeGreaterThanOrEqual(2_000)
			expect(ms).toBeLessThanOrEqual(2_500 + 625)
		}
		const attempts = explain(response)?.attempts ?? []
		expect(attempts.map(({ delaySource }) => delaySource)).toEqual([
			...Array(9).fill('retry-after'),
			undefined,
		])
		expect(attempts[0]).toMatchObject({ outcome: 'throttled' })
	})

	it('leaves maxRetries to other failures', async () => {
		const { runtime } = virtualTime()
		const steps = [503, 409, 409, 409, 503, 201]
		const fetch = async () => {
			const status = steps.shift() ?? 500
			return new Response('', { status, headers: status === 409 ? { 'retry-after': '1' } : {} })
		}
		const options = { fetch, runtime, idempotency: 'auto', baseDelayMs: 100 } as const
		const client = new ResilientHttpClient({ ...options, maxRetries: 2 })
		expect((await client.post(URL)).status).toBe(201)
		steps.splice(0, steps.length, 503, 409, 409, 503, 201)
		expect(await failure(client.post(URL, { yaoki: { maxRetries: 1 } }))).toMatchObject({ statusCode: 503 })
	})

	it('does not take tokens of the budget', async () => {
		const budget = { maxRetryRatio: 0, minRetriesPerSecond: 0 }
		const { post } = clientOf(5, { budget })
		expect((await post()).status).toBe(201)
	})

	it('does not count for the circuit, and pauses nothing else', async () => {
		const circuitBreaker = { failureThreshold: 1 }
		const { client, post } = clientOf(Infinity, { circuitBreaker, totalTimeoutMs: 5_000 })
		for (let n = 0; n < 3; n++) expect(await failure(post())).toMatchObject({ statusCode: 409 })
		expect(client.stats.origins[ORIGIN]).toMatchObject({
			pausedForMs: 0,
			circuit: { state: 'closed', failureCount: 0 },
		})
	})

	it.each(['totalTimeoutMs', 'deadline'] as const)(
		'is ended by %s, with the reason in the message',
		async (name) => {
			const { post, clock, runtime } = clientOf(Infinity)
			const limits = { [name]: name === 'deadline' ? Deadline.after(10_000, { runtime }) : 10_000 }
			const error = await failure(post(limits))
			expect(error).toMatchObject({ statusCode: 409, retryAfterMs: 2_000 })
			expect(String(error)).toMatch(/not retried: server asked for 2 s, .* left/)
			expect(explain(error)?.stop).toBe('deadline')
			expect(clock.now()).toBeGreaterThan(6_000)
			expect(clock.now()).toBeLessThan(10_000)
		},
	)

	it('counts as a retry after ten minutes, if the call has no time limit', async () => {
		const { post, clock, statuses } = clientOf(Infinity, { totalTimeoutMs: Infinity, maxRetries: 2 })
		const error = await failure(post())
		expect(error).toMatchObject({ statusCode: 409 })
		expect(explain(error)?.stop).toBe('retries-exhausted')
		expect(clock.now()).toBeGreaterThan(600_000)
		expect(clock.now()).toBeLessThan(620_000)
		expect(statuses.length).toBeLessThan(310)
	})

	it.each([
		['the jittered backoff', {}, 40],
		['at least 100 ms between requests without a backoff', { baseDelayMs: 0 }, 471],
	])('a 409 with Retry-After to a request with a key of 0 s uses %s', async (_, options, most) => {
		const { post, statuses, waits } = clientOf(Infinity, { totalTimeoutMs: 47_000, ...options }, '0')
		expect(await failure(post())).toMatchObject({ statusCode: 409 })
		expect(statuses.length).toBeLessThan(most)
		for (const ms of waits) expect(ms).toBeGreaterThanOrEqual(100)
	})

	it.each([
		['maxRetries: 0', { maxRetries: 0 }, {}],
		['maxRetries: 0 of the request', {}, { maxRetries: 0 }],
		['shouldRetry', { shouldRetry: () => false }, {}],
		['idempotent: false', {}, { idempotent: false }],
	])('is final with %s', async (_, options, yaoki) => {
		const { post, statuses } = clientOf(1, options)
		expect(await failure(post(yaoki))).toMatchObject({ statusCode: 409 })
		expect(statuses).toEqual([409])
	})
})
