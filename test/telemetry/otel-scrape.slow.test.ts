/**
 * The catalog through both exporters: a program with an outage is observed by Prometheus and by OpenTelemetry, and both have the same values. Then a real
 * Prometheus scrapes what the OpenTelemetry Collector would expose, and every query of the dashboard for it has data.
 */
import { createServer } from 'node:http'
import * as otel from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { DEFAULT_SETTINGS } from '../../src/cli/gen/alert-settings.ts'
import { ruleFile, toYaml } from '../../src/cli/gen/alerts-file.ts'
import { grafanaDashboard } from '../../src/cli/gen/grafana-dashboard.ts'
import { openTelemetry } from '../../src/telemetry/index.ts'
import { METRICS } from '../../src/telemetry/metrics/catalog.ts'
import { toOtelLabel } from '../../src/telemetry/queries/otel-labels.ts'
import { eventually } from '../support/eventually.ts'
import { listen } from '../support/listen.ts'
import { HAS_PROMETHEUS, startPrometheus } from '../support/real-prometheus.ts'
import { type Sdk, startSdk } from './opentelemetry/sdk.ts'
import { toSamples, toScrapedText } from './opentelemetry/to-prometheus.ts'
import { MAX_SERIES, runOutage, startShop } from './outage/shop.ts'

const JOB = 'shop'
const WINDOW = '10m'

let sdk: Sdk
beforeEach(() => {
	// The gauges of an outbox without tables cannot be read, which is reported.
	vi.spyOn(console, 'warn').mockImplementation(() => undefined)
	sdk = startSdk()
})
afterEach(() => sdk.stop())

const exporter = () => openTelemetry(otel, { maxSeries: MAX_SERIES, spans: false })

/** Values that depend on the moment of a read, or on the exporter. */
const CHANGING =
	/^yaoki_(?:telemetry_\w+|outbox_oldest_\w+|inbox_oldest_\w+|outbox_throughput\w*|rate_limiter_available_tokens|retry_budget_available_retries|throttle_reject_ratio|http_paused_seconds)/

type Values = Readonly<Record<string, number>>

/** Sums by metric and labels of the catalog: calls have more attributes in OpenTelemetry. */
function summed(
	samples: Iterable<readonly [name: string, labels: Readonly<Record<string, string>>, value: number]>,
): Values {
	const sums: Record<string, number> = {}
	for (const [name, labels, value] of samples) {
		const metric = name in METRICS ? name : name.replace(/_(?:bucket|sum|count)$/, '')
		const { labels: names } = METRICS[metric] ?? { labels: [] }
		const values = [...names, 'le'].map((label) => labels[label] ?? labels[toOtelLabel(label)] ?? '')
		const key = `${name} ${values.join(' ')}`
		sums[key] = (sums[key] ?? 0) + value
	}
	return sums
}

function* parsed(text: string) {
	for (const line of text.split('\n')) {
		const [, name = '', labels = '', value = ''] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? []
		if (name !== '')
			yield [
				name,
				Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, one]) => [label, one])),
				Number(value),
			] as const
	}
}

const isCatalog = (name: string): boolean =>
	name in METRICS || name.replace(/_(?:bucket|sum|count)$/, '') in METRICS

test('both exporters have the same series with the same values', async () => {
	await using shop = await startShop([exporter()])
	await shop.round()
	await shop.outage()
	await shop.round()
	await shop.stop()
	const samples = toSamples(await sdk.collect()).filter(({ name }) => isCatalog(name))
	const throughOtel = summed(samples.map(({ name, labels, value }) => [name, labels, value]))
	const throughPrometheus = summed(parsed(await shop.metrics.toPrometheus()))
	const stable = (values: Values) =>
		Object.fromEntries(Object.entries(values).filter(([key]) => !CHANGING.test(key)))
	const namesOf = (values: Values) => [...new Set(Object.keys(values).map((key) => key.split(' ')[0]))].sort()
	expect(namesOf(throughOtel)).toEqual(namesOf(throughPrometheus))
	const isSum = (key: string) => /^\w+_seconds_sum /.test(key)
	// Durations are added in different orders.
	for (const [key, value] of Object.entries(throughPrometheus))
		if (isSum(key)) expect(throughOtel[key], key).toBeCloseTo(value, 9)
	const counts = (values: Values) =>
		Object.fromEntries(Object.entries(stable(values)).filter(([key]) => !isSum(key)))
	expect(counts(throughOtel)).toEqual(counts(throughPrometheus))
	expect(Object.keys(stable(throughOtel)).length).toBeGreaterThan(100)
})

describe.skipIf(!HAS_PROMETHEUS)('a real Prometheus behind OpenTelemetry', () => {
	test('every query of the dashboard has data, and the rules are evaluated', async () => {
		await using shop = await startShop([exporter()])
		const collector = createServer(async (_, response) =>
			response.end(toScrapedText(toSamples(await sdk.collect()), JOB)),
		)
		const port = await listen(collector)
		try {
			const rules = ruleFile(undefined, { ...DEFAULT_SETTINGS, slo: 0.999 }, 'otel')
			await using server = await startPrometheus({ [JOB]: port }, toYaml(rules))
			const times = await runOutage(shop, () => server.scraped())
			const { panels, templating } = grafanaDashboard('otel')
			const queries = [
				...panels.flatMap((panel) => ('targets' in panel ? panel.targets.map(({ expr }) => expr) : [])),
				...templating.list.flatMap((one) =>
					'definition' in one
						? [one.definition.replace(/^label_values\((.*), (\w+)\)$/s, 'count by ($2) ($1)')]
						: [],
				),
			]
			const empty: string[] = []
			for (const query of queries) {
				const substituted = query
					.replaceAll(/\$__(?:rate_interval|interval|range)/g, WINDOW)
					.replaceAll('"$job"', `"${JOB}"`)
					.replaceAll('"$service"', '".*"')
				const samples = await server.query(substituted, times[JOB])
				if (!samples.some(({ value }) => Number.isFinite(value))) empty.push(query)
			}
			expect(empty).toEqual([])
			await eventually(async () => {
				const alerts = await server.alerts()
				expect(alerts.filter(({ health }) => health !== 'ok')).toEqual([])
				expect(alerts.find(({ name }) => name === 'YaokiDeadLetters')?.state).toMatch(/pending|firing/)
			})
		} finally {
			collector.closeAllConnections()
			collector.close()
		}
	})
})
