import { expect, expectTypeOf, test } from 'vitest'
import { type Message, Outbox, Relay, type StandardSchema, sqliteStore } from 'yaoki/outbox'

const outbox = () => new Outbox({ store: sqliteStore(':memory:') })
const jobs = () => {}
const make = (options: object) => () => new Relay(outbox(), { destinations: { jobs }, ...options })

test.each<[string, unknown, string]>([
	['concurrency', 0, 'concurrency: got 0'],
	['concurrency', 1.5, 'concurrency: got 1.5'],
	['concurrency', '4', "concurrency: got '4'"],
	['maxInFlight', 0, 'maxInFlight: got 0'],
	['batchSize', 10_001, 'batchSize: got 10001'],
	['leaseMs', 49, 'leaseMs: got 49'],
	['timeoutMs', 0, 'timeoutMs: got 0'],
	['timeoutMs', Infinity, 'timeoutMs: got Infinity'],
	['pollMs', Number.NaN, 'pollMs: got NaN'],
	['maxCrashes', 0.5, 'maxCrashes: got 0.5'],
	['rampUpMs', -1, 'rampUpMs: got -1'],
	['maxRetryAfterMs', -1, 'maxRetryAfterMs: got -1'],
	['name', 7, 'name: got 7'],
	['onEvent', 'log', "onEvent: got 'log'"],
	['runtime', {}, 'runtime: got'],
	['runtime', null, 'runtime: got'],
	['retries', 3, 'retries: got 3; takes nothing'],
	['retry', 3, 'retry: got 3; takes an object'],
	['retry', null, 'retry: got null; takes an object'],
	['retry', { maxRetries: -1 }, 'retry.maxRetries: got -1'],
	// It would count from the enqueuing, and a replayed message would die at its first failure: expiresAt says it better.
	['retry', { maxElapsedMs: 1_000 }, 'retry.maxElapsedMs: got 1000; takes nothing'],
	['retry', { onRetry: () => {} }, 'retry.onRetry: got a function; takes nothing'],
	['retry', { nested: 'outermost' }, "retry.nested: got 'outermost'; takes nothing"],
	['retry', { budget: 5 }, 'retry.budget: got 5'],
	['retry', { classify: 'x' }, "retry.classify: got 'x'"],
	['breaker', true, 'breaker: got true; takes false, or an object'],
	['breaker', null, 'breaker: got null'],
	['breaker', { failureThreshold: 0 }, 'breaker.failureThreshold: got 0'],
	['breaker', { shadow: true }, 'breaker.shadow: got true; takes nothing'],
	['destinations', undefined, 'destinations: got undefined'],
	['destinations', {}, 'destinations: got'],
])('%s: %j is refused with its place', (name, value, message) => {
	expect(make({ [name]: value })).toThrow(message)
})

test.each<[object, string]>([
	[{ deliver: 5 }, "destinations['jobs']: got"],
	[{ deliver: jobs, speed: 5 }, "destinations['jobs'].speed: got 5"],
	[{ deliver: jobs, concurrency: 0 }, "destinations['jobs'].concurrency: got 0"],
	[{ deliver: jobs, concurrency: 2.5 }, "destinations['jobs'].concurrency: got 2.5"],
	[{ deliver: jobs, maxConcurrent: 0 }, "destinations['jobs'].maxConcurrent: got 0"],
	[{ deliver: jobs, timeoutMs: -5 }, "destinations['jobs'].timeoutMs: got -5"],
	[{ deliver: jobs, rate: 5 }, "destinations['jobs'].rate: got 5"],
	[{ deliver: jobs, rate: {} }, "destinations['jobs'].rate.limit: got undefined"],
	[{ deliver: jobs, rate: { limit: 1.5 } }, "destinations['jobs'].rate.limit: got 1.5"],
	[{ deliver: jobs, rate: { limit: 1, burst: 0 } }, "destinations['jobs'].rate.burst: got 0"],
	[{ deliver: jobs, rate: { limit: 1, interval: 5 } }, "destinations['jobs'].rate.interval: got 5"],
	[{ deliver: jobs, order: 'yes' }, "destinations['jobs'].order: got 'yes'"],
	[
		{ deliver: jobs, order: { afterDeadLetter: 'cry' } },
		"destinations['jobs'].order.afterDeadLetter: got 'cry'",
	],
	[{ deliver: jobs, order: { when: 1 } }, "destinations['jobs'].order.when: got 1"],
	[{ deliver: jobs, retry: 0 }, "destinations['jobs'].retry: got 0"],
	[{ deliver: jobs, retry: { factor: 0 } }, "destinations['jobs'].retry.factor: got 0"],
	[{ deliver: jobs, breaker: 0 }, "destinations['jobs'].breaker: got 0"],
	[{ deliver: jobs, breaker: { windowSize: 0 } }, "destinations['jobs'].breaker.windowSize: got 0"],
])('a destination %j is refused with its place', (given, message) => {
	expect(make({ destinations: { jobs: given } })).toThrow(message)
})

test('an outbox that is none is refused', () => {
	expect(() => new Relay({} as Outbox, { destinations: { jobs } })).toThrow('outbox: got')
})

test('an open time longer than its usual cap is fine by itself', () => {
	// The cap of five minutes, which nobody had given, refused it.
	expect(make({ breaker: { resetTimeoutMs: 600_000 } })).not.toThrow()
	expect(make({ breaker: { failureThreshold: undefined, resetTimeoutMs: undefined } })).not.toThrow()
})

type Schema<T> = StandardSchema<T, T>

test('the types of handlers come from the topics', () => {
	const schema = <T>(): Schema<T> => ({
		'~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as T }) },
	})
	const typed = new Outbox({
		store: sqliteStore(':memory:'),
		topics: { 'order.created': schema<{ total: number }>(), 'user.left': schema<{ name: string }>() },
	})
	new Relay(typed, {
		destinations: {
			'order.created': (message) => {
				expectTypeOf(message.payload).toEqualTypeOf<{ total: number }>()
				expectTypeOf(message.topic).toEqualTypeOf<'order.created'>()
			},
			'user.left': {
				deliver: (message, { signal, attempt }) => {
					expectTypeOf(message.payload).toEqualTypeOf<{ name: string }>()
					expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
					expectTypeOf(attempt).toEqualTypeOf<number>()
				},
			},
			'*': (message) => {
				expectTypeOf(message.topic).toEqualTypeOf<'order.created' | 'user.left'>()
				if (message.topic === 'user.left') expectTypeOf(message.payload).toEqualTypeOf<{ name: string }>()
			},
		},
	})
	new Relay(outbox(), {
		destinations: {
			jobs: (message) => {
				expectTypeOf(message.payload).toEqualTypeOf<unknown>()
				expectTypeOf(message).toExtend<Message>()
			},
		},
	})
})
