/** The tutorial about metrics: a real Prometheus scrapes the program, and an alert fires. Neither Docker nor Grafana is started. */
import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { grafanaDashboard } from '../../src/cli/gen/grafana-dashboard.ts'
import { end } from '../guard/guard.ts'
import { eventually } from '../support/eventually.ts'
import { HAS_PROMETHEUS, PROMTOOL, startPrometheus, withoutVariables } from '../support/real-prometheus.ts'
import { stablePort } from '../support/stable-port.ts'
import { temporaryFolder } from '../support/temporary-file.ts'
import { page, ROOT, table } from './markdown.ts'
import { Tutorial } from './tutorial.ts'

const promtool = async (...args: readonly string[]) => (await promisify(execFile)(PROMTOOL, args)).stdout

test.skipIf(!HAS_PROMETHEUS)('queries and panels have data, and an alert fires after an outage', async () => {
	const ports = { stock: await stablePort(), metrics: await stablePort() }
	const folder = temporaryFolder()
	const env = { STOCK_PORT: String(ports.stock), METRICS_PORT: String(ports.metrics) }
	const tutorial = new Tutorial('metrics', 'metrics-to-grafana', env, folder)
	const stock = tutorial.start('node stock.ts')
	await tutorial.shows(stock, 'The stock service listens.')
	const shop = tutorial.start('node shop.ts')
	await tutorial.shows(shop, 'The shop runs.')

	/** As curl and grep, when the metrics have the text. */
	const curl = async (pattern: RegExp, text: RegExp) => {
		const lines = await eventually(async () => {
			const response = await fetch(`http://127.0.0.1:${ports.metrics}/metrics`)
			const found = (await response.text()).split('\n').filter((line) => pattern.test(line))
			expect(found).toContainEqual(expect.stringMatching(text))
			return found
		})
		const command = `curl -s http://127.0.0.1:9464/metrics | grep -E '${pattern.source}'`
		tutorial.prints(command, `${lines.join('\n')}\n`)
	}
	// Nineteen calls have succeeded before the first retry, so all series exist.
	await curl(/^(yaoki_calls|yaoki_retries|circuit_breaker)_/, /^yaoki_retries_total.* [1-9]/)

	await tutorial.run('npx yaoki gen alerts --out yaoki-alerts.yml')
	await tutorial.run('npx yaoki gen grafana --out yaoki.json')
	expect(JSON.parse(readFileSync(join(folder, 'yaoki.json'), 'utf8'))).toHaveProperty('uid', 'yaoki')
	const config = join(folder, 'prometheus.yml')
	copyFileSync(join(ROOT, 'examples/metrics-to-grafana/prometheus.yml'), config)
	expect(await promtool('check', 'config', config)).toContain('SUCCESS: 1 rule files found')

	const rules = readFileSync(join(folder, 'yaoki-alerts.yml'), 'utf8').replaceAll('for: 1m', 'for: 1s')
	await using server = await startPrometheus({ shop: ports.metrics }, rules)
	const query = async (expression: string) => {
		// A failed scrape of a busy machine ends all series until the next one.
		const output = await eventually(async () => {
			const text = await promtool('query', 'instant', server.url, expression)
			expect(text).toMatch(/=> \d/)
			return text
		})
		tutorial.prints(`promtool query instant ${server.url} '${expression}'`, output)
	}
	await query('sum by (service, outcome) (yaoki_calls_total)')
	await query(
		'sum by (service) (increase(yaoki_retried_calls_total[10m])) / sum by (service) (increase(yaoki_calls_total[10m]))',
	)

	await end(stock.process)
	await curl(/^yaoki_circuit_breaker_transitions_total.*to="open"/, /"half-open",to="open"} [1-9]/)
	await query('ALERTS{alertstate="firing"}')

	const { panels } = grafanaDashboard()
	const { shop: time } = await server.scraped()
	for (const [title] of table(page('docs/guide/tutorial-metrics.md'), 'panel')) {
		const queries = panels.flatMap((panel) =>
			panel.title === title && 'targets' in panel ? panel.targets.map(({ expr }) => expr) : [],
		)
		expect(queries.length, title).toBeGreaterThan(0)
		for (const one of queries) {
			const samples = await server.query(withoutVariables(one, '10m'), time)
			expect(samples.filter(({ value }) => Number.isFinite(value)).length, title).toBeGreaterThan(0)
		}
	}
	await end(shop.process)
})
