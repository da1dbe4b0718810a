import { describe, expect, it } from 'vitest'
import { Deadline, explain, TimeoutError } from 'yaoki'
import {
	answer,
	chunkedGarbage,
	deferred,
	drip,
	fin,
	hang,
	reset,
	wrongLength,
} from '../faults/fault-server.ts'
import { FETCHES, failure, setup, textOf } from './setup.ts'

const fine = answer({ body: 'fine' })

const READERS = ['text', 'json', 'arrayBuffer', 'blob'] as const

/** The first bytes of a stream, and what comes after them. */
async function firstOf({ body }: Response) {
	const reader = body?.getReader()
	const { value } = (await reader?.read()) ?? {}
	return { text: new TextDecoder().decode(value), next: () => reader?.read() ?? Promise.resolve() }
}

describe.each(FETCHES)('a body over %s', (_, fetch) => {
	describe.each([
		['is cut off by the end of the connection', fin('body')],
		['is cut off by a reset', reset('body')],
		['is shorter than its content-length', wrongLength()],
		['has chunks that are none', chunkedGarbage()],
	])('that %s', (_what, fault) => {
		it.each(READERS)('fails in %s with an error, and never looks complete', async (read) => {
			const { client, server } = await setup(fetch, fault)
			// A reset may overtake the head: then there is no response, and the request itself has failed.
			const response = await client.get(server.url(), { yaoki: { maxRetries: 0 } }).catch((error) => error)
			const error = response instanceof Error ? response : await failure(response[read]())
			expect(error).toBeInstanceOf(Error)
			expect(error).toMatchObject({ message: expect.stringMatching(/\w/) })
		})

		it('does not retry after the caller has the response', async () => {
			const { client, server } = await setup(fetch, [fault, fine], { maxRetries: 0 })
			await failure(textOf(client.get(server.url())))
			expect(server.requests).toHaveLength(1)
		})
	})

	it.each(READERS)(
		'a body that stalls rejects %s with TimeoutError and closes the connection',
		async (read) => {
			const { client, server, clock } = await setup(fetch, hang('body'), { timeout: 5_000 })
			const response = await client.get(server.url())
			const reading = failure(response[read]())
			await clock.advance(4_999)
			expect(server.abortedCount).toBe(0)
			await clock.advance(1)
			const error = await reading
			expect(error).toBeInstanceOf(TimeoutError)
			expect(error).toMatchObject({ code: 'YAOKI_TIMEOUT', policy: server.origin, timeoutMs: 5_000 })
			await server.aborted(1)
		},
	)

	it('a body that drips endlessly rejects with TimeoutError', async () => {
		const { client, server, clock } = await setup(fetch, drip(), { timeout: 5_000 })
		const reading = failure(textOf(client.get(server.url())))
		await server.requested(1)
		await server.until('some drops', () => (server.requests[0]?.bytesWritten ?? 0) > 200)
		await clock.advance(5_000)
		expect(await reading).toBeInstanceOf(TimeoutError)
		await server.aborted(1)
	})

	it('has the remaining total timeout if that is less', async () => {
		const { client, server, clock } = await setup(fetch, [answer({ status: 503 }), hang('body')], {
			timeout: 5_000,
			totalTimeoutMs: 6_000,
			baseDelayMs: 3_000,
		})
		const response = await client.get(server.url())
		expect(clock.now()).toBe(3_000)
		const reading = failure(response.text())
		await clock.advance(2_999)
		expect(server.abortedCount).toBe(0)
		await clock.advance(1)
		expect(await reading).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 6_000 })
	})

	it('has the timeout of its request, if set', async () => {
		const { client, server, clock } = await setup(fetch, hang('body'))
		const response = await client.get(server.url(), { yaoki: { timeout: 700 } })
		const reading = failure(response.text())
		await clock.advance(700)
		expect(await reading).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 700 })
	})

	it("a body that exceeds the caller's deadline rejects with DeadlineExceededError, not TimeoutError", async () => {
		const { client, server, clock, runtime } = await setup(fetch, hang('body'))
		const deadline = Deadline.after(900, { runtime })
		const response = await client.get(server.url(), { yaoki: { deadline } })
		const reading = failure(response.text())
		await clock.advance(900)
		expect(await reading).toMatchObject({ code: 'YAOKI_DEADLINE_EXCEEDED' })
	})

	it("rejects with the caller's abort reason", async () => {
		const { client, server } = await setup(fetch, hang('body'))
		const abort = new AbortController()
		const response = await client.get(server.url(), { signal: abort.signal })
		const reading = failure(response.text())
		const reason = new Error('the user went home')
		abort.abort(reason)
		expect(await reading).toBe(reason)
		await server.aborted(1)
	})

	it('has no timeout once the caller reads its stream: an event stream may last for hours', async () => {
		const done = deferred()
		const { client, server, clock } = await setup(fetch, drip({ stop: done.promise }), {
			timeout: 1_000,
		})
		const response = await client.get(server.url())
		const { text, next } = await firstOf(response)
		expect(text).toMatch(/^x+$/)
		await clock.advance(3_600_000)
		done.resolve()
		await expect(next()).resolves.toBeDefined()
		expect(server.abortedCount).toBe(0)
	})

	it('leaves no timer after it was read, drained, or never started', async () => {
		const { client, server, clock } = await setup(fetch, {
			'/fine': fine,
			'/empty': answer({ status: 204 }),
			'/gone': answer({ status: 410, body: 'gone' }),
			'/reset': reset('request-head'),
		})
		for (const path of ['/fine', '/empty', '/gone', '/reset'] as const)
			await textOf(client.get(server.url(path))).catch(() => {})
		expect(clock.pendingTimers).toBe(0)
		expect(client.stats.origins[server.origin]?.inFlight).toBe(0)
	})

	it('a body of an error that stalls is read for at most a second, and the error has the received part', async () => {
		const broken = hang('body', { status: 500, body: 'half of the reason' })
		const { client, server, clock } = await setup(fetch, broken, { maxRetries: 0 })
		const failed = failure(client.get(server.url()))
		await server.until('the half body', () => (server.requests[0]?.bytesWritten ?? 0) > 18)
		// The client has to have read it, too. It is in the same process: the bytes are with it a few turns later.
		while (clock.pendingTimers === 0) await new Promise(setImmediate)
		for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
		await clock.advance(1_000)
		const error = await failed
		expect(error).toMatchObject({ statusCode: 500, body: 'half of the reason' })
		expect(explain(error)?.attempts).toHaveLength(1)
		await server.aborted(1)
	})
})

describe.each(FETCHES)('a request over %s without a response', (_, fetch) => {
	it('is a TimeoutError for each attempt, retried and explained', async () => {
		const { client, server, clock } = await setup(fetch, [hang(), hang(), fine], { timeout: 5_000 })
		const answered = client.get(server.url())
		for (const n of [1, 2]) {
			await server.requested(n)
			await clock.advance(5_000)
			await server.aborted(n)
		}
		const response = await answered
		expect(await response.text()).toBe('fine')
		expect(explain(response)?.attempts).toMatchObject([
			{ errorType: 'TimeoutError', durationMs: 5_000 },
			{ errorType: 'TimeoutError', durationMs: 5_000 },
			{ outcome: 'success' },
		])
	})

	it('ends with the total timeout, during an attempt', async () => {
		const options = { timeout: 5_000, totalTimeoutMs: 5_500 }
		const { client, server, clock } = await setup(fetch, hang(), options)
		const failed = failure(client.get(server.url()))
		await server.requested(1)
		await clock.advance(5_000)
		await server.requested(2)
		await clock.advance(400)
		const error = await failed
		expect(error).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 5_500 })
		expect(explain(error)?.stop).toBe('deadline')
	})

	it("rejects immediately with the caller's abort reason, also between attempts", async () => {
		const { client, server, waiting } = await setup(fetch, answer({ status: 503 }), {
			areWaitsHeld: true,
		})
		const abort = new AbortController()
		const failed = failure(client.get(server.url(), { signal: abort.signal }))
		await waiting(1)
		const reason = new Error('the user went home')
		abort.abort(reason)
		expect(await failed).toBe(reason)
		expect(explain(reason)?.stop).toBe('abort')
		expect(server.requests).toHaveLength(1)
	})
})
