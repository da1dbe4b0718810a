/** The alert rules, evaluated by Prometheus' own `promtool`. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { alertRules } from '../../../src/cli/gen/alert-rules.ts'
import { ruleFile, toYaml } from '../../../src/cli/gen/alerts-file.ts'
import { HAS_PROMETHEUS, PROMTOOL } from '../../real-prometheus.ts'
import { temporaryFolder } from '../../temporary-file.ts'
import { ALERT_CASES, type AlertCase } from './alert-cases.ts'

const severityOf = new Map(alertRules().map(({ alert, severity }) => [alert, severity]))

/** `YaokiNoRelay{service="outbox"}` as a firing sample of Prometheus. */
function firingSample(fired: string, job: string) {
	const [, alert = '', labels = ''] = /^(\w+)\{(.*)\}$/.exec(fired) ?? []
	const severity = severityOf.get(alert)
	return {
		labels: `ALERTS{alertname="${alert}", alertstate="firing", job="${job}", severity="${severity}", ${labels}}`,
		value: 1,
	}
}

/** Every case runs in two jobs, which must not be mixed up. */
const JOBS = ['shop', 'mail']

const toUnitTest = ({ name, series, firing }: AlertCase) => ({
	name,
	interval: '1m',
	input_series: JOBS.flatMap((job) =>
		Object.entries(series).map(([one, values]) => ({ series: one.replace('{', `{job="${job}", `), values })),
	),
	promql_expr_test: Object.entries(firing).map(([minutes, fired]) => ({
		expr: 'ALERTS{alertstate="firing"}',
		eval_time: `${minutes}m`,
		exp_samples: JOBS.flatMap((job) => fired.map((one) => firingSample(one, job))),
	})),
})

/** Runs promtool. JSON is valid YAML. Returns what it prints for failed tests. */
async function runUnitTests(tests: readonly object[]): Promise<string> {
	const folder = temporaryFolder()
	writeFileSync(join(folder, 'rules.yml'), toYaml(ruleFile('https://wiki.internal/runbook')))
	writeFileSync(
		join(folder, 'tests.yml'),
		JSON.stringify({ rule_files: ['rules.yml'], evaluation_interval: '1m', tests }),
	)
	const result = promisify(execFile)(PROMTOOL, ['test', 'rules', join(folder, 'tests.yml')])
	return result.then(
		() => '',
		(error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
	)
}

test('every alert fires in a case and is silent in another', () => {
	const fired = new Set(
		ALERT_CASES.flatMap(({ firing }) => Object.values(firing).flat()).map((one) => one.split('{')[0]),
	)
	expect([...fired].sort()).toEqual([...severityOf.keys()].sort())
})

describe.skipIf(!HAS_PROMETHEUS)('promtool test rules', () => {
	test.each(ALERT_CASES.map((one) => [one.name, one] as const))('%s', async (_, one) => {
		expect(await runUnitTests([toUnitTest(one)])).toBe('')
	})

	test('texts name the service, the destination and the value', async () => {
		const text = (alert: string, labels: object, annotations: object) => ({
			alertname: alert,
			eval_time: '30m',
			exp_alerts: [
				{
					exp_labels: { job: 'shop', severity: severityOf.get(alert), ...labels },
					exp_annotations: {
						...annotations,
						runbook_url: `https://wiki.internal/runbook#${alert.toLowerCase()}`,
					},
				},
			],
		})
		const failures = await runUnitTests([
			{
				interval: '1m',
				input_series: [
					{ series: 'yaoki_calls_total{job="shop", service="pay", outcome="success"}', values: '0+100x60' },
					{
						series: 'yaoki_retried_calls_total{job="shop", service="pay", result="success"}',
						values: '0+20x60',
					},
					{
						series: 'yaoki_outbox_circuit_state{job="shop", service="outbox", destination="billing"}',
						values: '1x60',
					},
				],
				alert_rule_test: [
					text(
						'YaokiRetryRateHigh',
						{ service: 'pay' },
						{
							summary: 'Many calls to pay are retried',
							description: '20% of the calls to pay (shop) in the last 10 minutes needed a retry.',
						},
					),
					text(
						'YaokiCircuitOpen',
						{ service: 'outbox', destination: 'billing' },
						{
							summary: 'The circuit of outbox, destination billing does not close',
							description:
								'The circuit of outbox, destination billing (shop) has been open or half-open for 5 minutes. Calls are rejected, messages wait.',
						},
					),
				],
			},
		])
		expect(failures).toBe('')
	})
})
