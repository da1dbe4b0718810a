import { describe, expect, test, vi } from 'vitest'
import { type GaugeReading, GaugeValues } from '../../../src/telemetry/collect/gauge-values.ts'

function setup(readings: readonly GaugeReading[], maxSeries = 10) {
	const onOverflow = vi.fn<(name: string) => void>()
	const values = new GaugeValues(maxSeries, onOverflow)
	for (const reading of readings) values.add(reading)
	const series = (name: string) => [...values.series(name)].map(({ labels, value }) => [...labels, value])
	return { series, onOverflow }
}

describe('the values of one series', () => {
	test.each([
		['yaoki_bulkhead_max_concurrent_calls', [2, 3], 5],
		['yaoki_outbox_relays', [2, 3], 3],
		['yaoki_rate_limiter_available_tokens', [2, 3], 2],
	])('%s combines %j to %d, as the catalog says', (name, values, expected) => {
		const { series } = setup(values.map((value) => [name, ['a'], value] as const))
		expect(series(name)).toEqual([['a', expected]])
	})

	test.each([
		[[0, 2], 2],
		[[2, 0], 2],
		[[0, 1, 2], 1],
		[[2, 1, 0], 1],
		[[0, 0], 0],
	])('states %j show the worst, %d: open, then half-open, then closed', (states, worst) => {
		const { series } = setup(states.map((state) => ['circuit_breaker_state', ['a'], state] as const))
		expect(series('circuit_breaker_state')).toEqual([['a', worst]])
	})
})

test('series beyond maxSeries are combined in the series other, and each of their values is reported', () => {
	const name = 'yaoki_circuit_breakers'
	const { series, onOverflow } = setup(
		['a', 'b', 'c', 'a'].map((service) => [name, [service, 'open'], 1] as const),
		1,
	)
	expect(series(name)).toEqual([
		['a', 'open', 2],
		['other', 'open', 2],
	])
	expect(onOverflow.mock.calls).toEqual([[name], [name]])
})

test('a label value that is no text is converted, and a metric without values has no series', () => {
	const { series } = setup([['yaoki_outbox_relays', [undefined as never], 1]])
	expect(series('yaoki_outbox_relays')).toEqual([['undefined', 1]])
	expect(series('yaoki_outbox_due_messages')).toEqual([])
})
