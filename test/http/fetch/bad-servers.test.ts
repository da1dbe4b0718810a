import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import {
	answer,
	chunkedGarbage,
	fin,
	hang,
	malformedHead,
	reset,
	type Step,
	wrongLength,
} from '../faults/fault-server.ts'
import { FINE, failure, SENDERS, status } from './setup.ts'

/** Responds with this Retry-After, and then with 200. */
const asking = (retryAfter: string, code = 503) =>
	[status(code, { 'retry-after': retryAfter }), FINE] as const

describe.each(SENDERS)('over $name', ({ networkError, setup }) => {
	describe('a Retry-After', () => {
		test.each(['-1', '1e3', '0x10', '', ' ', '1.5', '+7', 'soon', '7 seconds', 'Infinity', 'NaN'])(
			"of '%s' is ignored: the delay is the backoff",
			async (text) => {
				const { fetch, url, waits, server } = await setup(asking(text))
				const response = await fetch(url)
				expect(response.status).toBe(200)
				expect(explain(response)?.attempts[0]).toMatchObject({ delayMs: 100, delaySource: 'backoff' })
				expect(waits).toEqual([100])
				expect(server.requests).toHaveLength(2)
			},
		)

		test.each([
			['1', 1_000, 1_250],
			[' 7\t', 7_000, 8_750],
			['007', 7_000, 8_750],
			['7, 9', 9_000, 11_250],
		])("a Retry-After of '%s' is a wait of at least that, plus jitter", async (text, least, most) => {
			const { fetch, url, waits } = await setup(asking(text))
			const response = await fetch(url)
			expect(response.status).toBe(200)
			expect(waits).toHaveLength(1)
			expect(waits[0]).toBeGreaterThanOrEqual(least)
			expect(waits[0]).toBeLessThanOrEqual(most)
			expect(explain(response)?.attempts[0]).toMatchObject({ delaySource: 'retry-after' })
		})

		test.each(['0', '0, 0', 'Sun, 06 Nov 1994 08:49:37 GMT'])(
			"of '%s' names no wait: the delay is the backoff",
			async (text) => {
				const { fetch, url, waits } = await setup(asking(text))
				expect((await fetch(url)).status).toBe(200)
				expect(waits).toEqual([100])
			},
		)

		test("a Retry-After with a date is compared with the server's clock", async () => {
			const headers = {
				'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT',
				date: 'Sun, 06 Nov 1994 08:49:30 GMT',
			}
			const { fetch, url, waits } = await setup([status(429, headers), FINE])
			expect((await fetch(url)).status).toBe(200)
			expect(waits[0]).toBeGreaterThanOrEqual(7_000)
			expect(waits[0]).toBeLessThanOrEqual(8_750)
		})

		test.each(['61', '99999999999', `${'9'.repeat(400)}`, 'Sun, 06 Nov 2094 08:49:37 GMT'])(
			'of %s exceeds maxRetryAfterMs: the response is returned immediately',
			async (text) => {
				const { fetch, url, waits, server } = await setup(asking(text))
				const response = await fetch(url)
				expect([response.status, await response.text()]).toEqual([503, 'status 503'])
				expect(explain(response)?.stop).toBe('retry-after')
				expect([waits, server.requests.length]).toEqual([[], 1])
			},
		)

		test('a Retry-After of 99999999999 rejects the next calls with retryAfterMs, for an hour at most', async () => {
			const { fetch, url, server, time } = await setup(asking('99999999999'))
			await fetch(url)
			const error = await failure(fetch(url))
			expect(error.name).toBe('RateLimitedError')
			expect(error).toHaveProperty('retryAfterMs', expect.any(Number))
			expect(explain(error)?.stop).toBe('cancelled')
			expect(server.requests).toHaveLength(1)
			await time.advance(3_600_000)
			expect((await fetch(url)).status).toBe(200)
		})

		test("a Retry-After of 99999999999 is a wait of maxRetryAfterMs with longRetryAfter: 'clamp'", async () => {
			const { fetch, url, waits } = await setup(asking('99999999999'), {
				longRetryAfter: 'clamp',
				maxRetryAfterMs: 5_000,
			})
			expect((await fetch(url)).status).toBe(200)
			expect(waits[0]).toBeGreaterThanOrEqual(5_000)
			expect(waits[0]).toBeLessThanOrEqual(6_250)
		})

		test("a Retry-After of 99999999999 is ignored with longRetryAfter: 'ignore'", async () => {
			const { fetch, url, waits } = await setup(asking('99999999999'), { longRetryAfter: 'ignore' })
			expect((await fetch(url)).status).toBe(200)
			expect(waits).toEqual([100])
		})

		test('a Retry-After of 0 in every response does not exceed maxRetries', async () => {
			const { fetch, url, server, waits } = await setup(status(503, { 'retry-after': '0' }))
			expect((await fetch(url)).status).toBe(503)
			expect([server.requests.length, waits.length]).toEqual([3, 2])
		})
	})

	describe('a server that responds with invalid HTTP', () => {
		const BAD: Readonly<Record<string, Step>> = {
			'a malformed head': malformedHead(),
			'another protocol': malformedHead('220 mail.example.com ESMTP\r\n'),
			'an impossible status': malformedHead('HTTP/1.1 0 None\r\n\r\n'),
		}

		test.each(Object.entries(BAD))('%s: rejects with the error after all attempts', async (_, step) => {
			const { fetch, url, server } = await setup(step)
			const error = await failure(fetch(url))
			expect(networkError(error)).toHaveProperty('name', 'HTTPParserError')
			expect(explain(error)?.attempts).toHaveLength(3)
			expect(server.requests).toHaveLength(3)
		})

		test('a server that responds with invalid HTTP once is retried', async () => {
			const { fetch, url } = await setup([malformedHead(), FINE])
			expect((await fetch(url)).status).toBe(200)
		})
	})

	describe('a server that', () => {
		test('accepts and closes is retried, and then the call rejects', async () => {
			const { fetch, url, server } = await setup(fin('accept'))
			const error = await failure(fetch(url))
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
			expect([server.requests.length, server.connections.opened]).toEqual([0, 3])
		})

		test('never responds costs no more than the timeouts', async () => {
			const { fetch, url, server, time } = await setup(hang(), { timeout: 100, maxRetries: 1 })
			const asked = failure(fetch(url))
			for (const nth of [1, 2]) {
				await server.requested(nth)
				await time.advance(100)
			}
			expect((await asked).name).toBe('TimeoutError')
			await server.aborted(2)
		})

		test.each([
			['breaks a body off by a reset', reset('body')],
			['breaks a body off by a close', fin('body')],
			['breaks a chunked body off', fin('body', { headers: {} })],
			['sends less than its content-length', wrongLength()],
			['sends chunks that are none', chunkedGarbage()],
		])('%s fails the read, and leaves no timer', async (_, step) => {
			const { fetch, url, server, time } = await setup(step)
			const response = await fetch(url)
			expect(response.status).toBe(200)
			const error = await failure(response.text())
			expect(String(networkError(error))).toMatch(/ECONNRESET|SocketError|HTTPParserError/)
			// The caller already has the response, so it is not retried.
			expect(server.requests).toHaveLength(1)
			expect(time.pendingTimers).toBe(0)
		})

		test.each([
			['breaks the body of an error off', reset('body', { status: 503 })],
			['sends chunks that are none with an error', chunkedGarbage({ status: 503 })],
			['sends less than its content-length with an error', wrongLength({ status: 503 })],
		])('%s is retried all the same', async (_, step) => {
			const { fetch, url } = await setup([step, FINE])
			expect(await (await fetch(url)).text()).toBe('fine')
		})

		test('sends early hints before its response is waited for', async () => {
			const { fetch, url, server } = await setup(answer({ informational: [103, 102], body: 'late' }))
			expect(await (await fetch(url)).text()).toBe('late')
			expect(server.requests).toHaveLength(1)
		})

		test('redirects in a loop is an error, without endless requests', async () => {
			const { fetch, url, server } = await setup(status(302, { location: '/' }), { maxRetries: 0 })
			expect(await failure(fetch(url))).toBeInstanceOf(TypeError)
			expect(server.requests.length).toBeLessThanOrEqual(21)
		})
	})
})
