import { describe, expect, test } from 'vitest'
import { DeadlineExceededError, retry } from 'yaoki'
import type { GrpcEvent } from 'yaoki/grpc'
import { currentContext, withAmbientContext } from 'yaoki/node'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import type { ServerFailure } from '../../../src/grpc/server/failure.ts'
import type { GrpcServerOptions } from '../../../src/grpc/server/options.ts'
import type { ServerCall } from '../../../src/grpc/server/server-call.ts'
import type { GrpcServerContext } from '../../../src/grpc/server/server-context.ts'
import { ServerEngine } from '../../../src/grpc/server/server-engine.ts'

interface Incoming {
	readonly remainingMs?: number
	readonly headers?: Readonly<Record<string, string>>
	readonly service?: string
	onStart?(context: GrpcServerContext): void
}

/** A server in virtual time, whose calls record what happens to them. */
function setup(options: GrpcServerOptions = {}, abandonAfterMs?: number) {
	const clock = virtualRuntime({ seed: 3 })
	const events: GrpcEvent[] = []
	const engine = new ServerEngine(
		{ runtime: clock, onEvent: (event) => events.push(event), ...options },
		'test',
		abandonAfterMs,
	)
	const arrive = ({ remainingMs, headers = {}, service = 'shop.Users', onStart }: Incoming = {}) => {
		const seen: { context?: GrpcServerContext; failure?: ServerFailure } = {}
		const call: ServerCall = engine.open(
			{ service, method: 'Get', remainingMs, headers: { get: (name) => headers[name] } },
			{
				start(context) {
					seen.context = context
					onStart?.(context)
				},
				fail(failure) {
					seen.failure = failure
				},
			},
		)
		call.begin()
		return { call, seen }
	}
	const calls = () => events.filter(({ type }) => type === 'call')
	return { clock, engine, events, calls, arrive }
}

describe('the context of a handler', () => {
	test('has the deadline of the client, capped, with a margin', () => {
		const { arrive } = setup({ maxDeadlineMs: 1_000, marginMs: 50, defaultDeadlineMs: 700 })
		expect(arrive({ remainingMs: 500 }).seen.context?.deadline?.remainingMs).toBe(450)
		expect(arrive({ remainingMs: 5_000 }).seen.context?.deadline?.remainingMs).toBe(950)
		expect(arrive().seen.context?.deadline?.remainingMs).toBe(650)
	})

	test('has no deadline if the client sends none and there is no default', () => {
		expect(setup().arrive().seen.context?.deadline).toBeUndefined()
	})

	test('has service, method and the attempt of the client', () => {
		const { arrive } = setup()
		const { context } = arrive({ headers: { 'grpc-previous-rpc-attempts': '2' } }).seen
		expect(context).toMatchObject({ service: 'shop.Users', method: 'Get', attempt: 2, isExpired: false })
		for (const text of ['', 'x', '-1', '1.5', '9'.repeat(9)])
			expect(arrive({ headers: { 'grpc-previous-rpc-attempts': text } }).seen.context?.attempt).toBe(0)
	})

	test('ignores the retry headers of clients that are not trusted', () => {
		const { arrive } = setup({ trustRetryHeaders: false })
		expect(arrive({ headers: { 'grpc-previous-rpc-attempts': '2' } }).seen.context?.attempt).toBe(0)
	})

	test('is the async context of the handler', () => {
		const inside: unknown[] = []
		const { seen, call } = setup().arrive({ onStart: () => inside.push(currentContext()) })
		call.run(() => inside.push(currentContext()))
		expect(inside).toEqual([seen.context, seen.context])
		expect(currentContext()).toBeUndefined()
	})

	test('aborts its signal when the client cancels, and not after a response', async () => {
		const { arrive, clock } = setup()
		const cancelled = arrive()
		const finished = arrive({ remainingMs: 10 })
		const signals = [cancelled, finished].map(({ seen }) => seen.context?.signal)
		cancelled.call.cancel()
		finished.call.finish()
		await clock.advance(20)
		expect(signals.map((signal) => signal?.aborted)).toEqual([true, false])
		expect(signals[0]?.reason).toMatchObject({ name: 'AbortError' })
	})
})

describe('nested retries', () => {
	/** Returns how often an operation that always fails is attempted by a retry inside the handler. */
	const attemptsInside = async (call: ServerCall, clock: VirtualRuntime) => {
		let attempts = 0
		const policy = withAmbientContext(retry({ maxRetries: 2, runtime: clock }))
		const failed = call.run(() =>
			policy.settle(() => {
				attempts++
				throw Object.assign(new Error('down'), { code: 'ECONNRESET' })
			}),
		)
		await clock.runUntilIdle()
		await failed
		return attempts
	}

	test('the innermost layer retries, and the status then forbids the client to retry', async () => {
		const { arrive, clock } = setup()
		const { call } = arrive({ headers: { 'grpc-previous-rpc-attempts': '1' } })
		expect(call.context?.retriesExhausted).toBe(false)
		expect(await attemptsInside(call, clock)).toBe(3)
		expect(call.context?.retriesExhausted).toBe(true)
	})

	test('a client that asks for retries of the outermost layer only gets no retries here', async () => {
		const { arrive, clock } = setup()
		const { call } = arrive({ headers: { 'x-retry-layer': 'outermost' } })
		expect(await attemptsInside(call, clock)).toBe(1)
		expect(call.context?.retriesExhausted).toBe(false)
	})

	test('the signal of a retried call is aborted too, and not after a response', async () => {
		const { arrive, clock } = setup()
		const headers = { 'grpc-previous-rpc-attempts': '1' }
		const expired = arrive({ headers, remainingMs: 10 })
		const cancelled = arrive({ headers })
		const finished = arrive({ headers, remainingMs: 10 })
		const signals = [expired, cancelled, finished].map(({ seen }) => seen.context?.signal)
		cancelled.call.cancel()
		finished.call.finish()
		await clock.advance(20)
		expect(signals.map((signal) => signal?.aborted)).toEqual([true, true, false])
	})
})

describe('deadlines', () => {
	test('a call whose deadline has passed does not start its handler', async () => {
		const { arrive, clock, engine, calls } = setup()
		const { seen, call } = arrive({ remainingMs: -5 })
		await clock.advance(0)
		expect(seen.context).toBeUndefined()
		expect(seen.failure).toMatchObject({ code: 4, pushback: undefined })
		expect(call.isOver).toBe(true)
		expect(engine.stats).toMatchObject({ calls: 1, failures: 1, rejected: 1, inFlight: 0 })
		expect(calls()).toMatchObject([{ outcome: 'failure', stop: 'deadline', grpcStatus: 'DEADLINE_EXCEEDED' }])
	})

	test('a deadline that passes ends the call and aborts the signal', async () => {
		const { arrive, clock, engine, calls } = setup()
		const { seen, call } = arrive({ remainingMs: 100 })
		const signal = seen.context?.signal
		await clock.advance(99)
		expect(seen.failure).toBeUndefined()
		await clock.advance(1)
		expect(seen.failure).toMatchObject({ code: 4 })
		expect(signal?.reason).toBeInstanceOf(DeadlineExceededError)
		expect(call.isOver).toBe(true)
		expect(engine.stats).toMatchObject({ failures: 1, rejected: 0, inFlight: 0 })
		expect(calls()).toMatchObject([{ stop: 'deadline', grpcStatus: 'DEADLINE_EXCEEDED', method: 'Get' }])
		call.finish(13)
		call.cancel()
		await clock.advance(0)
		expect(calls()).toHaveLength(1)
	})

	test('the cancellation of a client at the deadline is a passed deadline', async () => {
		const { arrive, clock, calls } = setup({ marginMs: 0 })
		const { call } = arrive({ remainingMs: 1_000 })
		await clock.advance(995)
		call.cancel()
		await clock.advance(0)
		expect(calls()).toMatchObject([{ stop: 'deadline', grpcStatus: 'DEADLINE_EXCEEDED' }])
	})
})

describe('the bulkhead', () => {
	test('rejects with UNAVAILABLE and a pushback with jitter', async () => {
		const { arrive, clock, engine, calls } = setup({ bulkhead: { maxConcurrent: 1, maxQueue: 0 } })
		arrive()
		const pushbacks: number[] = []
		for (let i = 0; i < 50; i++) {
			const { seen } = arrive()
			await clock.advance(0)
			expect(seen).toMatchObject({ failure: { code: 14 } })
			pushbacks.push(Number(seen.failure?.pushback))
		}
		expect(Math.min(...pushbacks)).toBeGreaterThanOrEqual(400)
		expect(Math.max(...pushbacks)).toBeLessThanOrEqual(600)
		expect(new Set(pushbacks).size).toBeGreaterThan(10)
		expect(calls()[0]).toMatchObject({
			outcome: 'rejected',
			grpcStatus: 'UNAVAILABLE',
			grpcService: 'shop.Users',
		})
		expect(engine.stats).toMatchObject({ calls: 51, rejected: 50, failures: 50, inFlight: 1 })
	})

	test.each([
		[false, undefined],
		[(): number => 70.4, '70'],
		[(): number => -3, '-1'],
		[(): number => Number.POSITIVE_INFINITY, '-1'],
		[Number.POSITIVE_INFINITY, '-1'],
		[-1, '-1'],
		[0, '0'],
	] satisfies [GrpcServerOptions['pushbackMs'], string | undefined][])(
		'pushbackMs %s is sent as %s',
		async (pushbackMs, sent) => {
			const { arrive, clock } = setup({ bulkhead: { maxConcurrent: 1, maxQueue: 0 }, pushbackMs })
			arrive()
			const { seen } = arrive()
			await clock.advance(0)
			expect(seen.failure?.pushback).toBe(sent)
		},
	)

	test('pushbackMs as a function receives the call', async () => {
		const seen: unknown[] = []
		const { arrive, clock } = setup({
			bulkhead: { maxConcurrent: 1, maxQueue: 0 },
			pushbackMs: (call) => {
				seen.push(call)
				return 1
			},
		})
		arrive()
		arrive({ headers: { 'grpc-previous-rpc-attempts': '3' } })
		await clock.advance(0)
		expect(seen).toEqual([{ service: 'shop.Users', method: 'Get', previousAttempts: 3 }])
	})

	test('queued calls start in order, with a slot until the end of the handler', async () => {
		const { arrive, clock, engine } = setup({ bulkhead: { maxConcurrent: 1 } })
		const [first, second] = [arrive(), arrive()]
		await clock.advance(5)
		expect(engine.stats).toMatchObject({ inFlight: 1, bulkhead: { concurrent: 1, queued: 1 } })
		first.call.finish()
		await clock.advance(0)
		expect(second.seen.context).toBeDefined()
		second.call.finish(5, 'no such user')
		await clock.advance(0)
		expect(engine.stats).toMatchObject({ inFlight: 0, failures: 1, bulkhead: { concurrent: 0 } })
	})

	test('a queued call that is cancelled leaves the queue and never starts', async () => {
		const { arrive, clock, engine, calls } = setup({ bulkhead: { maxConcurrent: 1 } })
		const [first, second] = [arrive(), arrive()]
		second.call.cancel()
		await clock.advance(0)
		expect(engine.stats).toMatchObject({ cancelled: 1, rejected: 0, bulkhead: { queued: 0 } })
		first.call.finish()
		await clock.advance(0)
		expect(second.seen).toEqual({})
		expect(calls()[0]).toMatchObject({ stop: 'abort', grpcStatus: 'CANCELLED' })
		expect(engine.stats.bulkhead?.concurrent).toBe(0)
	})

	test('a queued call that is cancelled in the same turn in which it gets its slot frees it', async () => {
		const { arrive, clock, engine } = setup({ bulkhead: { maxConcurrent: 1 } })
		const [first, second] = [arrive(), arrive()]
		first.call.finish()
		await Promise.resolve()
		second.call.cancel()
		await clock.advance(0)
		expect(engine.stats.bulkhead).toMatchObject({ concurrent: 0, queued: 0 })
	})

	test('the deadline of a queued call ends its wait', async () => {
		const { arrive, clock, engine } = setup({ bulkhead: { maxConcurrent: 1 } })
		arrive()
		const { seen } = arrive({ remainingMs: 30 })
		await clock.advance(30)
		expect(seen).toMatchObject({ failure: { code: 4 } })
		expect(engine.stats).toMatchObject({ rejected: 1, bulkhead: { queued: 0 } })
	})

	test('a queue timeout is UNAVAILABLE with pushback', async () => {
		const { arrive, clock } = setup({ bulkhead: { maxConcurrent: 1, queueTimeoutMs: 20 } })
		arrive()
		const { seen } = arrive({ remainingMs: 1_000 })
		await clock.advance(20)
		expect(seen.failure).toMatchObject({ code: 14, pushback: expect.stringMatching(/^\d+$/) })
	})

	test('a call with too little time for the queue is UNAVAILABLE, because another server may be in time', async () => {
		const { arrive, clock } = setup({ bulkhead: { maxConcurrent: 1 } })
		for (let i = 0; i < 30; i++) {
			const { call } = arrive({ remainingMs: 60_000 })
			await clock.advance(1_000)
			call.finish()
			await clock.advance(0)
		}
		arrive()
		const { seen } = arrive({ remainingMs: 20 })
		await clock.advance(0)
		expect(seen.failure).toMatchObject({ code: 14, pushback: expect.stringMatching(/^\d+$/) })
	})

	test.each(['cancel', 'deadline'])(
		'a handler that outlives its call after a %s keeps its slot until it ends',
		async (how) => {
			const { arrive, clock, engine } = setup({ bulkhead: { maxConcurrent: 1 } })
			const { call } = arrive({ remainingMs: 10 })
			if (how === 'cancel') call.cancel()
			await clock.advance(1_000_000)
			expect(engine.stats).toMatchObject({ inFlight: 0, bulkhead: { concurrent: 1 } })
			call.finish()
			await clock.advance(0)
			expect(engine.stats.bulkhead?.concurrent).toBe(0)
		},
	)

	test('a handler that never ends gives its slot back after abandonAfterMs', async () => {
		const { arrive, clock, engine } = setup({ bulkhead: { maxConcurrent: 1 } }, 1_000)
		arrive({ remainingMs: 10 })
		await clock.advance(10 + 999)
		expect(engine.stats.bulkhead?.concurrent).toBe(1)
		await clock.advance(1)
		expect(engine.stats.bulkhead?.concurrent).toBe(0)
	})

	test('a handler can end its context itself to free the slot', async () => {
		const { arrive, clock, engine } = setup({ bulkhead: { maxConcurrent: 1 } })
		const { call, seen } = arrive()
		call.cancel()
		seen.context?.end()
		seen.context?.end()
		await clock.advance(0)
		expect(engine.stats.bulkhead?.concurrent).toBe(0)
	})

	test('a call that is cancelled right after its rejection stays rejected: event and statistics agree', async () => {
		const { arrive, clock, engine, calls } = setup({ bulkhead: { maxConcurrent: 1, maxQueue: 0 } })
		arrive()
		arrive().call.cancel()
		await clock.advance(0)
		expect(calls()).toMatchObject([{ outcome: 'rejected', grpcStatus: 'UNAVAILABLE' }])
		expect(engine.stats).toMatchObject({ rejected: 1, failures: 1, cancelled: 0 })
	})

	test('does not limit health checks', async () => {
		const { arrive, clock } = setup({ bulkhead: { maxConcurrent: 1, maxQueue: 0 } })
		arrive()
		expect(arrive({ service: 'grpc.health.v1.Health' }).seen.context).toBeDefined()
		await clock.advance(0)
	})

	test('a priority that throws ends the call with INTERNAL', async () => {
		const { arrive, clock } = setup({
			bulkhead: {
				maxConcurrent: 1,
				priority: () => {
					throw new Error('broken')
				},
			},
		})
		arrive()
		const { seen } = arrive()
		await clock.advance(0)
		expect(seen.failure).toMatchObject({ code: 13, pushback: undefined })
	})
})

test('a queued call that another interceptor ends is never started', async () => {
	const { arrive, clock, engine, calls } = setup({ bulkhead: { maxConcurrent: 1 } })
	const [first, second] = [arrive(), arrive()]
	second.call.finish(16, 'who are you?')
	await clock.advance(0)
	expect(engine.stats).toMatchObject({ failures: 1, bulkhead: { queued: 0 } })
	first.call.finish()
	await clock.advance(0)
	expect(second.seen).toEqual({})
	expect(calls()[0]).toMatchObject({ grpcStatus: 'UNAUTHENTICATED', outcome: 'failure' })
})

test('a handler that ends twice counts once', async () => {
	const { arrive, clock, engine, calls } = setup({ bulkhead: {} })
	const { call } = arrive()
	call.finish()
	call.finish(13)
	call.cancel()
	await clock.advance(0)
	expect(engine.stats).toMatchObject({ failures: 0, cancelled: 0, inFlight: 0, bulkhead: { concurrent: 0 } })
	expect(calls()).toMatchObject([{ outcome: 'success', grpcStatus: 'OK', call: '/shop.Users/Get' }])
})

test('a handler that fails is a failure with its status in the event', async () => {
	const { arrive, clock, calls } = setup()
	arrive().call.finish(5, 'no such user')
	await clock.advance(0)
	expect(calls()).toMatchObject([
		{ outcome: 'failure', grpcStatus: 'NOT_FOUND', errorCode: 5, errorMessage: '5 NOT_FOUND: no such user' },
	])
})

describe('options', () => {
	test.each([
		[{ maxDeadlineMs: -1 }, 'maxDeadlineMs'],
		[{ defaultDeadlineMs: Number.NaN }, 'defaultDeadlineMs'],
		[{ marginMs: '1' as never }, 'marginMs'],
		[{ trustRetryHeaders: 1 as never }, 'trustRetryHeaders'],
		[{ pushbackMs: Number.NaN }, 'pushbackMs'],
		[{ pushbackMs: true as never }, 'pushbackMs'],
		[{ bulkhead: { maxConcurrent: 0 } }, 'bulkhead.maxConcurrent'],
		[{ runtime: {} as never }, 'runtime'],
		[{ onEvent: 1 as never }, 'onEvent'],
	])('%o is invalid', (options, path) => {
		expect(() => new ServerEngine(options, 'test')).toThrow(
			expect.objectContaining({ name: 'InvalidOptionError', optionPath: path }),
		)
	})

	test('an unknown option is rejected with the nearest name', () => {
		expect(() => new ServerEngine({ maxDeadline: 1 } as never, 'test')).toThrow(
			'Did you mean "maxDeadlineMs"?',
		)
	})
})
