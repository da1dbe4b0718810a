/** The alert rules, evaluated by Prometheus' own `promtool`. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { alertRules } from '../../../src/cli/gen/alert-rules.ts'
import { DEFAULT_SETTINGS } from '../../../src/cli/gen/alert-settings.ts'
import { ruleFile, toYaml } from '../../../src/cli/gen/alerts-file.ts'
import { HAS_PROMETHEUS, PROMTOOL } from '../../support/real-prometheus.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { ALERT_CASES, type AlertCase } from './alert-cases.ts'

/** With burn-rate alerts, which no rule file has without `--slo`. */
const SETTINGS = { ...DEFAULT_SETTINGS, slo: 0.999 }
const severityOf = new Map(alertRules(SETTINGS).map(({ alert, severity }) => [alert, severity]))

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
async function runUnitTests(tests: readonly object[], evaluatedEvery = 1): Promise<string> {
	const folder = temporaryFolder()
	writeFileSync(join(folder, 'rules.yml'), toYaml(ruleFile('https://wiki.internal/runbook', SETTINGS)))
	writeFileSync(
		join(folder, 'tests.yml'),
		JSON.stringify({ rule_files: ['rules.yml'], evaluation_interval: `${evaluatedEvery}m`, tests }),
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
		expect(await runUnitTests([toUnitTest(one)], one.evaluatedEvery)).toBe('')
	})

	test('texts name the service, the destination and the value, rounded', async () => {
		const failures = await runUnitTests([
			{
				interval: '1m',
				input_series: Object.entries(TEXT_SERIES).map(([series, values]) => ({
					series: series.replace('{', '{job="shop", '),
					values,
				})),
				alert_rule_test: TEXTS.map(([alert, labels, summary, description]) => ({
					alertname: alert,
					eval_time: '30m',
					exp_alerts: [
						{
							exp_labels: { job: 'shop', severity: severityOf.get(alert), ...labels },
							exp_annotations: {
								summary,
								description,
								runbook_url: `https://wiki.internal/runbook#${alert.toLowerCase()}`,
							},
						},
					],
				})),
			},
		])
		expect(failures).toBe('')
	})
})

const TEXT_SERIES = {
	'yaoki_calls_total{service="pay", outcome="success"}': '0+100x60',
	'yaoki_calls_total{service="pay", outcome="failure"}': '0+17x60',
	'yaoki_retried_calls_total{service="pay", result="success"}': '0+20x60',
	'yaoki_retried_calls_total{service="pay", result="failure"}': '0+31x60',
	'yaoki_retries_total{service="pay"}': '0+73x60',
	'yaoki_circuit_breaker_transitions_total{service="pay", from="half-open", to="open"}': '_x19 7x60',
	'yaoki_outbox_circuit_state{service="outbox", destination="billing"}': '1x60',
	'yaoki_relay_dead_letters_total{service="relay", destination="billing", cause="permanent"}':
		'7x20 8 8 9 9x60',
	'yaoki_outbox_oldest_age_seconds{service="outbox", destination="billing"}': '7261.234x60',
	'yaoki_outbox_due_messages{service="outbox", destination="billing"}': '1234567x60',
}

const billing = { service: 'outbox', destination: 'billing' }
const TEXTS: readonly (readonly [string, object, string, string])[] = [
	[
		...(['YaokiErrorRateHigh', { service: 'pay' }, 'Many calls to pay fail'] as const),
		'14.53% of the calls to pay (shop) in the last 10 minutes failed or were rejected.',
	],
	[
		...(['YaokiSloBurn1h', { service: 'pay' }, 'Calls to pay fail too often for an SLO of 99.9 %'] as const),
		'14.53% of the calls to pay (shop) within 1 hour failed or were rejected. The error budget is spent more than 14.4 times too fast.',
	],
	[
		...(['YaokiRetryRateHigh', { service: 'pay' }, 'Many calls to pay are retried'] as const),
		'43.59% of the calls to pay (shop) in the last 10 minutes needed a retry.',
	],
	[
		...(['YaokiRetriesFail', { service: 'pay' }, 'Retries of calls to pay fail'] as const),
		'Only 39.22% of the retried calls to pay (shop) in the last 10 minutes succeeded.',
	],
	[
		...(['YaokiRetriesPerCallHigh', { service: 'pay' }, 'Calls to pay need many retries'] as const),
		'A call to pay (shop) needed 0.6 retries on average in the last 10 minutes.',
	],
	[
		...(['YaokiCircuitOpen', billing, 'The circuit of outbox, destination billing does not close'] as const),
		'The circuit of outbox, destination billing (shop) has been open or half-open for 5 minutes. Calls are rejected, messages wait.',
	],
	[
		...(['YaokiCircuitReopens', { service: 'pay' }] as const),
		'The circuit of pay falls back from half-open to open',
		'Probes of pay (shop) failed 7 times in the last 15 minutes.',
	],
	[
		...(['YaokiDeadLetters', { service: 'relay', destination: 'billing', cause: 'permanent' }] as const),
		'Messages to billing became dead letters',
		'New dead letters of billing (shop) in the last 15 minutes: 2, cause: permanent. They are not sent until they are replayed.',
	],
	[
		...(['YaokiOutboxAge', billing, 'A message to billing is not delivered'] as const),
		'The oldest message to billing (shop) has not been sent for 2h 1m 1s, retries included.',
	],
	[
		...(['YaokiNoRelay', { service: 'outbox' }, 'No relay sends the messages of outbox'] as const),
		'No relay is alive, and messages of outbox (shop) are due: 1234567.',
	],
]
