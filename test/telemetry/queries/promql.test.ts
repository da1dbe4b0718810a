import { expect, test } from 'vitest'
import {
	eventsInStep,
	gauge,
	growth,
	increase,
	named,
	quantile,
	rate,
	ratio,
} from '../../../src/telemetry/queries/promql.ts'

const scope = { where: { job: '$job', service: '$service' }, window: '5m' }
const everywhere = { where: {}, window: '5m' }

test('keeps job, service and the labels that are asked for', () => {
	expect(rate({ metric: 'yaoki_calls_total', by: ['outcome'] }, everywhere)).toBe(
		'sum by (job, service, outcome) (rate(yaoki_calls_total[5m]))',
	)
	expect(gauge({ metric: 'yaoki_outbox_max_attempts', by: ['destination'] }, everywhere)).toBe(
		'max by (job, service, destination) (yaoki_outbox_max_attempts)',
	)
})

test('selects jobs and services, and no service for a metric without that label', () => {
	expect(rate({ metric: 'yaoki_calls_total', where: { outcome: 'success' } }, scope)).toContain(
		'yaoki_calls_total{job=~"$job", service=~"$service", outcome="success"}[5m]',
	)
	expect(rate({ metric: 'yaoki_telemetry_overflows_total' }, scope)).toBe(
		'sum by (job) (rate(yaoki_telemetry_overflows_total{job=~"$job"}[5m]))',
	)
	expect(
		rate({ metric: 'yaoki_idempotency_requests_total', where: { result: 'conflict|mismatch' } }, everywhere),
	).toContain('result=~"conflict|mismatch"')
})

test('leaves out a value of a label', () => {
	const metric = 'yaoki_outbox_oldest_age_seconds'
	const whereNot = { destination: 'webhook:*' }
	expect(gauge({ metric, whereNot }, scope)).toContain(
		`${metric}{job=~"$job", service=~"$service", destination!="webhook:*"}`,
	)
	expect(() => gauge({ metric, whereNot: { reason: 'gone' } }, scope)).toThrow('has no label reason')
})

test('combines the gauges of several processes as the catalog says', () => {
	const combined = (metric: string) => gauge({ metric }, everywhere)
	expect(combined('yaoki_bulkhead_queued_calls')).toMatch(/^sum by/)
	expect(combined('yaoki_outbox_relays')).toMatch(/^max by/)
	expect(combined('yaoki_retry_budget_available_retries')).toMatch(/^min by/)
	expect(combined('circuit_breaker_state')).toBe(
		'(min by (job, service) (circuit_breaker_state > 0) or max by (job, service) (circuit_breaker_state))',
	)
})

test('reads the buckets of a histogram', () => {
	expect(quantile(0.99, { metric: 'yaoki_call_duration_seconds' }, everywhere)).toBe(
		'histogram_quantile(0.99, sum by (le, job, service) (rate(yaoki_call_duration_seconds_bucket[5m])))',
	)
})

test('counts a new series from zero, also if it was reset or has ended', () => {
	const recent = 'yaoki_retries_total[5m]'
	expect(increase({ metric: 'yaoki_retries_total' }, everywhere)).toBe(
		`sum by (job, service) (((max_over_time(${recent}) unless resets(${recent}) > 0 or increase(${recent}) + min_over_time(${recent})) unless last_over_time(yaoki_retries_total[1h] offset 5m)) or increase(${recent}))`,
	)
})

test('counts the events of a step from the last value before it', () => {
	const last = 'last_over_time(yaoki_retries_total[5m])'
	const before = `(last_over_time(yaoki_retries_total[1h] offset 5m) or 0 * ${last})`
	const query = eventsInStep({ metric: 'yaoki_retries_total' }, everywhere)
	expect(query).toContain(`sum by (job, service) ((${last} - ${before} >= 0 unless`)
	expect(query).not.toMatch(/increase|rate/)
})

test('compares a gauge of a store with the time before the window', () => {
	const now = 'max by (job, service, destination) (yaoki_outbox_dead_letters)'
	const by = { metric: 'yaoki_outbox_dead_letters', by: ['destination'] }
	expect(growth(by, { metric: 'yaoki_outbox_relays' }, everywhere)).toBe(
		`${now} - (max by (job, service, destination) (last_over_time(yaoki_outbox_dead_letters[1h] offset 5m)) or 0 * ${now} and on (job, service) max by (job, service) (last_over_time(yaoki_outbox_relays[1h] offset 5m)))`,
	)
})

test('divides by nothing that is 0, and names the parts of a union', () => {
	expect(ratio('a', 'b')).toBe('a\n/ (b > 0)')
	expect(named({ one: 'a', two: 'b' })).toBe(
		'label_replace(a, "kind", "one", "", "")\nor label_replace(b, "kind", "two", "", "")',
	)
})

test.each([
	['a name that is not in the catalog', () => rate({ metric: 'yaoki_call_total' }, scope)],
	[
		'a label that the metric does not have',
		() => rate({ metric: 'yaoki_calls_total', by: ['reason'] }, scope),
	],
	['the same in a matcher', () => rate({ metric: 'yaoki_calls_total', where: { reason: 'x' } }, scope)],
	['the rate of a gauge', () => rate({ metric: 'circuit_breaker_state' }, scope)],
	['the value of a counter', () => gauge({ metric: 'yaoki_calls_total' }, scope)],
	['a quantile of a counter', () => quantile(0.5, { metric: 'yaoki_calls_total' }, scope)],
])('throws for %s', (_, write) => {
	expect(write).toThrow(/^(yaoki|circuit)_/)
})
