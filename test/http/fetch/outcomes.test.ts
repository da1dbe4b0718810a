import { describe, expect, test } from 'vitest'
import { Deadline, explain, RetryBudget } from 'yaoki'
import { answer, drip, fin, hang, reset } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, SENDERS, status } from './setup.ts'

describe.each(SENDERS)('over $name', ({ networkError, setup }) => {
	describe('a response of any status', () => {
		test.each([200, 204, 206, 304, 400, 401, 403, 404, 409, 410, 412, 413, 415, 422, 429, 451, 499])(
			'of %i is returned with its body, without an error',
			async (code) => {
				const { fetch, url } = await setup(status(code))
				const response = await fetch(url)
				expect(response.status).toBe(code)
				expect(await response.text()).toBe(code === 204 || code === 304 ? '' : `status ${code}`)
			},
		)

		test.each([408, 425, 429, 500, 502, 503, 504, 507, 521, 599])(
			'of %i is returned after all attempts failed',
			async (code) => {
				const { fetch, url, server } = await setup(status(code))
				const response = await fetch(url)
				expect([response.status, response.ok, await response.text()]).toEqual([code, false, `status ${code}`])
				expect(server.requests).toHaveLength(3)
			},
		)

		test('has url, headers and redirected as with fetch itself', async () => {
			const { fetch, server } = await setup({
				'/old': answer({ status: 302, headers: { location: '/new' } }),
				'/new': answer({ headers: { 'x-here': 'yes' }, body: '{"id":7}' }),
			})
			const response = await fetch(new URL('/old', server.origin))
			expect(response).toMatchObject({ url: server.url('/new'), redirected: true, ok: true })
			expect(response.headers.get('x-here')).toBe('yes')
			expect(await response.json()).toEqual({ id: 7 })
		})
	})

	describe('explain describes a response', () => {
		test('explain describes a response that succeeded at the first attempt', async () => {
			const { fetch, url } = await setup(FINE)
			expect(explain(await fetch(url))).toMatchObject({
				name: 'http',
				stop: 'success',
				attempts: [{ attempt: 1, outcome: 'success' }],
			})
		})

		test('explain describes a response without a body', async () => {
			const { fetch, url } = await setup(answer({ status: 204 }))
			expect(explain(await fetch(url, { method: 'HEAD' }))?.stop).toBe('success')
		})

		test('explain describes a response that came after a 503 and a reset: each failure with its wait', async () => {
			const { fetch, url } = await setup([BUSY, reset('request-head'), FINE])
			const explanation = explain(await fetch(url, { yaoki: { name: 'orders' } }))
			expect(explanation).toMatchObject({ name: 'orders', stop: 'success' })
			expect(explanation?.attempts).toMatchObject([
				{ attempt: 1, outcome: 'throttled', errorMessage: 'HTTP 503', delayMs: 100, delaySource: 'backoff' },
				{ attempt: 2, outcome: 'transient', delayMs: 200 },
				{ attempt: 3, outcome: 'success' },
			])
			expect(String(explanation)).toContain('orders: 3 attempts')
		})

		test('explain describes a response whose retries are exhausted', async () => {
			const { fetch, url } = await setup(BUSY)
			const explanation = explain(await fetch(url))
			expect(explanation?.stop).toBe('retries-exhausted')
			expect(explanation?.attempts).toHaveLength(3)
			expect(explanation?.attempts[2]).not.toHaveProperty('delayMs')
		})

		test('explain describes a response whose own, smaller maxRetries is exhausted', async () => {
			const { fetch, url, server } = await setup(BUSY)
			const response = await fetch(url, { yaoki: { maxRetries: 1 } })
			expect(explain(response)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}] })
			expect(server.requests).toHaveLength(2)
		})

		test('explain describes a response that is a permanent failure', async () => {
			const { fetch, url, server } = await setup(status(404))
			expect(explain(await fetch(url))).toMatchObject({
				stop: 'permanent',
				attempts: [{ outcome: 'permanent' }],
			})
			expect(server.requests).toHaveLength(1)
		})

		test('explain describes a response to a POST, which must not be sent twice', async () => {
			const { fetch, url } = await setup(BUSY)
			expect(explain(await fetch(url, { method: 'POST' }))?.stop).toBe('not-idempotent')
		})

		test('explain describes a response to a stream, which could not be sent twice', async () => {
			const { fetch, url } = await setup(BUSY)
			const body = new Blob(['once']).stream()
			const response = await fetch(url, { method: 'PUT', body, duplex: 'half' })
			expect(response.status).toBe(503)
			expect(explain(response)?.stop).toBe('body-used')
		})

		test('explain describes a response with which the server forbade a retry', async () => {
			const { fetch, url } = await setup(status(503, { 'x-should-retry': 'false' }))
			expect(explain(await fetch(url))?.stop).toBe('server-veto')
		})

		test('explain describes a response that asks for a wait above maxRetryAfterMs', async () => {
			const { fetch, url, waits } = await setup(status(503, { 'retry-after': '61' }))
			expect(explain(await fetch(url))?.stop).toBe('retry-after')
			expect(waits).toEqual([])
		})

		test('explain describes a response for which there was no budget left', async () => {
			const budget = new RetryBudget({ maxRetryRatio: 0, minRetriesPerSecond: 0 })
			const { fetch, url, server } = await setup(BUSY, { budget })
			const response = await fetch(url)
			expect([response.status, explain(response)?.stop, server.requests.length]).toEqual([503, 'budget', 1])
		})

		test('explain describes a response that was final because of the total timeout', async () => {
			const { fetch, url, runtime, server } = await setup(BUSY)
			const response = await fetch(url, { yaoki: { deadline: Deadline.after(50, { runtime }) } })
			expect([response.status, explain(response)?.stop, server.requests.length]).toEqual([503, 'deadline', 1])
		})

		test("explain describes a response that the user's shouldRetry did not retry", async () => {
			const { fetch, url } = await setup(BUSY, { shouldRetry: () => false })
			expect(explain(await fetch(url))?.stop).toBe('should-retry-false')
		})

		test('explain describes a response once its body has been read', async () => {
			const { fetch, url } = await setup([BUSY, FINE])
			const response = await fetch(url)
			expect(await response.text()).toBe('fine')
			expect(explain(response)?.attempts).toHaveLength(2)
		})
	})

	describe('explain describes an error', () => {
		test("explain describes an error after all attempts, with the network's error code", async () => {
			const { fetch, url } = await setup(reset('request-head'))
			const error = await failure(fetch(url))
			expect(networkError(error)).toHaveProperty('code', 'ECONNRESET')
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
			expect(explain(error)?.attempts[0]?.errorMessage).toContain('ECONNRESET')
		})

		test('explain describes an error of a POST that may have been processed', async () => {
			const { fetch, url, server } = await setup(fin('request-head'))
			expect(explain(await failure(fetch(url, { method: 'POST' })))?.stop).toBe('not-idempotent')
			expect(server.requests).toHaveLength(1)
		})

		test('explain describes an error that was a timeout of every attempt', async () => {
			const { fetch, url, server, time } = await setup(hang(), { timeout: 1_000, maxRetries: 1 })
			const asked = failure(fetch(url))
			for (const nth of [1, 2]) {
				await server.requested(nth)
				await time.advance(1_000)
			}
			const error = await asked
			expect(error).toMatchObject({ name: 'TimeoutError', timeoutMs: 1_000 })
			const attempt = { outcome: 'transient', errorType: 'TimeoutError' }
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [attempt, attempt] })
		})

		test('explain describes an error of the total timeout', async () => {
			const { fetch, url, server, time } = await setup(hang(), { timeout: 1_000, totalTimeoutMs: 500 })
			const asked = failure(fetch(url))
			await server.requested(1)
			await time.advance(500)
			const error = await asked
			expect(error).toMatchObject({ name: 'TimeoutError', timeoutMs: 500 })
			expect(explain(error)).toMatchObject({ stop: 'deadline', attempts: [{ errorType: 'TimeoutError' }] })
		})

		test("explain describes an error of the caller's deadline", async () => {
			const { fetch, url, server, time, runtime } = await setup(hang())
			const asked = failure(fetch(url, { yaoki: { deadline: Deadline.after(500, { runtime }) } }))
			await server.requested(1)
			await time.advance(500)
			const error = await asked
			expect(error.name).toBe('DeadlineExceededError')
			expect(explain(error)).toMatchObject({ stop: 'deadline', attempts: [{ outcome: 'cancelled' }] })
		})

		test("explain describes an error that is the caller's abort reason", async () => {
			const { fetch, url, server } = await setup(drip({ status: 503 }), { areWaitsHeld: true })
			const controller = new AbortController()
			const reason = new Error('changed my mind')
			const asked = failure(fetch(url, { signal: controller.signal }))
			await server.requested(1)
			controller.abort(reason)
			expect(await asked).toBe(reason)
			expect(explain(reason)?.stop).toBe('abort')
		})
	})
})
