/** The `gen` commands print what operators import, made from the metric names of this version. */
import { type Command, defineCommand } from '../command.ts'
import { usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { flag, text } from '../option-tables.ts'
import { rejectWithout } from '../parse-arguments.ts'
import { checkOutFile, writeWholeFile } from '../user-files.ts'
import { ALERT_OPTIONS, readAlertSettings, readRunbookUrl } from './alert-settings.ts'
import { ruleFile, toYaml } from './alerts-file.ts'
import { grafanaDashboard } from './grafana-dashboard.ts'
import {
	METADATA_OPTIONS,
	prometheusRule,
	prometheusRuleYaml,
	readDnsLabel,
	readInterval,
	readLabels,
	readMetadata,
	readPath,
	serviceMonitor as serviceMonitorOf,
	serviceMonitorYaml,
} from './kubernetes.ts'

const FOR = text('SOURCE', 'where the metrics come from: scraped by Prometheus, or from OpenTelemetry', {
	choices: ['prometheus', 'otel'],
	default: 'prometheus',
})
const OUT = text('FILE', 'file to write instead of printing')

export const grafana: Command = defineCommand({
	examples: [
		['yaoki gen grafana > yaoki.json', 'a dashboard to import into Grafana 10 or later'],
		['yaoki gen grafana --out ops/grafana/yaoki.json', 'write it to a file'],
		['yaoki gen grafana --for otel', 'for metrics that come from OpenTelemetry'],
	],
	options: { out: OUT, for: FOR },
	run({ out, for: source }, io) {
		const dashboard = grafanaDashboard(source)
		return deliver(io, out, dashboard, `${JSON.stringify(dashboard, undefined, 2)}\n`)
	},
})

export const alerts: Command = defineCommand({
	examples: [
		['yaoki gen alerts > yaoki-alerts.yml', 'alert rules for rule_files of Prometheus'],
		['yaoki gen alerts --slo 99.9', 'with burn-rate alerts for an objective of 99.9 %'],
		['yaoki gen alerts --max-error-percent 2 --max-lag 15m', 'with other limits'],
		['yaoki gen alerts --runbook-url https://wiki.internal/yaoki', 'with links to your own runbook'],
		[
			'yaoki gen alerts --kubernetes --label release=prometheus',
			'a PrometheusRule for the Prometheus Operator',
		],
	],
	options: {
		out: OUT,
		for: FOR,
		runbookUrl: text('URL', 'page that the alerts link to; without it they have no link'),
		...ALERT_OPTIONS,
		kubernetes: flag('print a PrometheusRule for the Prometheus Operator; the options below are for it'),
		...METADATA_OPTIONS,
	},
	run({ out, for: source, runbookUrl, kubernetes, name, namespace, label, ...args }, io) {
		const url = runbookUrl === undefined ? undefined : readRunbookUrl('--runbook-url', runbookUrl)
		const rules = ruleFile(url, readAlertSettings(args), source)
		if (kubernetes) {
			const resource = prometheusRule(readMetadata({ name, namespace, label }), rules)
			return deliver(io, out, resource, prometheusRuleYaml(resource))
		}
		// An empty text is an unset variable of a script.
		rejectWithout('--kubernetes', { name: name || undefined, namespace: namespace || undefined, label })
		return deliver(io, out, rules, toYaml(rules))
	},
})

export const serviceMonitor: Command = defineCommand({
	examples: [
		['yaoki gen service-monitor --selector app=shop', 'scrape the Services with the label app=shop'],
		[
			'yaoki gen service-monitor --selector app=shop --label release=prometheus | kubectl apply -f -',
			'with the label by which a Prometheus Operator selects it',
		],
		[
			'yaoki gen service-monitor --selector app=shop --port http --path /internal/metrics',
			'at another port and path',
		],
	],
	options: {
		selector: text('KEY=VALUE', 'label of the Services to scrape; required', { multiple: true }),
		port: text('NAME', 'name of the port in the Service', { default: 'metrics' }),
		path: text('PATH', 'path of the metrics', { default: '/metrics' }),
		interval: text('30s', 'time between two scrapes', { default: '30s' }),
		...METADATA_OPTIONS,
		out: OUT,
	},
	run({ out, selector, port, path, interval, ...metadata }, io) {
		if (selector.length === 0)
			throw usageError('--selector KEY=VALUE is required.', {
				hint: 'Name a label of your Service: --selector app=shop',
			})
		const resource = serviceMonitorOf(
			readMetadata(metadata),
			readLabels('--selector', selector, 'app=shop'),
			{
				port: readDnsLabel('--port', port, 'metrics'),
				path: readPath('--path', path),
				interval: readInterval('--interval', interval),
			},
		)
		return deliver(io, out, resource, serviceMonitorYaml(resource))
	},
})

async function deliver(
	io: CommandIo,
	out: string | undefined,
	data: unknown,
	content: string,
): Promise<undefined> {
	if (out === undefined) {
		io.result(data, content)
		return
	}
	await checkOutFile(out)
	await writeWholeFile(out, () => (io.json ? `${JSON.stringify(data, undefined, 2)}\n` : content))
	io.note(`wrote ${out}`)
}
