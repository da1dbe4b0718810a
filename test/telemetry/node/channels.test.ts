/** What is published to which channel of `node:diagnostics_channel`. */
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ObservedSource } from 'yaoki/telemetry'
import { diagnosticsChannels } from 'yaoki/telemetry/node'
import { attached, sourceOf } from '../source.ts'

function subscribed(name: string): unknown[] {
	const received: unknown[] = []
	const listener = (message: unknown) => received.push(message)
	subscribe(name, listener)
	onTestFinished(() => {
		unsubscribe(name, listener)
	})
	return received
}

const END = {
	type: 'call',
	emitter: 'payments',
	key: undefined,
	call: undefined,
	method: 'GET',
	outcome: 'failure',
	attempts: 2,
	retries: 1,
	durationMs: 30,
	queuedMs: 0,
	backoffMs: 10,
	error: new Error('down'),
	info: undefined,
} as const

describe('channels', () => {
	test('yaoki:call gets the end of every call, without internals', () => {
		const received = subscribed('yaoki:call')
		attached(diagnosticsChannels()).observer.onCallEnd?.(END)
		const { info, ...facts } = END
		expect(received).toEqual([{ service: 'payments', ...facts }])
		expect(received[0]).not.toHaveProperty('info')
	})

	test.each<[ObservedSource['kind'], string, string]>([
		['policy', 'retry_attempt', 'yaoki:call'],
		['http', 'rejected', 'yaoki:call'],
		['policy', 'state_change', 'yaoki:circuit'],
		['relay', 'relay_state_change', 'yaoki:circuit'],
		['relay', 'relay_dead_letter', 'yaoki:outbox'],
		['outbox', 'outbox_enqueued', 'yaoki:outbox'],
		['idempotency', 'idempotency_conflict', 'yaoki:idempotency'],
	])('%s: %s is published to %s only', (kind, type, name) => {
		const names = ['yaoki:call', 'yaoki:circuit', 'yaoki:outbox', 'yaoki:idempotency']
		const received = new Map(names.map((one) => [one, subscribed(one)]))
		attached(diagnosticsChannels(), sourceOf({ kind })).emit(type, { key: 'mail' })
		for (const [one, messages] of received)
			expect(messages, one).toEqual(
				one === name
					? [expect.objectContaining({ type, service: 'payments', emitter: 'retry', key: 'mail' })]
					: [],
			)
	})

	test('channels without subscribers get nothing, and the service is not computed', () => {
		const serviceOf = vi.fn(() => 'payments')
		const { emit, observer } = attached(diagnosticsChannels(), sourceOf({ serviceOf }))
		emit('retry_attempt')
		emit('state_change')
		observer.onCallEnd?.(END)
		expect(serviceOf).not.toHaveBeenCalled()
		expect(channel('yaoki:call').hasSubscribers).toBe(false)
	})

	test('get what subscribers ask for later', () => {
		const { emit } = attached(diagnosticsChannels())
		emit('retry_attempt')
		const received = subscribed('yaoki:call')
		emit('retry_failure')
		expect(received).toMatchObject([{ type: 'retry_failure' }])
	})
})
