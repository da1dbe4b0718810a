import { getEventListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { drip, hang, reset, trickleHead } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, SENDERS, type SetupOptions, status } from './setup.ts'

const REASON = new Error('changed my mind')

describe.each(SENDERS)('over $name', ({ setup }) => {
	/** A request with a signal of the caller, and what aborts it. */
	async function abortable(script: Parameters<typeof setup>[0], options: SetupOptions = {}) {
		const { fetch, ...rest } = await setup(script, { areWaitsHeld: true, ...options })
		const controller = new AbortController()
		const { signal } = controller
		return {
			...rest,
			signal,
			fetch,
			ask: () => fetch(rest.url, { signal }),
			abort: (reason: unknown = REASON): void => controller.abort(reason),
		}
	}

	describe("the caller's abort", () => {
		test("the caller's abort before the call sends nothing", async () => {
			const { ask, abort, server } = await abortable(FINE)
			abort()
			const error = await failure(ask())
			expect(error).toBe(REASON)
			expect(server.connections.opened).toBe(0)
		})

		test.each([
			['before the head', hang()],
			['in the middle of the head', trickleHead()],
		])('%s ends the request and sends nothing more', async (_, step) => {
			const { ask, abort, server, time } = await abortable(step)
			const asked = failure(ask())
			await server.requested(1)
			abort()
			expect(await asked).toBe(REASON)
			expect(explain(REASON)).toMatchObject({ stop: 'abort', attempts: [{ outcome: 'cancelled' }] })
			await server.aborted(1)
			await time.runUntilIdle()
			expect(server.requests).toHaveLength(1)
		})

		test.each([
			['an answer', BUSY],
			['a reset', reset('request-head')],
		])(
			"the caller's abort in the wait after %s ends it immediately and sends nothing more",
			async (_, step) => {
				const { ask, abort, server, time, waiting } = await abortable(step)
				const asked = failure(ask())
				await waiting
				abort()
				expect(await asked).toBe(REASON)
				expect(explain(REASON)).toMatchObject({ stop: 'abort', attempts: [{ delayMs: 100 }] })
				await time.runUntilIdle()
				expect(server.requests).toHaveLength(1)
			},
		)

		test("the caller's abort while the origin is paused ends the wait", async () => {
			const { ask, abort, fetch, url, server, waits, time } = await abortable(
				status(429, { 'retry-after': '9' }),
			)
			await fetch(url, { yaoki: { maxRetries: 0 } })
			const asked = failure(ask())
			// A client sends in the next microtask.
			await undefined
			expect(waits).toHaveLength(1)
			abort()
			expect(await asked).toBe(REASON)
			await time.runUntilIdle()
			expect(server.requests).toHaveLength(1)
		})

		test.each(['text', 'arrayBuffer', 'blob'] as const)(
			'during %s() rejects with its reason',
			async (how) => {
				const { ask, abort, server, time } = await abortable(hang('body'))
				const reading = failure((await ask())[how]())
				abort()
				expect(await reading).toBe(REASON)
				await server.aborted(1)
				expect(time.pendingTimers).toBe(0)
			},
		)

		// undici ends a body a turn after the abort; a timeout that came in that turn took the place of the reason.
		test("the caller's abort during text() rejects with its reason, also if the timeout expires right after it", async () => {
			const { ask, abort, time } = await abortable(hang('body'), { timeout: 1_000 })
			const reading = failure((await ask()).text())
			await setImmediate()
			abort()
			await time.advance(1_000)
			expect(await reading).toBe(REASON)
		})

		test("the caller's abort while the caller reads the stream rejects with its reason", async () => {
			const { ask, abort, server } = await abortable(drip())
			const { body } = await ask()
			const reading = failure(new Response(body).text())
			await server.requested(1)
			abort()
			expect(await reading).toBe(REASON)
			await server.aborted(1)
		})

		test("the caller's abort while a retried response is drained ends that too", async () => {
			const { ask, abort, server, waiting } = await abortable(hang('body', { status: 503 }))
			const asked = failure(ask())
			await waiting
			abort()
			expect(await asked).toBe(REASON)
			await server.aborted(1)
		})

		test("the caller's abort with a reason that is not an error rejects with that reason", async () => {
			const { ask, abort, server } = await abortable(hang())
			const asked = ask()
			await server.requested(1)
			abort('enough')
			await expect(asked).rejects.toBe('enough')
		})

		test("the caller's abort by AbortSignal.timeout counts as the caller's abort, and is not retried", async () => {
			const { fetch, url, server } = await setup(hang())
			const error = await fetch(url, { signal: AbortSignal.timeout(20) }).catch((thrown: unknown) => thrown)
			expect(error).toBeInstanceOf(DOMException)
			expect(error).toHaveProperty('name', 'TimeoutError')
			expect(explain(error)?.stop).toBe('abort')
			// On a busy machine it may be over before anything was sent.
			expect(server.requests.length).toBeLessThanOrEqual(1)
		})

		test("the caller's abort after the end changes nothing", async () => {
			const { ask, abort } = await abortable(FINE)
			const response = await ask()
			expect(await response.text()).toBe('fine')
			abort()
			expect(explain(response)?.stop).toBe('success')
		})
	})

	describe('the signal of the caller', () => {
		test('is not aborted by a timeout, before the head or in the body', async () => {
			const { ask, signal, server, time } = await abortable([hang(), hang('body')], {
				timeout: 50,
				maxRetries: 0,
			})
			const asked = failure(ask())
			await server.requested(1)
			await time.advance(50)
			expect((await asked).name).toBe('TimeoutError')
			const response = await ask()
			const reading = failure(response.text())
			await time.advance(50)
			expect((await reading).name).toBe('TimeoutError')
			expect(signal.aborted).toBe(false)
		})

		test('has no listener left after waits, a timeout and a body that was not read', async () => {
			const { ask, signal, server, time, waiting } = await abortable([BUSY, hang(), hang('body')], {
				timeout: 1_000,
				maxRetries: 1,
			})
			const asked = failure(ask())
			await waiting
			await time.advance(100)
			await server.requested(2)
			await time.advance(1_000)
			expect((await asked).name).toBe('TimeoutError')
			await ask()
			await time.advance(1_000)
			await server.aborted(3)
			expect(getEventListeners(signal, 'abort')).toEqual([])
		})
	})
})
