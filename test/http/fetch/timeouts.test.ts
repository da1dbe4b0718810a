import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Deadline, explain } from 'yaoki'
import { HTTP_SCHEMA, readHttpOptions } from '../../../src/http/options/http-options.ts'
import { deferred, fin, hang, trickleHead } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, SENDERS } from './setup.ts'

describe.each(SENDERS)('over $name', ({ networkError, setup }) => {
	describe('the attempt timeout', () => {
		test.each([
			['never answers', hang()],
			['sends its head without end', trickleHead()],
		])('ends an attempt to a server that %s, and the next one can succeed', async (_, step) => {
			const { fetch, url, server, time } = await setup([step, FINE], { timeout: 1_000 })
			const asked = fetch(url)
			await server.requested(1)
			await time.advance(1_000)
			const response = await asked
			expect(await response.text()).toBe('fine')
			expect(explain(response)?.attempts[0]).toMatchObject({
				outcome: 'transient',
				errorType: 'TimeoutError',
			})
			await server.aborted(1)
			expect(time.pendingTimers).toBe(0)
		})

		test('does not expire earlier', async () => {
			const { fetch, url, server, time } = await setup(hang(), { timeout: 1_000, maxRetries: 0 })
			let isOver = false
			const asked = failure(fetch(url)).finally(() => {
				isOver = true
			})
			await server.requested(1)
			await time.advance(999)
			await setImmediate()
			expect(isOver).toBe(false)
			await time.advance(1)
			expect(await asked).toMatchObject({ name: 'TimeoutError', code: 'YAOKI_TIMEOUT', timeoutMs: 1_000 })
		})

		test('ends a POST permanently, because it may have been processed', async () => {
			const { fetch, url, server, time } = await setup(hang(), { timeout: 1_000 })
			const asked = failure(fetch(url, { method: 'POST', body: 'an order' }))
			await server.requested(1)
			await time.advance(1_000)
			const error = await asked
			expect([error.name, explain(error)?.stop]).toEqual(['TimeoutError', 'not-idempotent'])
			await server.aborted(1)
		})

		test('the attempt timeout after a stream body is a TimeoutError (regression: it was a TypeError)', async () => {
			const { fetch, url, server, time } = await setup(hang(), { timeout: 1_000 })
			const asked = failure(fetch(url, { method: 'PUT', body: new Blob(['once']).stream() }))
			await server.requested(1)
			await time.advance(1_000)
			const error = await asked
			expect(error).toMatchObject({ name: 'TimeoutError', code: 'YAOKI_TIMEOUT', timeoutMs: 1_000 })
			expect(error.message).toMatch(/\(not retried: .* Pass body: \(\) => a new stream\)$/)
			expect(explain(error)?.stop).toBe('body-used')
		})

		test('can be set for one request, longer or shorter', async () => {
			const { fetch, url, server, time } = await setup(hang(), { timeout: 1_000, maxRetries: 0 })
			const short = failure(fetch(url, { yaoki: { timeout: 10 } }))
			const long = failure(fetch(url, { yaoki: { timeout: 2_000 } }))
			await server.requested(2)
			await time.advance(2_000)
			expect([await short, await long]).toMatchObject([{ timeoutMs: 10 }, { timeoutMs: 2_000 }])
		})

		test('includes the time in which a function creates the body', async () => {
			const { fetch, url, server, time } = await setup(FINE, { timeout: 1_000, maxRetries: 0 })
			const called = deferred()
			const body = () => {
				called.resolve()
				return new Promise<string>(() => {})
			}
			const asked = failure(fetch(url, { method: 'PUT', body }))
			await called.promise
			await time.advance(1_000)
			expect((await asked).name).toBe('TimeoutError')
			expect(server.connections.opened).toBe(0)
		})
	})

	describe('the total timeout', () => {
		test('ends the current attempt', async () => {
			const { fetch, url, server, time } = await setup([BUSY, hang()], {
				timeout: 1_000,
				totalTimeoutMs: 600,
			})
			const asked = failure(fetch(url))
			await server.requested(2)
			// The wait between the two took 100.
			await time.advance(500)
			const error = await asked
			expect(error).toMatchObject({ name: 'TimeoutError', timeoutMs: 600 })
			expect(explain(error)?.attempts).toHaveLength(2)
			await server.aborted(2)
		})

		test('prevents waits that would exceed it: the last failure is returned immediately', async () => {
			const { fetch, url, server, time, waits } = await setup(hang(), {
				timeout: 400,
				totalTimeoutMs: 1_000,
			})
			const asked = failure(fetch(url))
			await server.requested(1)
			await time.advance(400)
			await server.requested(2)
			await time.advance(400)
			const error = await asked
			expect(error).toMatchObject({ name: 'TimeoutError', timeoutMs: 400 })
			expect(explain(error)?.stop).toBe('deadline')
			expect([time.now(), waits]).toEqual([900, [100]])
			expect(server.requests).toHaveLength(2)
		})

		test.each([
			[{}, 4 * 10_000 + 1_000 + 2_000 + 4_000],
			[{ timeout: 700, maxRetries: 0 }, 3 * 700],
			[{ timeout: 700, maxRetries: 2, growth: [50, 70] }, 3 * 700 + 50 + 70],
			[{ timeout: 700, maxRetries: 2, baseDelayMs: 10, jitterFactor: 0.3 }, 3 * 700 + 13 + 26],
			[{ timeout: 700, maxRetries: 2, baseDelayMs: 10, jitterStrategy: 'decorrelated' }, 3 * 700 + 30 + 90],
			[{ timeout: 700, maxRetries: 2, growth: () => 1, maxDelayMs: 2_000 }, 3 * 700 + 4_000],
			[{ timeout: 700, maxRetries: 2_000, maxDelayMs: 2_000 }, 2_001 * 700 + 2_000 * 2_000],
			[{ timeout: 700, maxElapsedMs: 1_500 }, 2_200],
			[{ timeout: 700, maxRetries: Infinity, maxElapsedMs: 5_000 }, 5_700],
			[{ timeout: Infinity }, Infinity],
		] as const)(
			'is by default what all attempts and the longest delays can take: %j',
			(options, expected) => {
				expect(readHttpOptions(options, HTTP_SCHEMA, 'resilientFetch').totalTimeoutMs).toBe(expected)
			},
		)

		// Regression: with the default total of three times the timeout, the last retry never started.
		test('allows all attempts to a server that hangs', async () => {
			const { fetch, url, server, time } = await setup(hang(), { timeout: 400, maxRetries: 3 })
			const asked = failure(fetch(url))
			for (let n = 1; n <= 4; n++) {
				await server.requested(n)
				await time.advance(400)
			}
			const error = await asked
			expect(error).toMatchObject({ name: 'TimeoutError', timeoutMs: 400 })
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}, {}] })
		})

		// Otherwise the server would continue after the attempt has timed out.
		test('is sent to the server, at most the attempt timeout', async () => {
			const { fetch, url, server } = await setup(FINE, { timeout: 700 })
			await fetch(url)
			await fetch(url, { yaoki: { totalTimeoutMs: 300 } })
			expect(server.requests.map(({ headers }) => headers['x-request-timeout-ms'])).toEqual(['700', '300'])
		})

		test('can be set for one request', async () => {
			const { fetch, url, server, time } = await setup(hang())
			const asked = failure(fetch(url, { yaoki: { totalTimeoutMs: 300 } }))
			await server.requested(1)
			await time.advance(300)
			expect(await asked).toMatchObject({ name: 'TimeoutError', timeoutMs: 300 })
		})

		test('can be infinite, like the attempt timeout', async () => {
			const { promise, resolve } = deferred()
			const { fetch, url, server, time } = await setup(fin('request-head', { after: promise }), {
				timeout: Infinity,
				totalTimeoutMs: Infinity,
				maxRetries: 0,
			})
			const asked = failure(fetch(url))
			await server.requested(1)
			await time.advance(1_000_000_000)
			expect(time.pendingTimers).toBe(0)
			resolve()
			expect(networkError(await asked)).toHaveProperty('code', 'UND_ERR_SOCKET')
		})
	})

	describe("a caller's deadline", () => {
		test("a caller's deadline that is earlier ends the request, and is not a TimeoutError", async () => {
			const { fetch, url, server, time, runtime } = await setup(hang(), { timeout: 1_000 })
			const asked = failure(fetch(url, { yaoki: { deadline: Deadline.after(200, { runtime }) } }))
			await server.requested(1)
			expect(server.requests[0]?.headers['x-request-timeout-ms']).toBe('200')
			await time.advance(200)
			expect(await asked).toMatchObject({ name: 'DeadlineExceededError', code: 'YAOKI_DEADLINE_EXCEEDED' })
			await server.aborted(1)
		})

		test("a caller's deadline that ends the request is an error that names the origin, as a timeout does", async () => {
			const { fetch, url, server, time, runtime } = await setup(hang(), { timeout: 1_000 })
			const asked = failure(fetch(url, { yaoki: { deadline: Deadline.after(200, { runtime }) } }))
			await server.requested(1)
			await time.advance(200)
			expect((await asked).message).toContain(new URL(url).origin)
		})

		test("a caller's deadline that has passed sends nothing", async () => {
			const { fetch, url, server, time, runtime } = await setup(FINE)
			const deadline = Deadline.after(200, { runtime })
			await time.advance(200)
			expect((await failure(fetch(url, { yaoki: { deadline } }))).name).toBe('DeadlineExceededError')
			expect(server.connections.opened).toBe(0)
		})

		test("a caller's deadline that is later than the total timeout changes nothing", async () => {
			const { fetch, url, server, time, runtime } = await setup(hang(), {
				timeout: 1_000,
				totalTimeoutMs: 300,
			})
			const asked = failure(fetch(url, { yaoki: { deadline: Deadline.after(900, { runtime }) } }))
			await server.requested(1)
			await time.advance(300)
			expect(await asked).toMatchObject({ name: 'TimeoutError', timeoutMs: 300 })
		})

		test("a caller's deadline of the parent call counts too", async () => {
			const { fetch, url, server, time, runtime } = await setup(hang(), { timeout: 1_000 })
			const parent = { deadline: Deadline.after(200, { runtime }) }
			const asked = failure(fetch(url, { yaoki: { parent } }))
			await server.requested(1)
			await time.advance(200)
			expect((await asked).name).toBe('DeadlineExceededError')
		})
	})
})
