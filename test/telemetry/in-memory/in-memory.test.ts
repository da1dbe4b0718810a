import { describe, expect, test, vi } from 'vitest'
import { inMemoryMetrics } from 'yaoki/telemetry'
import { createCallEnd } from '../call-end.ts'
import { parseExposition } from '../parse-exposition.ts'
import { eventOf, sourceOf } from '../source.ts'

describe('inMemoryMetrics', () => {
	test('returns the same counts as text and as a snapshot', async () => {
		const metrics = inMemoryMetrics()
		const { onCallEnd } = metrics.attach(sourceOf())
		onCallEnd?.(createCallEnd({ attempts: 3, retries: 2 }))
		onCallEnd?.(createCallEnd({ outcome: 'failure' }))
		const { samples } = parseExposition(await metrics.toPrometheus())
		const sumOf = (name: string) =>
			samples.filter((one) => one.name === name).reduce((sum, { value }) => sum + value, 0)
		const { total } = metrics.snapshot()
		expect([total.calls, total.retries]).toEqual([2, 2])
		expect([sumOf('yaoki_calls_total'), sumOf('yaoki_retries_total')]).toEqual([total.calls, total.retries])
	})

	test('sums the counts of several sources with the same service', () => {
		const metrics = inMemoryMetrics()
		for (const name of ['payments', 'payments', 'mail'])
			metrics.attach(sourceOf({ name })).onCallEnd?.(createCallEnd())
		const { services } = metrics.snapshot()
		expect(Object.entries(services).map(([name, { calls }]) => [name, calls])).toEqual([
			['payments', 2],
			['mail', 1],
		])
	})

	test('adds services beyond maxSeries to the service other, and keeps the total', () => {
		// Each service has two series of calls: success and failure.
		const metrics = inMemoryMetrics({ maxSeries: 4 })
		for (const name of ['a', 'b', 'c', 'd']) metrics.attach(sourceOf({ name })).onCallEnd?.(createCallEnd())
		const { services, total } = metrics.snapshot()
		expect(Object.keys(services)).toEqual(['a', 'b', 'other'])
		expect([services['other']?.calls, total.calls]).toEqual([2, 4])
	})

	test('shows the circuits of services beyond maxSeries as one, in the worst state', () => {
		const metrics = inMemoryMetrics({ maxSeries: 1 })
		const breaker = (state: string) => {
			const policy = { name: state, stats: { state }, leaves: () => [policy] }
			return policy as never
		}
		for (const [name, state] of [
			['a', 'closed'],
			['b', 'half-open'],
			['c', 'open'],
		] as const)
			metrics.attach(sourceOf({ name, members: () => [['', breaker(state)]] }))
		const { services, total } = metrics.snapshot()
		expect(Object.entries(services).map(([name, { circuits }]) => [name, circuits.state])).toEqual([
			['a', 'closed'],
			['other', 'open'],
		])
		expect(total.circuits.state).toBe('open')
	})

	test('returns the other metrics if a source cannot be read', async () => {
		vi.spyOn(console, 'warn').mockImplementation(() => {})
		const metrics = inMemoryMetrics()
		metrics.attach(sourceOf({ name: 'bad', kind: 'outbox', stats: () => Promise.reject(new Error('down')) }))
		metrics.attach(sourceOf()).onEvent?.(eventOf('timeout'))
		const { samples } = parseExposition(await metrics.toPrometheus())
		expect(samples).toContainEqual(expect.objectContaining({ name: 'yaoki_timeouts_total', value: 1 }))
	})
})
