/** A real Prometheus scrapes a program with an outage. Its answers are compared with what the program counted. */
import { describe, expect, test, vi } from 'vitest'
import { ruleFile, toYaml } from '../../src/cli/gen/alerts-file.ts'
import { grafanaDashboard } from '../../src/cli/gen/grafana-dashboard.ts'
import {
	circuitsOpened,
	circuitsReopened,
	deadLetters,
	destinationsOpened,
	destinationsReopened,
	rescuedCalls,
	retriedCalls,
	retriesPerCall,
	type Share,
} from '../../src/telemetry/queries/five-questions.ts'
import { ratio, total } from '../../src/telemetry/queries/promql.ts'
import { eventually } from '../support/eventually.ts'
import { HAS_PROMETHEUS, startPrometheus, withoutVariables } from '../support/real-prometheus.ts'
import { runOutage, startShop } from './outage/shop.ts'

/** Longer than the run, so that nothing is left out. */
const WINDOW = '10m'

const toCount = (definition: string): string =>
	definition.replace(/^label_values\((.*), (\w+)\)$/s, 'count by ($2) ($1)')

describe.skipIf(!HAS_PROMETHEUS)('a real Prometheus', () => {
	test('answers the five questions, and every query of the dashboard has data', async () => {
		// The gauges of an outbox without tables cannot be read, which is reported.
		vi.spyOn(console, 'warn').mockImplementation(() => undefined)
		await using shop = await startShop()
		const { ports, counts } = shop
		await using server = await startPrometheus(
			{ shop: ports.shop, 'prom-client': ports.promClient },
			toYaml(ruleFile('https://wiki.internal/runbook')),
		)

		const times = await runOutage(shop, () => server.scraped())

		const { calls, retries, circuits, destinations } = counts
		const { total: answers } = shop.metrics.snapshot()
		expect(answers).toMatchObject({
			calls,
			retries,
			retriedCalls: counts.retriedCalls,
			deadLetters: { total: counts.deadLetters },
			circuits: {
				opened: circuits.opened + destinations.opened,
				reopened: circuits.reopened + destinations.reopened,
			},
		})
		for (const job of ['shop', 'prom-client']) {
			const scope = { where: { job }, window: WINDOW }
			const value = async (expression: string) =>
				(await server.query(total(expression), times[job]))[0]?.value
			const share = ({ part, whole }: Share) => value(ratio(total(part), total(whole)))
			expect(await share(retriedCalls(scope)), job).toBeCloseTo(counts.retriedCalls / calls, 9)
			expect(await share(rescuedCalls(scope)), job).toBeCloseTo(counts.rescuedCalls / counts.retriedCalls, 9)
			expect(await share(retriesPerCall(scope)), job).toBeCloseTo(retries / calls, 9)
			expect(await value(circuitsOpened(scope)), job).toBe(circuits.opened)
			expect(await value(circuitsReopened(scope)), job).toBe(circuits.reopened)
			expect(await value(destinationsOpened(scope)), job).toBe(destinations.opened)
			expect(await value(destinationsReopened(scope)), job).toBe(destinations.reopened)
			expect(await value(deadLetters(scope)), job).toBe(counts.deadLetters)
		}

		const { panels, templating } = grafanaDashboard()
		const queries = [
			...panels.flatMap((panel) => ('targets' in panel ? panel.targets.map(({ expr }) => expr) : [])),
			// The values of a variable: `label_values(selector, label)`.
			...templating.list.flatMap((one) => ('definition' in one ? [toCount(one.definition)] : [])),
		]
		const empty: string[] = []
		for (const query of queries) {
			const samples = await server.query(withoutVariables(query, WINDOW), times['shop'])
			if (!samples.some(({ value }) => Number.isFinite(value))) empty.push(query)
		}
		expect(empty).toEqual([])

		await eventually(async () => {
			const alerts = await server.alerts()
			expect(alerts.filter(({ health }) => health !== 'ok')).toEqual([])
			expect(alerts.find(({ name }) => name === 'YaokiDeadLetters')?.state).toMatch(/pending|firing/)
		})
	})
})
