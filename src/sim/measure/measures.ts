/** The measures that runs are compared by, defined once for tables, assertions and searches. */
import type { ClientResult, ServiceResult, SimulationResult } from './result.ts'

export interface Measure {
	/** Column heading. */
	readonly label: string
	readonly description: string
	readonly unit: '' | '%' | 'ms' | '/s'
	readonly better: 'more' | 'less'
	/** Returns null where a run has no such value: a recovery that never came, a latency without successes. */
	of(result: SimulationResult): number | null
}

/** The name of a measure. */
export type MeasureName =
	| 'goodShare'
	| 'goodputPerSecond'
	| 'offeredPerSecond'
	| 'requests'
	| 'retries'
	| 'amplification'
	| 'peakPerSecond'
	| 'wastedShare'
	| 'p50Ms'
	| 'p99Ms'
	| 'queueAgeP99Ms'
	| 'recoveredAfterMs'
	| 'lastResponseAtMs'

const measure = (
	label: string,
	unit: Measure['unit'],
	better: Measure['better'],
	description: string,
	of: Measure['of'],
): Measure => ({ label, unit, better, description, of })

const services = (result: SimulationResult): readonly ServiceResult[] => Object.values(result.services)
const clients = (result: SimulationResult): readonly ClientResult[] => Object.values(result.clients)

/** Latencies are those of successful calls; without any there is none. */
const ofSuccesses = (result: SimulationResult, value: number): number | null =>
	clients(result).some(({ good, late }) => good + late > 0) ? value : null

/**
 * The busiest step after the last fault, as a rate, because that is when a herd returns. Without a fault, or if nothing follows it,
 * the busiest step of the whole run.
 */
function peak({ recovery, endedAtMs, timeline: { stepMs, services: byName } }: SimulationResult): number {
	const lists = Object.values(byName).map(({ requests }) => requests)
	const after = Math.ceil((recovery?.faultEndedAtMs ?? 0) / stepMs)
	const first = lists.some((list) => list.length > after) ? after : 0
	const max = lists.flatMap((list) => list.slice(first)).reduce((a, b) => Math.max(a, b), 0)
	// A run may be shorter than a step.
	return (max / Math.min(stepMs, endedAtMs || stepMs)) * 1_000
}

export const MEASURES: Readonly<Record<MeasureName, Measure>> = {
	goodShare: measure(
		'good',
		'%',
		'more',
		'share of calls that succeeded in time',
		({ totals }) => totals.goodShare,
	),
	goodputPerSecond: measure(
		'goodput',
		'/s',
		'more',
		'calls that succeeded in time, per second',
		({ totals }) => totals.goodputPerSecond,
	),
	offeredPerSecond: measure(
		'offered',
		'/s',
		'more',
		'calls that clients started, per second',
		({ totals }) => totals.offeredPerSecond,
	),
	requests: measure('requests', '', 'less', 'requests sent to all services', (result) =>
		services(result).reduce((total, service) => total + service.requests, 0),
	),
	retries: measure(
		'retries',
		'',
		'less',
		'requests of clients beyond the first of each call',
		({ totals }) => totals.retries,
	),
	amplification: measure(
		'amplification',
		'',
		'less',
		'requests per call, at the service with the most',
		({ totals }) => totals.amplification,
	),
	peakPerSecond: measure(
		'peak',
		'/s',
		'less',
		'requests per second in the busiest step of the busiest service, after the last fault',
		peak,
	),
	wastedShare: measure(
		'wasted',
		'%',
		'less',
		"share of the services' work that was wasted: the caller had stopped waiting, or got an error",
		({ totals }) => totals.wastedShare,
	),
	p50Ms: measure('p50', 'ms', 'less', 'median latency of successful calls', (result) =>
		ofSuccesses(result, result.totals.latency.p50Ms),
	),
	p99Ms: measure('p99', 'ms', 'less', '99th percentile of the latency of successful calls', (result) =>
		ofSuccesses(result, result.totals.latency.p99Ms),
	),
	queueAgeP99Ms: measure(
		'queue age p99',
		'ms',
		'less',
		'99th percentile of the time in the queue of processed requests, at the worst service',
		(result) => Math.max(0, ...services(result).map(({ queue }) => queue.age.p99Ms)),
	),
	recoveredAfterMs: measure(
		'recovery',
		'ms',
		'less',
		'time from the end of the last fault to full recovery',
		({ recovery }) => recovery?.recoveredAfterMs ?? null,
	),
	lastResponseAtMs: measure('last response', 'ms', 'less', 'when the last call ended', (result) =>
		clients(result).some(({ calls, unfinished }) => calls > unfinished)
			? result.totals.lastResponseAtMs
			: null,
	),
}

export const MEASURE_NAMES: readonly MeasureName[] = Object.keys(MEASURES) as MeasureName[]

export const readMeasure = (name: MeasureName, result: SimulationResult): number | null =>
	MEASURES[name].of(result)
