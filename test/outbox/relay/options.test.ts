import { expect, expectTypeOf, test } from 'vitest'
import { type Message, Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import type { StandardSchema } from '../../../src/core/options/standard-schema.ts'

const outbox = () => new Outbox({ store: sqliteOutboxStore(':memory:') })
const jobs = () => {}
const make = (options: object) => () => new Relay(outbox(), { destinations: { jobs }, ...options })

test.each<[string, unknown, string]>([
	['maxConcurrent', 0, 'maxConcurrent'],
	['maxConcurrent', 1.5, 'maxConcurrent'],
	['maxConcurrent', '4', 'maxConcurrent'],
	['maxConcurrentTotal', 0, 'maxConcurrentTotal'],
	['batchSize', 10_001, 'batchSize'],
	['leaseMs', 49, 'leaseMs'],
	['timeoutMs', 0, 'timeoutMs'],
	['timeoutMs', Infinity, 'timeoutMs'],
	['pollMs', Number.NaN, 'pollMs'],
	['maxCrashes', 0.5, 'maxCrashes'],
	['rampUpMs', -1, 'rampUpMs'],
	['maxRetryAfterMs', -1, 'maxRetryAfterMs'],
	['name', 7, 'name'],
	['onEvent', 'log', 'onEvent'],
	['runtime', {}, 'runtime'],
	['runtime', null, 'runtime'],
	['retries', 3, 'retries'],
	['retry', 3, 'retry'],
	['retry', null, 'retry'],
	['retry', { maxRetries: -1 }, 'retry.maxRetries'],
	['retry', { maxRetries: -Infinity }, 'retry.maxRetries'],
	['retry', { maxRetries: Infinity, baseDelayMs: 0 }, 'retry.maxRetries'],
	// It would count from enqueuing, so a replayed message would die at its first failure. Use expiresAt.
	['retry', { maxElapsedMs: 1_000 }, 'retry.maxElapsedMs'],
	['retry', { onRetry: () => {} }, 'retry.onRetry'],
	['retry', { nested: 'outermost' }, 'retry.nested'],
	['retry', { budget: 5 }, 'retry.budget'],
	['retry', { classify: 'x' }, 'retry.classify'],
	['circuitBreaker', true, 'circuitBreaker'],
	['circuitBreaker', null, 'circuitBreaker'],
	['circuitBreaker', { failureThreshold: 0 }, 'circuitBreaker.failureThreshold'],
	['circuitBreaker', { shadow: true }, 'circuitBreaker.shadow'],
	['destinations', undefined, 'destinations'],
	['destinations', {}, 'destinations'],
])('a relay rejects the option %s: %j', (name, value, optionPath) => {
	expect(make({ [name]: value })).toThrow(expect.objectContaining({ optionPath }))
})

test.each<[object, string]>([
	[{ deliver: 5 }, "destinations['jobs']"],
	[{ deliver: jobs, speed: 5 }, "destinations['jobs'].speed"],
	[{ deliver: jobs, maxConcurrent: 0 }, "destinations['jobs'].maxConcurrent"],
	[{ deliver: jobs, maxConcurrent: 2.5 }, "destinations['jobs'].maxConcurrent"],
	[{ deliver: jobs, maxConcurrentAllRelays: 0 }, "destinations['jobs'].maxConcurrentAllRelays"],
	[{ deliver: jobs, timeoutMs: -5 }, "destinations['jobs'].timeoutMs"],
	[{ deliver: jobs, rate: 5 }, "destinations['jobs'].rate"],
	[{ deliver: jobs, rate: {} }, "destinations['jobs'].rate.limit"],
	[{ deliver: jobs, rate: { limit: 1.5 } }, "destinations['jobs'].rate.limit"],
	[{ deliver: jobs, rate: { limit: 1, burst: 0 } }, "destinations['jobs'].rate.burst"],
	[{ deliver: jobs, rate: { limit: 1, interval: 5 } }, "destinations['jobs'].rate.interval"],
	[{ deliver: jobs, order: 'yes' }, "destinations['jobs'].order"],
	[{ deliver: jobs, order: { afterDeadLetter: 'cry' } }, "destinations['jobs'].order.afterDeadLetter"],
	[{ deliver: jobs, order: { when: 1 } }, "destinations['jobs'].order.when"],
	[{ deliver: jobs, retry: 0 }, "destinations['jobs'].retry"],
	[{ deliver: jobs, retry: { factor: 0 } }, "destinations['jobs'].retry.factor"],
	[{ deliver: jobs, circuitBreaker: 0 }, "destinations['jobs'].circuitBreaker"],
	[{ deliver: jobs, circuitBreaker: { windowSize: 0 } }, "destinations['jobs'].circuitBreaker.windowSize"],
])('a relay rejects the destination %j', (given, optionPath) => {
	expect(make({ destinations: { jobs: given } })).toThrow(expect.objectContaining({ optionPath }))
})

test('a relay rejects an invalid outbox', () => {
	expect(() => new Relay({} as Outbox, { destinations: { jobs } })).toThrow(
		expect.objectContaining({ argument: 'outbox' }),
	)
})

test('a relay accepts resetTimeoutMs above the default maximum', () => {
	// Regression: the default maximum of five minutes rejected it.
	expect(make({ circuitBreaker: { resetTimeoutMs: 600_000 } })).not.toThrow()
	expect(make({ circuitBreaker: { failureThreshold: undefined, resetTimeoutMs: undefined } })).not.toThrow()
})

type Schema<T> = StandardSchema<T, T>

test('handler types are inferred from the topics', () => {
	const schema = <T>(): Schema<T> => ({
		'~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as T }) },
	})
	const typed = new Outbox({
		store: sqliteOutboxStore(':memory:'),
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
