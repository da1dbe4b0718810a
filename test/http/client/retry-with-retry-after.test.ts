import { describe, expect, it, vi } from 'vitest'
import { type CallContext, Deadline, explain, HttpError } from 'yaoki'
import { type RetryWithRetryAfterOptions, retryWithRetryAfter } from 'yaoki/http'
import { answer, hang, hugeBody, reset, type Step } from '../faults/fault-server.ts'
import type { Script } from '../faults/script.ts'
import { FETCHES, failure, type SetupOptions, serve, virtualTime } from './setup.ts'

type Send = (url: string, context: CallContext) => Promise<Response>

const SENDERS = FETCHES.map(([name, given = fetch]): readonly [name: string, send: Send] => [
	name,
	(url, { signal }) => given(url, { signal }),
])

const fine = answer({ body: 'fine' })
const busy = answer({ status: 503, headers: { 'retry-after': '7' }, body: 'busy' })

async function repeated(send: Send, script: Script<Step>, own: SetupOptions = {}) {
	const server = await serve(script)
	const time = virtualTime(own)
	const ask = (maxRetries?: number, options: RetryWithRetryAfterOptions = {}) =>
		retryWithRetryAfter((context) => send(server.url(), context), maxRetries, {
			runtime: time.runtime,
			...options,
		})
	return { server, ask, ...time }
}

describe.each(SENDERS)('retryWithRetryAfter over %s', (_, send) => {
	it.each([429, 503])('retries after a %i, after the requested wait plus jitter', async (status) => {
		const rejection = answer({ status, headers: { 'retry-after': '7' } })
		const { ask, server, waits } = await repeated(send, [rejection, fine])
		const response = await ask()
		expect(await response.text()).toBe('fine')
		expect(server.requests).toHaveLength(2)
		expect(waits[0]).toBeGreaterThan(7_000)
		expect(waits[0]).toBeLessThanOrEqual(8_750)
	})

	it.each([200, 204, 304, 400, 404, 408, 500, 502, 504])('returns a %i', async (status) => {
		const { ask, server, waits } = await repeated(send, answer({ status, headers: { 'retry-after': '7' } }))
		expect(await ask()).toMatchObject({ status, bodyUsed: false })
		expect(server.requests).toHaveLength(1)
		expect(waits).toEqual([])
	})

	it('uses the backoff if the server asks for no wait', async () => {
		const { ask, waits } = await repeated(send, [answer({ status: 503 }), answer({ status: 503 }), fine])
		const onRetry = vi.fn()
		await ask(3, { baseDelayMs: 200, jitterStrategy: 'none', onRetry })
		expect(waits).toEqual([200, 400])
		expect(onRetry.mock.calls.map(([error, attempt, ms]) => [error.statusCode, attempt, ms])).toEqual([
			[503, 1, 200],
			[503, 2, 400],
		])
	})

	it('throws an HttpError with body and wait when the retries are exhausted', async () => {
		const { ask, server } = await repeated(send, busy)
		const error = await failure(ask(2))
		expect(error).toBeInstanceOf(HttpError)
		expect(error).toMatchObject({ statusCode: 503, body: 'busy', retryAfterMs: 7_000 })
		expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
		expect(server.requests).toHaveLength(3)
	})

	it('calls once with maxRetries 0, and four times by default', async () => {
		const once = await repeated(send, busy)
		await failure(once.ask(0))
		expect(once.server.requests).toHaveLength(1)
		const often = await repeated(send, busy)
		await failure(often.ask())
		expect(often.server.requests).toHaveLength(4)
	})

	it('throws immediately if the server asks for too long a wait', async () => {
		const { ask, server, waits } = await repeated(
			send,
			answer({ status: 429, headers: { 'retry-after': '61' } }),
		)
		expect(await failure(ask())).toMatchObject({ statusCode: 429, retryAfterMs: 61_000 })
		expect(await failure(ask(3, { maxRetryAfterMs: 1_000 }))).toMatchObject({ retryAfterMs: 61_000 })
		expect(server.requests).toHaveLength(2)
		expect(waits).toEqual([])
		await failure(ask(1, { maxRetryAfterMs: 61_000 }))
		expect(waits).toHaveLength(1)
	})

	it('rejects with the abort reason during a wait, and does not call again', async () => {
		const { ask, server, waiting, clock } = await repeated(send, [busy, fine], { areWaitsHeld: true })
		const abort = new AbortController()
		const failed = failure(ask(3, { signal: abort.signal }))
		await waiting(1)
		abort.abort('home')
		expect(await failed).toBe('home')
		expect(server.requests).toHaveLength(1)
		expect(clock.pendingTimers).toBe(0)
	})

	it("passes its signal to the function, so that the caller's abort ends the request in flight", async () => {
		const { ask, server } = await repeated(send, hang())
		const abort = new AbortController()
		const failed = failure(ask(3, { signal: abort.signal }))
		await server.requested(1)
		const reason = new Error('home')
		abort.abort(reason)
		expect(await failed).toBe(reason)
		await server.aborted(1)
	})

	it('does not start a wait that exceeds its deadline', async () => {
		const { ask, server, runtime, waits } = await repeated(send, busy)
		const error = await failure(ask(3, { deadline: Deadline.after(7_000, { runtime }) }))
		expect(error).toMatchObject({ statusCode: 503, retryAfterMs: 7_000, body: 'busy' })
		expect(explain(error)?.stop).toBe('deadline')
		expect(server.requests).toHaveLength(1)
		expect(waits).toEqual([])
	})

	it('rethrows errors of the function, and does not call again', async () => {
		const { ask, server } = await repeated(send, reset('request-head'))
		expect(await failure(ask())).not.toBeInstanceOf(HttpError)
		expect(server.requests).toHaveLength(1)
	})

	it('reads at most 64 kB of a huge body, and closes its connection', async () => {
		const { ask, server } = await repeated(send, hugeBody({ status: 503 }))
		expect(await failure(ask(0))).toMatchObject({ statusCode: 503, body: 'x'.repeat(65_536) })
		expect((await server.aborted(1)).bytesWritten).toBeLessThan(20_000_000)
	})
})

describe('retryWithRetryAfter', () => {
	const { runtime } = virtualTime()

	it.each([new HttpError(503, 'of another client'), new TypeError('mine'), 'a text', null, undefined])(
		'rethrows %s of the function after one call',
		async (thrown) => {
			const fn = vi.fn(async () => {
				throw thrown
			})
			expect(await failure(retryWithRetryAfter(fn, 3, { runtime }))).toBe(thrown)
			expect(fn).toHaveBeenCalledTimes(1)
		},
	)

	it('accepts a function that returns a response without a promise', async () => {
		const response = new Response('fine')
		expect(await retryWithRetryAfter(() => response)).toBe(response)
	})

	it.each([
		[undefined, 'undefined'],
		[null, 'object'],
		['a text', 'string'],
		[{ id: 7 }, 'object'],
		[{ status: 200 }, 'object'],
	])('rejects if the function returns %j instead of a Response', async (result, type) => {
		const fn = vi.fn(() => result as never)
		expect(await failure(retryWithRetryAfter(fn, 3, { runtime }))).toMatchObject({
			name: 'InvalidArgumentError',
			argument: 'fn(context)',
			message: `Invalid argument "fn(context)": expected a Response, got "${type}"`,
		})
		expect(fn).toHaveBeenCalledTimes(1)
	})

	it('has its own name in explain and events', async () => {
		const error = await failure(retryWithRetryAfter(() => new Response('', { status: 503 }), 0, { runtime }))
		expect(String(explain(error))).toMatch(/^retryWithRetryAfter: 1 attempt/)
	})

	it.each([
		['maxRetries', () => retryWithRetryAfter(() => new Response(), -1)],
		['maxRetryAfterMs', () => retryWithRetryAfter(() => new Response(), 1, { maxRetryAfterMs: Number.NaN })],
		['baseDelayMs', () => retryWithRetryAfter(() => new Response(), 1, { baseDelayMs: -1 })],
		['timeout', () => retryWithRetryAfter(() => new Response(), 1, JSON.parse('{"timeout":1}'))],
	])('rejects an invalid option %s by its name', async (name, call) => {
		expect(await failure(call())).toMatchObject({
			code: 'YAOKI_INVALID_OPTION',
			message: expect.stringContaining(name),
		})
	})

	it('rejects what is not a function', async () => {
		expect(await failure(retryWithRetryAfter(JSON.parse('"no function"')))).toMatchObject({
			code: 'YAOKI_INVALID_ARGUMENT',
			argument: 'fn',
		})
	})
})
