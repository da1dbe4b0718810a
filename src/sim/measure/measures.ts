/** The measures that runs are compared by, defined once for tables, assertions and searches. */
import type { ClientResult, ServiceResult, SimulationResult } from './result.ts'

export interface Measure {
	/** Column heading. */
	readonly label: string
	readonly unit: '' | '%' | 'ms' | '/s'
	readonly better: 'more' | 'less'
	/** Returns null where a run has no such value: a recovery that did not come or was not shown, a latency without successes. */
	of(result: SimulationResult): number | null
}

/**
 * The name of a number that a simulation measures, such as `'goodShare'` or `'p99Ms'`. Use it in
 * `expectResilience(...).measure`, in `constraints` and `objective` of `tune`, and in `measures` of a study.
 */
export type MeasureName =
	/** Share of calls that succeeded in time. */
	| 'goodShare'
	/** Share of calls that succeeded in time, of the client with the lowest. */
	| 'worstGoodShare'
	/** Calls that succeeded in time, per second. */
	| 'goodputPerSecond'
	/** Calls that clients started, per second. */
	| 'offeredPerSecond'
	/** Requests sent to all services. */
	| 'requests'
	/** Requests beyond the first of each call: of clients, and of services to those that they depend on. */
	| 'retries'
	/** Requests per call, at the service with the most. */
	| 'amplification'
	/** Requests per second in the busiest step of the busiest service, after the last fault. */
	| 'peakPerSecond'
	/** Share of the work of services that was wasted: the caller had stopped waiting, or got an error. */
	| 'wastedShare'
	/** Median latency of successful calls. */
	| 'p50Ms'
	/** 99th percentile of the latency of successful calls. */
	| 'p99Ms'
	/** 99.9th percentile of the latency of successful calls. */
	| 'p999Ms'
	/** 99th percentile of the latency of failed calls. */
	| 'failureP99Ms'
	/** 99th percentile of the queue time of processed requests, at the worst service. */
	| 'queueAgeP99Ms'
	/** Time from the end of the last fault until all clients and services have recovered. */
	| 'recoveredAfterMs'
	/** When the last call ended. */
	| 'lastResponseAtMs'

const measure =
	(better: Measure['better']) =>
	(label: string, unit: Measure['unit'], of: Measure['of']): Measure => ({ label, unit, better, of })
const more = measure('more')
const less = measure('less')

const services = (result: SimulationResult): readonly ServiceResult[] => Object.values(result.services)
const clients = (result: SimulationResult): readonly ClientResult[] => Object.values(result.clients)

/** Only successful calls have a latency. */
const ofSuccesses = (result: SimulationResult, value: number): number | null =>
	clients(result).some(({ good, late }) => good + late > 0) ? value : null
const ofFailures = (result: SimulationResult, value: number): number | null =>
	clients(result).some(({ failed }) => failed > 0) ? value : null

/** Clients without calls have no share. */
function worstGoodShare(result: SimulationResult): number | null {
	const shares = clients(result).flatMap(({ calls, goodShare }) => (calls > 0 ? [goodShare] : []))
	return shares.length === 0 ? null : Math.min(...shares)
}

/**
 * The busiest step after the last fault, as a rate, because that is when a herd returns. Without a fault, or
 * if nothing follows it, the busiest step of the whole run without its warm-up.
 */
function peak({ recovery, warmUpMs, endedAtMs, timeline }: SimulationResult): number {
	const { stepMs, services: byName } = timeline
	const lists = Object.values(byName).map(({ requests }) => requests)
	const after = Math.ceil((recovery?.faultEndedAtMs ?? warmUpMs) / stepMs)
	const first = lists.some((list) => list.length > after) ? after : 0
	const max = lists.flatMap((list) => list.slice(first)).reduce((a, b) => Math.max(a, b), 0)
	// A run may be shorter than a step.
	return (max / Math.min(stepMs, endedAtMs || stepMs)) * 1_000
}

export const MEASURES: Readonly<Record<MeasureName, Measure>> = {
	goodShare: more('good', '%', ({ totals }) => totals.goodShare),
	worstGoodShare: more('good, worst client', '%', worstGoodShare),
	goodputPerSecond: more('goodput', '/s', ({ totals }) => totals.goodputPerSecond),
	offeredPerSecond: more('offered', '/s', ({ totals }) => totals.offeredPerSecond),
	requests: less('requests', '', (result) =>
		services(result).reduce((total, service) => total + service.requests, 0),
	),
	retries: less('retries', '', ({ totals }) => totals.retries),
	amplification: less('amplification', '', ({ totals }) => totals.amplification),
	peakPerSecond: less('peak', '/s', peak),
	wastedShare: less('wasted', '%', ({ totals }) => totals.wastedShare),
	p50Ms: less('p50', 'ms', (result) => ofSuccesses(result, result.totals.latency.p50Ms)),
	p99Ms: less('p99', 'ms', (result) => ofSuccesses(result, result.totals.latency.p99Ms)),
	p999Ms: less('p99.9', 'ms', (result) => ofSuccesses(result, result.totals.latency.p999Ms)),
	failureP99Ms: less('failures p99', 'ms', (result) =>
		ofFailures(result, result.totals.failureLatency.p99Ms),
	),
	queueAgeP99Ms: less('queue age p99', 'ms', (result) =>
		Math.max(0, ...services(result).map(({ queue }) => queue.age.p99Ms)),
	),
	recoveredAfterMs: less('recovery', 'ms', ({ recovery }) => recovery?.recoveredAfterMs ?? null),
	lastResponseAtMs: less('last response', 'ms', (result) =>
		clients(result).some(({ calls, unfinished }) => calls > unfinished)
			? result.totals.lastResponseAtMs
			: null,
	),
}

export const MEASURE_NAMES: readonly MeasureName[] = Object.keys(MEASURES) as MeasureName[]

export const readMeasure = (name: MeasureName, result: SimulationResult): number | null =>
	MEASURES[name].of(result)
