import { expect, test } from 'vitest'
import { circuitBreaker } from 'yaoki'
import { inMemoryMetrics } from '../../../src/telemetry/in-memory/in-memory.ts'
import { createCallEnd } from '../call-end.ts'
import { eventOf, sourceOf } from '../source.ts'

test('a snapshot has no NaN before the first call', () => {
	expect(inMemoryMetrics().snapshot()).toEqual({
		total: {
			calls: 0,
			retriedCalls: 0,
			retries: 0,
			retryRate: 0,
			retrySuccessRate: null,
			meanRetriesPerCall: 0,
			circuits: { opened: 0, reopened: 0, state: null },
			deadLetters: { total: 0, byCause: {} },
		},
		services: {},
	})
})

test('answers how many calls are retried, how many of these succeed, and how many retries a call needs', () => {
	const metrics = inMemoryMetrics()
	const { onCallEnd } = metrics.attach(sourceOf({ serviceOf: ({ key = '' }) => key }))
	for (let call = 0; call < 6; call++) onCallEnd?.(createCallEnd({ key: 'a' }))
	onCallEnd?.(createCallEnd({ key: 'a', attempts: 3, retries: 2 }))
	onCallEnd?.(createCallEnd({ key: 'a', attempts: 4, retries: 3, outcome: 'failure' }))
	onCallEnd?.(createCallEnd({ key: 'b', attempts: 2, retries: 1 }))
	onCallEnd?.(createCallEnd({ key: 'b', attempts: 0, outcome: 'rejected' }))
	const { total, services } = metrics.snapshot()
	expect(services['a']).toMatchObject({
		calls: 8,
		retriedCalls: 2,
		retries: 5,
		retryRate: 0.25,
		retrySuccessRate: 0.5,
		meanRetriesPerCall: 0.625,
	})
	expect(services['b']).toMatchObject({ calls: 2, retryRate: 0.5, retrySuccessRate: 1 })
	expect(total).toMatchObject({
		calls: 10,
		retriedCalls: 3,
		retries: 6,
		retryRate: 0.3,
		retrySuccessRate: 2 / 3,
	})
})

test('answers which circuits open and fall back from half-open to open', () => {
	const metrics = inMemoryMetrics()
	const breaker = circuitBreaker()
	const { onEvent } = metrics.attach(sourceOf({ members: () => [['', breaker]] }))
	expect(metrics.snapshot().services['payments']?.circuits).toEqual({
		opened: 0,
		reopened: 0,
		state: 'closed',
	})
	const change = (from: string, to: string) => onEvent?.(eventOf('state_change', { from, to }))
	change('closed', 'open')
	change('open', 'half-open')
	change('half-open', 'open')
	change('open', 'half-open')
	change('half-open', 'closed')
	breaker.isolate()
	const relay = metrics.attach(sourceOf({ kind: 'relay', name: 'mail' }))
	relay.onEvent?.(eventOf('relay_state_change', { destination: 'smtp', from: 'closed', to: 'open' }))
	const { total, services } = metrics.snapshot()
	expect(services['payments']?.circuits).toEqual({ opened: 2, reopened: 1, state: 'isolated' })
	expect(services['mail']?.circuits).toEqual({ opened: 1, reopened: 0, state: null })
	expect(total.circuits).toEqual({ opened: 3, reopened: 1, state: 'isolated' })
})

test('answers what ends up as a dead letter', () => {
	const metrics = inMemoryMetrics()
	const { onEvent } = metrics.attach(sourceOf({ kind: 'relay', name: 'mail' }))
	for (const [destination, cause] of [
		['smtp', 'permanent'],
		['smtp', 'permanent'],
		['sms', 'permanent'],
		['sms', 'retries-exhausted'],
	])
		onEvent?.(eventOf('relay_dead_letter', { destination, cause }))
	expect(metrics.snapshot().services['mail']?.deadLetters).toEqual({
		total: 4,
		byCause: { permanent: 3, 'retries-exhausted': 1 },
	})
})

test('a snapshot survives services with the names of object properties', () => {
	const metrics = inMemoryMetrics()
	const { onCallEnd } = metrics.attach(sourceOf({ serviceOf: ({ key = '' }) => key }))
	for (const key of ['__proto__', 'constructor']) onCallEnd?.(createCallEnd({ key }))
	expect(Object.keys(metrics.snapshot().services)).toEqual(['__proto__', 'constructor'])
})

test('inMemoryMetrics rejects invalid and unknown options', () => {
	expect(() => inMemoryMetrics({ maxSeries: 1.5 })).toThrow('maxSeries')
	expect(() => inMemoryMetrics({ maxserie: 1 } as never)).toThrow('Did you mean "maxSeries"?')
})
