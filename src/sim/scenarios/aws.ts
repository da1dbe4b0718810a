/**
 * The published model that popularized jitter ("Exponential Backoff And Jitter", AWS Architecture Blog,
 * 2015): N clients update one row with optimistic concurrency, and a client that loses the race backs off. It
 * runs with the policies of this package, next to the figures of the published program.
 *
 * The published program numbers its first sleep 1, so its base of 5 ms is doubled before the first use: that
 * is a base of 10 here. Its decorrelated jitter starts from the base itself.
 */

import type { PublishedFigure, Reference, VariantStudy } from '../run/study.ts'
import type { LayerOptions } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'

const STRATEGIES: Readonly<Record<string, LayerOptions['retry']>> = {
	none: { baseDelayMs: 0, growth: 'constant', jitterStrategy: 'none' },
	exponential: { baseDelayMs: 10, jitterStrategy: 'none' },
	'equal jitter': { baseDelayMs: 10, jitterStrategy: 'equal' },
	'full jitter': { baseDelayMs: 10, jitterStrategy: 'full' },
	decorrelated: { baseDelayMs: 5, jitterStrategy: 'decorrelated-aws' },
}

const scenarioOf = (clients: number, retry: LayerOptions['retry']): Scenario => ({
	until: 'idle',
	services: { row: { kind: 'optimistic-lock', latencyMs: { kind: 'normal', meanMs: 10, sdMs: 2 } } },
	clients: {
		writers: { to: 'row', arrivals: { kind: 'closed', users: clients, callsEach: 1 }, policy: 'writer' },
	},
	policies: { writer: [{ retry: { maxDelayMs: 2_000, maxRetries: 100_000, ...retry } }] },
})

type Published = readonly [calls: number, callsSd: number, timeMs: number, timeSd: number]

/**
 * By strategy, in the order above: writes, and milliseconds until the last response, each with the standard
 * deviation between runs. The means for 20 clients are the published ones, of 500 runs; the others, and all
 * deviations, are of 2,000 runs of the published model.
 */
const PUBLISHED: Readonly<Record<string, readonly Published[]>> = {
	10: [
		[50.78, 4.11, 378.88, 34.68],
		[50.77, 4.11, 3_437.49, 1_299.22],
		[42.46, 2.58, 721.83, 182.23],
		[39.06, 2.3, 464.94, 104.11],
		[37.64, 2.29, 434.98, 85.87],
	],
	20: [
		[151.6, 12.37, 597, 53.96],
		[150.1, 13.79, 14_499, 2_864.05],
		[108.1, 4.17, 1_630, 460.49],
		[100.3, 3.47, 999, 259.15],
		[101.1, 4.95, 821, 177.6],
	],
	50: [
		[689.31, 17.86, 1_139.32, 44.66],
		[623.19, 28.31, 36_317.96, 3_197.89],
		[347.08, 5.93, 4_247.74, 560.3],
		[332.52, 4.65, 2_896.67, 536.77],
		[375.3, 12.51, 2_214.44, 501.36],
	],
	100: [
		[2_422.72, 31.89, 2_028.12, 44.57],
		[1_854.18, 57.86, 63_389.2, 3_805.25],
		[812.34, 7.6, 6_639.81, 641.73],
		[795.92, 6.88, 4_901.84, 545.67],
		[1_001.72, 28.52, 4_580.8, 681.46],
	],
}

const cases = Object.entries(PUBLISHED).flatMap(([clients, figures]) =>
	Object.entries(STRATEGIES).map(([name, retry], index) => ({
		name: `${clients} clients, ${name}`,
		point: { curve: name, x: Number(clients) },
		scenario: scenarioOf(Number(clients), retry),
		reference: referenceOf(figures[index], clients === '20' ? 500 : 2_000),
	})),
)

function referenceOf(figures: Published | undefined, count: number): Reference {
	const [calls, callsSd, timeMs, timeSd] = figures ?? [0, 0, 0, 0]
	const figure = (mean: number, sd: number): PublishedFigure => ({ mean, sd, count })
	return { requests: figure(calls, callsSd), lastResponseAtMs: figure(timeMs, timeSd) }
}

export const aws: VariantStudy = {
	title: 'Backoff and jitter, the published model',
	description:
		'Clients update one row with optimistic concurrency. Requests are writes; the last response is when the last client is done. ' +
		'Differences to the published figures are in standard errors; beyond 4 would mean a different model.',
	replications: 500,
	measures: ['requests', 'lastResponseAtMs'],
	variants: Object.fromEntries(cases.map(({ name, scenario }) => [name, scenario])),
	curves: {
		xLabel: 'clients',
		measures: ['requests', 'lastResponseAtMs'],
		points: Object.fromEntries(cases.map(({ name, point }) => [name, point])),
	},
	reference: Object.fromEntries(cases.map(({ name, reference }) => [name, reference])),
}
