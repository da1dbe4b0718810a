import { expect, expectTypeOf, test } from 'vitest'
import { type Message, Outbox, Relay, type StandardSchema, sqliteStore } from 'yaoki/outbox'

const outbox = () => new Outbox({ store: sqliteStore(':memory:') })
const jobs = () => {}
const make = (options: object) => () => new Relay(outbox(), { destinations: { jobs }, ...options })

test.each<[string, unknown, string | RegExp]>([
	['concurrency', 0, /Invalid option "concurrency": expected .*, got 0/],
	['concurrency', 1.5, /Invalid option "concurrency": expected .*, got 1\.5/],
	['concurrency', '4', /Invalid option "concurrency": expected .*, got "4"/],
	['maxInFlight', 0, /Invalid option "maxInFlight": expected .*, got 0/],
	['batchSize', 10_001, /Invalid option "batchSize": expected .*, got 10001/],
	['leaseMs', 49, /Invalid option "leaseMs": expected .*, got 49/],
	['timeoutMs', 0, /Invalid option "timeoutMs": expected .*, got 0/],
	['timeoutMs', Infinity, /Invalid option "timeoutMs": expected .*, got Infinity/],
	['pollMs', Number.NaN, /Invalid option "pollMs": expected .*, got NaN/],
	['maxCrashes', 0.5, /Invalid option "maxCrashes": expected .*, got 0\.5/],
	['rampUpMs', -1, /Invalid option "rampUpMs": expected .*, got -1/],
	['maxRetryAfterMs', -1, /Invalid option "maxRetryAfterMs": expected .*, got -1/],
	['name', 7, /Invalid option "name": expected .*, got 7/],
	['onEvent', 'log', /Invalid option "onEvent": expected .*, got "log"/],
	['runtime', {}, 'Invalid option "runtime"'],
	['runtime', null, 'Invalid option "runtime"'],
	['retries', 3, 'Invalid option "retries": expected nothing, got 3'],
	['retry', 3, 'Invalid option "retry": expected an object, got 3'],
	['retry', null, 'Invalid option "retry": expected an object, got null'],
	['retry', { maxRetries: -1 }, /Invalid option "retry\.maxRetries": expected .*, got -1/],
	// It would count from the enqueuing, and a replayed message would die at its first failure: expiresAt says it better.
	['retry', { maxElapsedMs: 1_000 }, 'Invalid option "retry.maxElapsedMs": expected nothing, got 1000'],
	['retry', { onRetry: () => {} }, 'Invalid option "retry.onRetry": expected nothing, got a function'],
	['retry', { nested: 'outermost' }, 'Invalid option "retry.nested": expected nothing, got "outermost"'],
	['retry', { budget: 5 }, /Invalid option "retry\.budget": expected .*, got 5/],
	['retry', { classify: 'x' }, /Invalid option "retry\.classify": expected .*, got "x"/],
	['breaker', true, 'Invalid option "breaker": expected false, or an object, got true'],
	['breaker', null, /Invalid option "breaker": expected .*, got null/],
	['breaker', { failureThreshold: 0 }, /Invalid option "breaker\.failureThreshold": expected .*, got 0/],
	['breaker', { shadow: true }, 'Invalid option "breaker.shadow": expected nothing, got true'],
	['destinations', undefined, /Invalid option "destinations": expected .*, got undefined/],
	['destinations', {}, 'Invalid option "destinations"'],
])('%s: %j is refused with its place', (name, value, message) => {
	expect(make({ [name]: value })).toThrow(message)
})

test.each<[object, string | RegExp]>([
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
	expect(() => new Relay({} as Outbox, { destinations: { jobs } })).toThrow('Invalid option "outbox"')
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
