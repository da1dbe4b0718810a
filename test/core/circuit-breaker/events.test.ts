import { describe, expect, test, vi } from 'vitest'
import { HttpError, pipeline, retry, timeout, type YaokiEvent } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { exceptCalls, steady } from '../../support/scenario.ts'
import { calls, Held, never, opened, sensitive, setup } from './setup.ts'

const START = Date.UTC(2026, 0, 1)

describe('events', () => {
	test('the events of a whole life cycle are exact, and survive JSON', async () => {
		const events: YaokiEvent[] = []
		const { breaker, clock } = setup({
			...sensitive,
			name: 'payments',
			onEvent: (event) => events.push(event),
		})
		const held = new Held()
		const good = breaker.execute(held.work)
		await clock.advance(20)
		held.succeed()
		await good
		const bad = breaker.settle(held.work)
		await clock.advance(30)
		held.fail(1, new HttpError(503))
		await bad
		await clock.advance(400)
		await breaker.settle(() => 1)
		await clock.advance(600)
		await breaker.execute(() => 1)
		const call = (number: number) => ({ emitter: 'payments', callId: `call-${number}`, attempt: 1 })
		expect(events).toEqual([
			{ type: 'success', durationMs: 20, ...call(1), timestamp: START + 20 },
			{
				type: 'failure',
				durationMs: 30,
				errorType: 'HttpError',
				errorMessage: 'HTTP 503',
				errorCode: 'YAOKI_HTTP',
				statusCode: 503,
				...call(2),
				timestamp: START + 50,
			},
			{ type: 'state_change', from: 'closed', to: 'open', ...call(2), timestamp: START + 50 },
			{ type: 'rejected', reason: 'circuit-open', retryAfterMs: 600, ...call(3), timestamp: START + 450 },
			{ type: 'state_change', from: 'open', to: 'half-open', ...call(4), timestamp: START + 1_050 },
			{ type: 'success', durationMs: 0, ...call(4), timestamp: START + 1_050 },
			{ type: 'state_change', from: 'half-open', to: 'closed', ...call(4), timestamp: START + 1_050 },
		])
		expect(JSON.parse(JSON.stringify(events))).toEqual(events)
	})

	test('name the pipeline, the call and its key', async () => {
		const { breaker, clock } = setup()
		const events: YaokiEvent[] = []
		const policy = pipeline({ runtime: clock, name: 'checkout' }, breaker)
		policy.subscribe(exceptCalls((event) => events.push(event)))
		await policy.execute(() => 1, { name: 'charge', key: 'tenant-7' })
		expect(events).toEqual([
			{
				type: 'success',
				durationMs: 0,
				emitter: 'circuitBreaker',
				pipeline: 'checkout',
				callId: 'call-1',
				attempt: 1,
				call: 'charge',
				key: 'tenant-7',
				timestamp: START,
			},
		])
	})

	test('the events of a result that counts as a failure have no error', async () => {
		const events: YaokiEvent[] = []
		const { breaker } = setup({ isFailureResult: () => true, onEvent: (event) => events.push(event) })
		await breaker.execute(() => 'bad')
		expect(events).toEqual([
			{
				type: 'failure',
				durationMs: 0,
				emitter: 'circuitBreaker',
				callId: 'call-1',
				attempt: 1,
				timestamp: START,
			},
		])
	})

	test('the events of an isolated circuit omit retryAfterMs, so that they survive JSON', async () => {
		const events: YaokiEvent[] = []
		const { breaker } = setup()
		breaker.isolate()
		breaker.subscribe(exceptCalls((event) => events.push(event)))
		await breaker.settle(() => 1)
		expect(events).toEqual([
			{
				type: 'rejected',
				reason: 'isolated',
				emitter: 'circuitBreaker',
				callId: 'call-1',
				attempt: 1,
				timestamp: START,
			},
		])
		expect(JSON.parse(JSON.stringify(events))).toEqual(events)
	})

	test('a rejection in shadow mode has shadow: true, and the call is neither rejected nor counted', async () => {
		const events: YaokiEvent[] = []
		const { breaker } = await opened({ shadow: true })
		breaker.subscribe(exceptCalls((event) => events.push(event)))
		expect(await breaker.execute(() => 1)).toBe(1)
		expect(events).toEqual([
			{
				type: 'rejected',
				reason: 'circuit-open',
				retryAfterMs: 1_000,
				shadow: true,
				emitter: 'circuitBreaker',
				callId: expect.stringMatching(/^call-\d+$/),
				attempt: 1,
				timestamp: START,
			},
		])
	})

	test('a change of state in shadow mode has shadow: true', async () => {
		const events: YaokiEvent[] = []
		const { breaker } = await opened({ shadow: true, onEvent: (event) => events.push(event) })
		breaker.isolate()
		const changes = events.filter(({ type }) => type === 'state_change')
		expect(changes).toMatchObject([
			{ to: 'open', shadow: true },
			{ to: 'isolated', shadow: true },
		])
	})

	test('are not emitted for calls that are ignored', async () => {
		const events: YaokiEvent[] = []
		const { breaker } = setup({ onEvent: (event) => events.push(event) })
		const controller = new AbortController()
		await breaker.settle(
			() => {
				controller.abort()
				throw new Error('socket closed')
			},
			{ signal: controller.signal },
		)
		expect(events).toEqual([])
	})

	test('measure a call from its start if an inner retry repeats it', async () => {
		const events: YaokiEvent[] = []
		const { breaker, clock } = setup({ onEvent: (event) => events.push(event) })
		const policy = pipeline({ runtime: clock }, breaker, retry({ ...steady, maxRetries: 2 }))
		const answer = policy.execute(({ attempt }) => {
			if (attempt < 2) throw new Error('down')
		})
		await clock.runUntilIdle()
		await answer
		expect(events).toMatchObject([{ type: 'success', durationMs: 300 }])
	})

	test('measure each attempt if the retry is outside', async () => {
		const events: YaokiEvent[] = []
		const { breaker, clock } = setup({ onEvent: (event) => events.push(event) })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 1 }), breaker, timeout(50))
		const answer = policy.execute(({ attempt }) => (attempt ? 'ok' : never()))
		await clock.runUntilIdle()
		await answer
		expect(events).toMatchObject([
			{ type: 'failure', durationMs: 50, errorType: 'TimeoutError', timestamp: START + 50 },
			{ type: 'success', durationMs: 0, timestamp: START + 150 },
		])
	})

	test('are emitted after many calls without a listener', async () => {
		const { breaker, clock } = setup()
		await calls(breaker, 's'.repeat(500))
		await clock.advance(5_000)
		const events: YaokiEvent[] = []
		breaker.subscribe(exceptCalls((event) => events.push(event)))
		await calls(breaker, 's')
		expect(events).toMatchObject([{ type: 'success', durationMs: 0, timestamp: START + 5_000 }])
	})

	test('reach each listener until it unsubscribes', async () => {
		const { breaker } = setup({ failureThreshold: 99 })
		const heard: string[] = []
		const one = breaker.subscribe(exceptCalls(() => heard.push('one')))
		const two = breaker.subscribe(exceptCalls(() => heard.push('two')))
		await calls(breaker, 's')
		one()
		one()
		await calls(breaker, 'f')
		two()
		await calls(breaker, 'sf')
		expect(heard).toEqual(['one', 'two', 'two'])
	})

	test('a listener that throws does not affect the call and causes a warning', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const { breaker } = setup({
			...sensitive,
			onEvent: () => {
				throw new Error('listener')
			},
			onStateChange: () => {
				throw new Error('hook')
			},
		})
		await expect(breaker.execute(() => Promise.reject(new Error('down')))).rejects.toThrow('down')
		expect(breaker.currentState).toBe('open')
		expect(warn.mock.calls.map(([text, error]) => [text, String(error)])).toEqual([
			['yaoki: a listener failed:', 'Error: listener'],
			['yaoki: a listener failed:', 'Error: listener'],
			['yaoki: onStateChange failed:', 'Error: hook'],
		])
	})
})

test('reach a pipeline once if the breaker occurs in it twice', async () => {
	const clock = virtualRuntime()
	const { breaker } = setup()
	const events: YaokiEvent[] = []
	const policy = pipeline({ runtime: clock }, breaker, pipeline(breaker))
	policy.subscribe(exceptCalls((event) => events.push(event)))
	await policy.execute(() => 1)
	// The call passes it twice, and each pass emits one event.
	expect(events.map(({ type }) => type)).toEqual(['success', 'success'])
})
