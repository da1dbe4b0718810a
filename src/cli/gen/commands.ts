/** `gen grafana` and `gen alerts` print what operators import, made from the metric names of this version. */
import { type Command, defineCommand } from '../command.ts'
import type { CommandIo } from '../io.ts'
import { text } from '../option-tables.ts'
import { checkOutFile, writeWholeFile } from '../user-files.ts'
import { ALERT_OPTIONS, readAlertSettings, readRunbookUrl } from './alert-settings.ts'
import { ruleFile, toYaml } from './alerts-file.ts'
import { grafanaDashboard } from './grafana-dashboard.ts'

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
		['yaoki gen alerts --max-error-rate 2 --max-lag 15m', 'with other limits'],
		['yaoki gen alerts --runbook-url https://wiki.internal/yaoki', 'with links to your own runbook'],
	],
	options: {
		out: OUT,
		for: FOR,
		runbookUrl: text('URL', 'page that the alerts link to; without it they have no link'),
		...ALERT_OPTIONS,
	},
	run({ out, for: source, runbookUrl, ...args }, io) {
		const url = runbookUrl === undefined ? undefined : readRunbookUrl('--runbook-url', runbookUrl)
		const rules = ruleFile(url, readAlertSettings(args), source)
		return deliver(io, out, rules, toYaml(rules))
	},
})

async function deliver(
	io: CommandIo,
	out: string | undefined,
	data: unknown,
	content: string,
): Promise<'ok'> {
	if (out === undefined) {
		io.result(data, content)
		return 'ok'
	}
	await checkOutFile(out)
	await writeWholeFile(out, () => (io.json ? `${JSON.stringify(data, undefined, 2)}\n` : content))
	io.note(`wrote ${out}`)
	return 'ok'
}
