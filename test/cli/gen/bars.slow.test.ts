/** The bars of the dashboard, evaluated by Prometheus' own `promtool`: each event is in exactly one bar. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { grafanaDashboard } from '../../../src/cli/gen/grafana-dashboard.ts'
import { HAS_PROMETHEUS, PROMTOOL } from '../../support/real-prometheus.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'

const SCRAPE_SECONDS = 15

const bars = grafanaDashboard().panels.flatMap((panel) =>
	'targets' in panel && 'custom' in panel.fieldConfig.defaults && isBars(panel.fieldConfig.defaults.custom)
		? [panel]
		: [],
)

function isBars(custom: object): boolean {
	return 'drawStyle' in custom && custom.drawStyle === 'bars'
}

/** Replaces the variables of Grafana. `$__rate_interval` is what Grafana computes from the step and the scrape interval. */
const substituted = (query: string, step: number): string =>
	query
		.replaceAll('$__interval', `${step}s`)
		.replaceAll('$__rate_interval', `${Math.max(step + SCRAPE_SECONDS, 4 * SCRAPE_SECONDS)}s`)
		.replaceAll('"$job"', '".*"')
		.replaceAll('"$service"', '".*"')

interface BarCase {
	readonly name: string
	/** Values of the scrapes, by instance. */
	readonly series: Readonly<Record<string, string>>
	readonly events: number
}

const CASES: readonly BarCase[] = [
	{ name: 'a counter that starts at 1', series: { a: '_x19 1x60' }, events: 1 },
	{
		name: 'a counter that starts at 1 and ends after two scrapes',
		series: { a: '_x20 1 1 stale' },
		events: 1,
	},
	{ name: 'one event of a counter that exists before', series: { a: '5x21 6x60' }, events: 1 },
	{ name: 'single events far from each other', series: { a: '_x15 1x10 2x11 3x12 4x30' }, events: 4 },
	{ name: 'an event at each scrape', series: { a: '0x12 1+1x59' }, events: 60 },
	{ name: 'many events in one scrape', series: { a: '0x32 500x48' }, events: 500 },
	{ name: 'several processes', series: { a: '_x17 1x60', b: '3x42 4x38', c: '_x40 2 5x35' }, events: 7 },
	{ name: 'failed scrapes', series: { a: '2x22 _x6 4x20 _x9 5x20' }, events: 3 },
	{ name: 'a restart between two events', series: { a: '7x23 8x11 0x4 1x40' }, events: 2 },
	{ name: 'a restart whose first scrape shows an event', series: { a: '7x23 8x11 1x40' }, events: 2 },
	{ name: 'no event', series: { a: '9x80', b: '_x20 0x60' }, events: 0 },
]

/** In seconds: below, equal to and above the scrape interval, also such that do not divide the time. */
const STEPS = [10, 15, 30, 40, 60, 130]

/** The sum over all bars of 22 minutes, at the times at which Grafana asks for them: multiples of the step. All events are in that time. */
const sumOfBars = (query: string, step: number): string =>
	`sum(sum_over_time((${substituted(query, step)})[22m:${step}s])) or vector(0)`

const LABELS: Readonly<Record<string, string>> = {
	yaoki_circuit_breaker_transitions_total: 'from="half-open", to="open"',
	yaoki_relay_transitions_total: 'destination="billing", from="half-open", to="open"',
	yaoki_relay_dead_letters_total: 'destination="billing", cause="permanent"',
}

const toUnitTest = ({ name, series, events }: BarCase) => ({
	name,
	interval: `${SCRAPE_SECONDS}s`,
	input_series: Object.entries(LABELS).flatMap(([metric, labels]) =>
		Object.entries(series).map(([instance, values]) => ({
			series: `${metric}{job="shop", service="pay", instance="${instance}", ${labels}}`,
			values,
		})),
	),
	promql_expr_test: bars
		.flatMap(({ targets }) => targets)
		.flatMap(({ expr }) =>
			STEPS.map((step) => ({
				expr: sumOfBars(expr, step),
				eval_time: '25m',
				exp_samples: [{ labels: '{}', value: events }],
			})),
		),
})

test('the dashboard has bars for circuits and dead letters', () => {
	expect(bars.map(({ targets }) => targets.length)).toEqual([4, 1])
})

describe.skipIf(!HAS_PROMETHEUS)('the sum of the bars is the number of events', () => {
	test.each(CASES.map((one) => [one.name, one] as const))('%s', async (_, one) => {
		const file = join(temporaryFolder(), 'tests.yml')
		// JSON is valid YAML.
		writeFileSync(
			file,
			JSON.stringify({ rule_files: [], evaluation_interval: '1m', tests: [toUnitTest(one)] }),
		)
		const result = promisify(execFile)(PROMTOOL, ['test', 'rules', file])
		const failures = await result.then(
			() => '',
			(error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
		)
		expect(failures).toBe('')
	})
})
