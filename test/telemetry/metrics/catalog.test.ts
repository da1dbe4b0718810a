import { describe, expect, test } from 'vitest'
import { METRICS } from '../../../src/telemetry/metrics/catalog.ts'

const UNITS =
	/_(seconds|messages|calls|requests|retries|tokens|ratio|relays|attempts|letters|destinations|endpoints|policies)$/
/** Gauges that are not amounts: states and numbers of circuits. */
const WITHOUT_UNIT = /_(state|isolated|breakers|per_second)$/

describe.each(Object.entries(METRICS))('%s', (name, { type, labels, help, buckets, combination }) => {
	test('has a name in snake case with its unit', () => {
		expect(name).toMatch(/^(yaoki|http_client|circuit_breaker)(_[a-z]+)+$/)
		if (type === 'counter') expect(name).toMatch(/_total$/)
		else expect(name).not.toMatch(/_(total|count|sum|bucket|info)$/)
		if (type === 'histogram') expect(name).toMatch(/_seconds$/)
		if (type === 'gauge' && !WITHOUT_UNIT.test(name)) expect(name).toMatch(UNITS)
	})

	test('has labels with few values', () => {
		for (const label of labels) {
			expect(label).toMatch(/^[a-z]+(_[a-z]+)*$/)
			expect(label).not.toMatch(/url|path|id$|message|key|error|le$|quantile/)
		}
		expect(new Set(labels).size).toBe(labels.length)
		expect(labels.length).toBeLessThanOrEqual(4)
	})

	test('has a help text of full sentences', () => {
		expect(help).toMatch(/^[A-Z][^\n]*\.$/)
	})

	test('has what its type needs', () => {
		expect(buckets === undefined).toBe(type !== 'histogram')
		expect(combination === undefined).toBe(type !== 'gauge')
		expect([...(buckets ?? [])].sort((a, b) => a - b)).toEqual(buckets ?? [])
	})
})

test('the catalog has the metrics of other HTTP clients under their exact names', () => {
	expect(METRICS['http_client_retries_total']?.labels).toEqual(['service', 'status', 'method'])
	expect(METRICS['http_client_retry_duration_seconds']).toMatchObject({
		labels: ['service', 'result'],
		buckets: [0.1, 0.5, 1, 2, 5, 10, 30],
	})
	expect(METRICS['circuit_breaker_state']?.labels).toEqual(['service'])
})
