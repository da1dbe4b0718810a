import { describe, expect, test } from 'vitest'
import {
	type CallOptions,
	circuitBreaker,
	DeadlineExceededError,
	explain,
	type RetryOptions,
	retry,
} from 'yaoki'
import { runWithContext, withAmbientContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'
import { areRetriesExhausted } from '../../../src/http/headers/retry-headers.ts'
import { hasOutermostRetry } from '../../../src/http/request/request-plan.ts'
import type { ServerContext } from '../../../src/http/server/options.ts'
import { createServerContext, getServerContext } from '../../../src/http/server/server-context.ts'
import { dead, failing, settled, steady } from '../../support/scenario.ts'

const twice = { ...steady, maxRetries: 2 }

const request = (headers: Record<string, string> = {}, signal?: AbortSignal) =>
	new Request('http://service.test/', signal ? { headers, signal } : { headers })

/** How often a failing dependency is called from a request with these headers, and the state of the context afterwards. */
async function callsInside(
	headers: Record<string, string>,
	options: RetryOptions = {},
	as: (context: ServerContext) => CallOptions = (context) => ({ parent: context }),
) {
	const clock = virtualRuntime()
	const context = createServerContext(request(headers), { runtime: clock })
	const script = dead(clock)
	const result = await settled(
		clock,
		retry({ ...twice, ...options, runtime: clock }).execute(script, as(context)),
	)
	return {
		calls: script.startedAt.length,
		context,
		stop: result.ok ? undefined : explain(result.error)?.stop,
	}
}

describe('the deadline of the caller', () => {
	const remaining = (headers: Record<string, string>, options = {}) =>
		createServerContext(request(headers), { runtime: virtualRuntime(), ...options }).deadline?.remainingMs

	test('is read from any of the headers', () => {
		expect(remaining({ 'x-request-timeout-ms': '1500' })).toBe(1_500)
		expect(remaining({ 'grpc-timeout': '2S' })).toBe(2_000)
		expect(remaining({ 'connect-timeout-ms': '300' })).toBe(300)
		expect(remaining({ 'x-envoy-expected-rq-timeout-ms': '400', 'x-request-timeout-ms': '500' })).toBe(400)
	})

	test('is undefined if none was sent, or a malformed one', () => {
		expect(remaining({})).toBeUndefined()
		expect(remaining({ 'x-request-timeout-ms': 'soon' })).toBeUndefined()
	})

	test('is at most a minute, or maxDeadlineMs', () => {
		expect(remaining({ 'x-request-timeout-ms': '999999999' })).toBe(60_000)
		expect(remaining({ 'x-request-timeout-ms': '999999999' }, { maxDeadlineMs: 5_000 })).toBe(5_000)
	})

	test('has the default of defaultDeadlineMs', () => {
		expect(remaining({}, { defaultDeadlineMs: 3_000 })).toBe(3_000)
		expect(remaining({ 'x-request-timeout-ms': '9000' }, { defaultDeadlineMs: 3_000 })).toBe(9_000)
		expect(remaining({}, { defaultDeadlineMs: 3_000, maxDeadlineMs: 1_000 })).toBe(1_000)
	})

	test('is reduced by marginMs, and expired if nothing is left', () => {
		expect(remaining({ 'x-request-timeout-ms': '1000' }, { marginMs: 100 })).toBe(900)
		expect(remaining({ 'x-request-timeout-ms': '50' }, { marginMs: 100 })).toBe(0)
	})

	test('is read only from deadlineHeaders', () => {
		const headers = { 'grpc-timeout': '1S', 'x-request-timeout-ms': '5000' }
		expect(remaining(headers, { deadlineHeaders: ['x-request-timeout-ms'] })).toBe(5_000)
	})

	test('ends retries inside, and then aborts the signal of the request', async () => {
		const clock = virtualRuntime()
		const context = createServerContext(request({ 'x-request-timeout-ms': '250' }), { runtime: clock })
		const { signal } = context
		const script = dead(clock)
		const policy = retry({ ...steady, maxRetries: 9, runtime: clock })
		await settled(clock, policy.execute(script, context))
		expect(script.startedAt).toEqual([0, 100])
		expect(context.isExpired).toBe(true)
		expect(signal.reason).toBeInstanceOf(DeadlineExceededError)
	})
})

describe('the layer that retries', () => {
	test('is a policy inside, if the caller sends no retry headers', async () => {
		const { calls, context } = await callsInside({})
		expect(calls).toBe(3)
		expect(context.retriesExhausted).toBe(true)
	})

	test("is also one with nested: 'outermost', which is the outermost here", async () => {
		const { calls } = await callsInside({}, { nested: 'outermost' })
		expect(calls).toBe(3)
	})

	test('is the caller, if it sends x-retry-layer: outermost', async () => {
		const { calls, context, stop } = await callsInside({ 'x-retry-layer': 'outermost' })
		expect(calls).toBe(1)
		expect(stop).toBe('not-retried')
		expect(context.retriesExhausted).toBe(false)
	})

	test('is the policy inside, if the caller retries without x-retry-layer', async () => {
		const { calls, context } = await callsInside({ 'x-retry-attempt': '1' })
		expect(calls).toBe(3)
		expect(context).toMatchObject({ attempt: 1, retriesExhausted: true })
	})

	test('is the caller, if the policy inside does not handle the failure', async () => {
		const { calls, context } = await callsInside({ 'x-retry-attempt': '1' }, { shouldRetry: () => false })
		expect(calls).toBe(1)
		expect(context.retriesExhausted).toBe(false)
	})

	test("is the caller, if the policy inside has nested: 'outermost'", async () => {
		const { calls, context } = await callsInside({ 'x-retry-attempt': '1' }, { nested: 'outermost' })
		expect(calls).toBe(1)
		expect(context.retriesExhausted).toBe(false)
	})

	test.each([
		['x-retry-layer', 'innermost'],
		['x-retry-layer', 'OUTERMOST'],
		['x-retry-attempt', '-1'],
		['x-retry-attempt', '1.5'],
		['x-retry-attempt', '0'],
		['x-retry-attempt', '12345678'],
	])('%s: %s is ignored', async (name, value) => {
		const { calls, context } = await callsInside({ [name]: value }, { nested: 'outermost' })
		expect(calls).toBe(3)
		expect(context.attempt).toBe(0)
	})

	test('is the same however the context is passed: directly, as parent, or in async context', async () => {
		const outermost = { 'x-retry-layer': 'outermost' }
		expect((await callsInside(outermost, {}, (context) => context)).calls).toBe(1)
		const deeper = await callsInside(outermost, {}, (context) => ({
			parent: { parent: context },
			name: 'load',
		}))
		expect(deeper.calls).toBe(1)
		const clock = virtualRuntime()
		const script = dead(clock)
		const policy = withAmbientContext(retry({ ...twice, runtime: clock }))
		const context = createServerContext(request(outermost), { runtime: clock })
		await settled(
			clock,
			runWithContext(context, () => policy.execute(script)),
		)
		expect(script.startedAt).toHaveLength(1)
	})

	test('is detected two policies further in', async () => {
		const clock = virtualRuntime()
		const context = createServerContext(request(), { runtime: clock })
		const policy = retry({ ...twice, runtime: clock })
		const script = dead(clock)
		await settled(
			clock,
			policy.execute((outer) => policy.execute(script, outer), context),
		)
		expect(script.startedAt).toHaveLength(3)
		expect(context.retriesExhausted).toBe(true)
	})

	test('has not exhausted its retries after a success', async () => {
		const clock = virtualRuntime()
		const context = createServerContext(request(), { runtime: clock })
		const script = failing(clock, new Error('down'))
		await settled(clock, retry({ ...twice, runtime: clock }).execute(script, context))
		expect(script.startedAt).toHaveLength(2)
		expect(context.retriesExhausted).toBe(false)
	})

	test('passes on x-retry-layer: outermost to the next service, and nothing else', async () => {
		expect(hasOutermostRetry(undefined)).toBe(false)
		expect(hasOutermostRetry(createServerContext(request()))).toBe(false)
		expect(hasOutermostRetry(createServerContext(request({ 'x-retry-attempt': '2' })))).toBe(false)
		const context = createServerContext(request({ 'x-retry-layer': 'outermost' }))
		expect(hasOutermostRetry(context)).toBe(true)
		expect(await retry().execute(hasOutermostRetry, { parent: context })).toBe(true)
		expect(await retry({ nested: 'outermost' }).execute(hasOutermostRetry)).toBe(true)
		expect(await retry().execute(hasOutermostRetry)).toBe(false)
	})

	test('a response reports exhausted retries only with the value true', () => {
		expect(areRetriesExhausted(new Headers({ 'x-retries-exhausted': 'true' }))).toBe(true)
		expect(areRetriesExhausted(new Headers({ 'x-retries-exhausted': '1' }))).toBe(false)
		expect(areRetriesExhausted(new Headers())).toBe(false)
	})
})

describe('the signal', () => {
	test("is the request's own if there is no deadline", () => {
		const web = request()
		expect(createServerContext(web).signal).toBe(web.signal)
	})

	test('is aborted by the client if there is a deadline too', () => {
		const client = new AbortController()
		const headers = { 'x-request-timeout-ms': '500' }
		const { signal } = createServerContext(request(headers, client.signal), { runtime: virtualRuntime() })
		expect(signal.aborted).toBe(false)
		client.abort(new Error('closed'))
		expect(signal.aborted).toBe(true)
	})

	test('has no timer and is not aborted after the request has ended', async () => {
		const clock = virtualRuntime()
		const context = createServerContext(request({ 'x-request-timeout-ms': '500' }), { runtime: clock })
		expect(clock.pendingTimers).toBe(0)
		const { signal } = context
		expect(clock.pendingTimers).toBe(1)
		context.end()
		context.end()
		expect(clock.pendingTimers).toBe(0)
		await clock.advance(1_000)
		expect(signal.aborted).toBe(false)
	})
})

describe('the request is found', () => {
	const headers = { 'x-retry-attempt': '3' }
	const message = { headers, socket: null }

	test.each([
		['a web request', request(headers)],
		["Node's message", message],
		["Fastify's request", { headers, raw: message }],
		["Hono's request", { raw: request(headers) }],
		["Hono's context", { req: { raw: request(headers) } }],
	])('the request is found in %s', (_, given) => {
		expect(createServerContext(given).attempt).toBe(3)
	})

	test.each([undefined, null, 'GET /', {}, { raw: {} }, { req: { raw: {} } }, { headers: null }])(
		'but not in anything else: %j is rejected',
		(given) => {
			expect(() => createServerContext(given as never)).toThrow(
				/^Invalid argument "request": expected a web Request.*, got .*/,
			)
		},
	)

	test('a header with several lines is ignored', () => {
		const several = { headers: { 'x-request-timeout-ms': ['5', '6'] } }
		expect(createServerContext(several).deadline).toBeUndefined()
	})

	test('its context is found by any of its objects', () => {
		const raw = request(headers)
		const hono = { req: { raw } }
		expect(getServerContext(hono)).toBeUndefined()
		const context = createServerContext(hono)
		expect(createServerContext(hono)).toBe(context)
		expect(getServerContext(raw)).toBe(context)
		hono.req.raw = request()
		expect(getServerContext(hono)).toBe(context)
	})

	test('other options create another context, which replaces the first', () => {
		const web = request({ 'x-request-timeout-ms': '5000' })
		const first = createServerContext(web)
		const second = createServerContext(web, { maxDeadlineMs: 10 })
		expect(second).not.toBe(first)
		expect(getServerContext(web)).toBe(second)
	})
})

describe('rejects invalid options by name', () => {
	test.each([
		[{ maxDeadlineMs: -1 }, /Invalid option "maxDeadlineMs": expected .*, got -1/],
		[{ maxDeadlineMs: Infinity }, /Invalid option "maxDeadlineMs": expected .*, got Infinity/],
		[{ defaultDeadlineMs: '5' }, /Invalid option "defaultDeadlineMs": expected .*, got "5"/],
		[{ marginMs: Number.NaN }, /Invalid option "marginMs": expected .*, got NaN/],
		[{ deadlineHeaders: 'grpc-timeout' }, 'Invalid option "deadlineHeaders"'],
		[
			{ deadlineHeaders: ['x-timeout'] },
			/Invalid option "deadlineHeaders": expected one of x-request-timeout-ms, .*, got "x-timeout"/,
		],
		[{ runtime: {} }, 'Invalid option "runtime"'],
		[{ response: {} }, 'Invalid option "response"'],
		[{ run: () => 0 }, 'Unknown option "run"'],
		[{ maxDeadline: 5 }, 'Unknown option "maxDeadline" for server context. Did you mean "maxDeadlineMs"?'],
	])('%j', (options, message) => {
		expect(() => createServerContext(request(), options as never)).toThrow(message)
	})
})

describe('a server that does not trust retry headers', () => {
	const untrusted = { trustRetryHeaders: false, runtime: virtualRuntime() }

	test('ignores x-retry-attempt and x-retry-layer of its clients', async () => {
		const clock = virtualRuntime()
		const headers = { 'x-retry-layer': 'outermost', 'x-retry-attempt': '7' }
		const context = createServerContext(request(headers), { ...untrusted, runtime: clock })
		const script = dead(clock)
		await settled(clock, retry({ ...twice, runtime: clock }).execute(script, { parent: context }))
		expect(script.startedAt).toHaveLength(3)
		expect(context.attempt).toBe(0)
		expect(hasOutermostRetry(context)).toBe(false)
		expect(context.retriesExhausted).toBe(true)
	})

	test('still reads the deadline, which can only shorten the request of its client', () => {
		const context = createServerContext(request({ 'x-request-timeout-ms': '300' }), untrusted)
		expect(context.deadline?.remainingMs).toBe(300)
	})

	test('ignores the deadline too with deadlineHeaders: []', () => {
		const headers = { 'x-request-timeout-ms': '1', 'grpc-timeout': '1m' }
		const context = createServerContext(request(headers), { ...untrusted, deadlineHeaders: [] })
		expect(context.deadline).toBeUndefined()
	})

	test.each(['no', 0, null])('trustRetryHeaders: %j is rejected', (trustRetryHeaders) => {
		const options = { trustRetryHeaders: trustRetryHeaders as unknown as boolean }
		expect(() => createServerContext(request(), options)).toThrow('"trustRetryHeaders"')
	})
})

test('short deadlines of clients do not open the circuit that all clients share', async () => {
	const clock = virtualRuntime()
	const shared = circuitBreaker({ failureThreshold: 2, runtime: clock })
	for (let n = 0; n < 10; n++) {
		const context = createServerContext(request({ 'x-request-timeout-ms': '50' }), { runtime: clock })
		const { signal } = context
		await settled(
			clock,
			shared.execute(
				() =>
					new Promise((_, reject) => {
						signal.addEventListener('abort', () => reject(signal.reason))
					}),
				context,
			),
		)
	}
	expect(shared.currentState).toBe('closed')
})
