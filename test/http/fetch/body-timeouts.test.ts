import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Deadline } from 'yaoki'
import { answer, deferred, drip, hang } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, interrupted, SENDERS } from './setup.ts'

const READERS = ['text', 'json', 'arrayBuffer', 'blob'] as const
const FORM = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '100' }
const HALF = hang('body', { headers: FORM })

describe.each(SENDERS)('over $name', ({ networkError, setup }) => {
	describe('a timeout while the body is read', () => {
		test.each(READERS)('rejects %s() with TimeoutError and frees the connection', async (how) => {
			const { fetch, url, server, time } = await setup(HALF, { timeout: 1_000 })
			const response = await fetch(url)
			const reading = failure(response[how]())
			await time.advance(1_000)
			expect(await reading).toMatchObject({ name: 'TimeoutError', timeoutMs: 1_000 })
			await server.aborted(1)
			expect(server.requests).toHaveLength(1)
			expect(time.pendingTimers).toBe(0)
		})

		test('applies to a body that drips', async () => {
			const { fetch, url, server, time } = await setup(drip(), { timeout: 1_000 })
			const reading = failure((await fetch(url)).text())
			await time.advance(1_000)
			expect((await reading).name).toBe('TimeoutError')
			await server.aborted(1)
		})

		test('counts from the start of its own attempt', async () => {
			const { fetch, url, time } = await setup([BUSY, HALF], { timeout: 1_000 })
			const reading = failure((await fetch(url)).text())
			expect(time.now()).toBe(100)
			await time.advance(1_000)
			expect((await reading).name).toBe('TimeoutError')
			expect(time.now()).toBe(1_100)
		})

		test('a timeout while the body is read of the whole call has its duration', async () => {
			const { fetch, url, time } = await setup([BUSY, HALF], { timeout: 1_000, totalTimeoutMs: 500 })
			const reading = failure((await fetch(url)).text())
			await time.advance(400)
			expect(await reading).toMatchObject({ name: 'TimeoutError', timeoutMs: 500 })
		})

		test("a timeout while the body is read by the caller's deadline is a DeadlineExceededError", async () => {
			const { fetch, url, time, runtime } = await setup(HALF)
			const response = await fetch(url, { yaoki: { deadline: Deadline.after(500, { runtime }) } })
			const reading = failure(response.text())
			await time.advance(500)
			expect((await reading).name).toBe('DeadlineExceededError')
		})

		test('still works after a garbage collection, and so does an abort', async () => {
			const { fetch, url, server, time } = await setup(HALF, { timeout: 1_000 })
			const controller = new AbortController()
			const [late, aborted] = [await fetch(url), await fetch(url, { signal: controller.signal })]
			const readings = [failure(late.text()), failure(aborted.text())]
			for (let round = 0; round < 5; round++) {
				globalThis.gc?.()
				await setImmediate()
			}
			controller.abort(new Error('changed my mind'))
			await time.advance(1_000)
			expect(await Promise.all(readings)).toMatchObject([
				{ timeoutMs: 1_000 },
				{ message: 'changed my mind' },
			])
			await Promise.all([server.aborted(1), server.aborted(2)])
		})

		test('does not affect a body that was read in time', async () => {
			const { fetch, url, time } = await setup(FINE, { timeout: 1_000 })
			const response = await fetch(url)
			expect(await response.text()).toBe('fine')
			expect(time.pendingTimers).toBe(0)
			await time.advance(5_000)
			expect(response.bodyUsed).toBe(true)
		})
	})

	describe('an unread body', () => {
		test('is cancelled at the timeout, and the connection freed', async () => {
			const { fetch, url, server, time } = await setup(HALF, { timeout: 1_000 })
			const response = await fetch(url)
			expect(server.requests[0]?.outcome).toBe('open')
			await time.advance(1_000)
			await server.aborted(1)
			expect((await failure(response.text())).name).toBe('TimeoutError')
			expect(time.pendingTimers).toBe(0)
		})

		test('is not a timeout in events, and a body that is read is', async () => {
			const events: string[] = []
			const { fetch, url, server, time } = await setup(HALF, {
				timeout: 1_000,
				onEvent: ({ type }) => events.push(type),
			})
			const unread = await fetch(url)
			expect(unread.ok).toBe(true)
			await time.advance(1_000)
			await server.aborted(1)
			expect(events).not.toContain('timeout')
			const reading = failure((await fetch(url)).text())
			await time.advance(1_000)
			await reading
			expect(events.filter((type) => type === 'timeout')).toHaveLength(1)
		})

		test('an unread body that is empty leaves no timer', async () => {
			const { fetch, url, time } = await setup(answer({ status: 204 }))
			await fetch(url)
			await fetch(url, { method: 'HEAD' })
			expect(time.pendingTimers).toBe(0)
		})
	})

	describe('a body that is read as a stream', () => {
		const readAll = (body: ReadableStream | null) => new Response(body).text()
		const TAKEN: Readonly<Record<string, (response: Response) => () => Promise<string>>> = {
			'a body that is being read': ({ body }) => {
				const text = readAll(body)
				return () => text
			},
			'a reader': (response) => {
				const reader = response.body?.getReader()
				return async () => {
					reader?.releaseLock()
					return readAll(response.body)
				}
			},
			'one of two halves': (response) => {
				const [half] = response.body?.tee() ?? []
				return () => readAll(half ?? null)
			},
		}

		test.each(Object.entries(TAKEN))(
			'a body that is read as a stream as %s has no timeout',
			async (_, take) => {
				const { promise, resolve } = deferred()
				const { fetch, url, time } = await setup(interrupted(promise), { timeout: 1_000 })
				const rest = take(await fetch(url))
				await time.advance(3_600_000)
				expect(time.pendingTimers).toBe(0)
				resolve()
				expect(await rest()).toBe('one, two')
			},
		)

		// Regression: logging a response accesses its body, which disabled its timeouts.
		test('has a timeout if body was only accessed', async () => {
			const { fetch, url, server, time } = await setup(HALF, { timeout: 1_000 })
			const response = await fetch(url)
			expect(inspect(response)).toContain('Response')
			expect(response.body?.locked).toBe(false)
			const reading = failure(response.text())
			await time.advance(1_000)
			expect((await reading).name).toBe('TimeoutError')
			await server.aborted(1)
		})

		test('fails with the network error if it breaks', async () => {
			const { fetch, url, server } = await setup(HALF)
			const { body } = await fetch(url)
			const reading = failure(readAll(body))
			await server.close()
			expect(networkError(await reading)).toHaveProperty(
				'code',
				expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/),
			)
		})
	})
})
