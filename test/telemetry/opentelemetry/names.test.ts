/** The name table: every metric and label of the catalog has one name in OpenTelemetry, which Prometheus translates back. */
import { expect, test } from 'vitest'
import { grafanaDashboard } from '../../../src/cli/gen/grafana-dashboard.ts'
import { METRICS } from '../../../src/telemetry/metrics/catalog.ts'
import { OTEL_ATTRIBUTES, OTEL_NAMES } from '../../../src/telemetry/metrics/otel-names.ts'
import { toOtelLegend, toOtelQuery, toOtelText } from '../../../src/telemetry/queries/otel-labels.ts'
import { toPrometheusName } from './to-prometheus.ts'

test('OTEL_NAMES has every metric of the catalog, and Prometheus translates its name back', () => {
	expect(Object.keys(OTEL_NAMES).sort()).toEqual(Object.keys(METRICS).sort())
	for (const [metric, { type }] of Object.entries(METRICS)) {
		const [name = '', unit = ''] = OTEL_NAMES[metric] ?? []
		expect(toPrometheusName(name, unit, type), name).toBe(metric)
	}
})

test('translates as the rules of OpenTelemetry for Prometheus say', () => {
	expect(toPrometheusName('http.server.request.duration', 's', 'histogram')).toBe(
		'http_server_request_duration_seconds',
	)
	expect(toPrometheusName('requests.total', '{request}', 'counter')).toBe('requests_total')
	expect(toPrometheusName('share', '1', 'gauge')).toBe('share_ratio')
	expect(toPrometheusName('sent', '{message}/s', 'gauge')).toBe('sent_per_second')
})

test('OTEL_ATTRIBUTES has an attribute of its own for every label', () => {
	const labels = new Set(Object.values(METRICS).flatMap((metric) => metric.labels))
	expect(Object.keys(OTEL_ATTRIBUTES).sort()).toEqual([...labels].sort())
	expect(new Set(Object.values(OTEL_ATTRIBUTES)).size).toBe(labels.size)
})

test('rewrites labels, but no values, variables and names of metrics', () => {
	expect(
		toOtelQuery(
			'sum by (job, service) (rate(yaoki_calls_total{service=~"$service", outcome="to \\" from"}[5m]))',
		),
	).toBe(
		'sum by (job, yaoki_service) (rate(yaoki_calls_total{yaoki_service=~"$service", yaoki_outcome="to \\" from"}[5m]))',
	)
	expect(toOtelLegend('{{job}} {{destination}} p99')).toBe(
		'{{job}} {{messaging_destination_subscription_name}} p99',
	)
	expect(toOtelText('{{ $labels.service }} of {{ with $labels.cause }}{{ . }}{{ end }}')).toBe(
		'{{ $labels.yaoki_service }} of {{ with $labels.yaoki_cause }}{{ . }}{{ end }}',
	)
})

test('no query of the dashboard has a label of the catalog left', () => {
	const queries = grafanaDashboard('otel').panels.flatMap((panel) =>
		'targets' in panel ? panel.targets.map(({ expr }) => expr) : [],
	)
	for (const query of queries)
		expect(query.replaceAll(/"[^"]*"/g, '')).not.toMatch(
			/\b(?:service|destination|topic|outcome|result|reason|cause)\b/,
		)
})
