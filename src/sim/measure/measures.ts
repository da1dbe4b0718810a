/** The figures that runs are compared by, each said once: for tables, for assertions and for searches. */
import type { ClientResult, ServiceResult, SimulationResult } from './result.ts'

export interface Measure {
	/** For the head of a column. */
	readonly label: string
	/** What it means, in a sentence. */
	readonly description: string
	readonly unit: '' | '%' | 'ms' | '/s'
	readonly better: 'more' | 'less'
	/** Null where the run has no such figure: a time to recovery where it never did, a latency where nothing went well. */
	of(result: SimulationResult): number | null
}

const services = (result: SimulationResult): readonly ServiceResult[] => Object.values(result.services)
const clients = (result: SimulationResult): readonly ClientResult[] => Object.values(result.clients)
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** A latency is one of calls that ended well; where none did there is none. */
const ofSuccesses = (result: SimulationResult, value: number): number | null =>
	clients(result).some(({ good, late }) => good + late > 0) ? value : null

/**
 * Of each service, its greatest step as a rate: after the last fault, for that is when a herd comes back. Without a fault, or when
 * nothing follows it, of the whole run.
 */
function peak({ recovery, endedAtMs, timeline: { stepMs, services: byName } }: SimulationResult): number {
	const lists = Object.values(byName).map(({ requests }) => requests)
	const after = Math.ceil((recovery?.faultEndedAtMs ?? 0) / stepMs)
	const first = lists.some((list) => list.length > after) ? after : 0
	const most = lists.flatMap((list) => list.slice(first)).reduce((a, b) => Math.max(a, b), 0)
	// A run may be shorter than a step.
	return (most / Math.min(stepMs, endedAtMs || stepMs)) * 1_000
}

/** The name of a figure. */
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

export const MEASURES: Readonly<Record<MeasureName, Measure>> = {
	goodShare: {
		label: 'good',
		description: 'the share of calls that ended well and in time',
		unit: '%',
		better: 'more',
		of: ({ totals }) => totals.goodShare,
	},
	goodputPerSecond: {
		label: 'goodput',
		description: 'good answers in time, a second',
		unit: '/s',
		better: 'more',
		of: ({ totals }) => totals.goodputPerSecond,
	},
	offeredPerSecond: {
		label: 'offered',
		description: 'calls that clients began, a second',
		unit: '/s',
		better: 'more',
		of: ({ totals }) => totals.offeredPerSecond,
	},
	requests: {
		label: 'requests',
		description: 'requests that all services were sent',
		unit: '',
		better: 'less',
		of: (result) => sum(services(result).map((service) => service.requests)),
	},
	retries: {
		label: 'retries',
		description: 'requests of clients beyond the first of each call',
		unit: '',
		better: 'less',
		of: ({ totals }) => totals.retries,
	},
	amplification: {
		label: 'amplification',
		description: 'requests for each call, at the service that got most',
		unit: '',
		better: 'less',
		of: ({ totals }) => totals.amplification,
	},
	peakPerSecond: {
		label: 'peak',
		description: 'requests a second in the busiest step of the busiest service, after the last fault',
		unit: '/s',
		better: 'less',
		of: peak,
	},
	wastedShare: {
		label: 'wasted',
		description: 'the share of the work of services that was for nobody',
		unit: '%',
		better: 'less',
		of: ({ totals }) => totals.wastedShare,
	},
	p50Ms: {
		label: 'p50',
		description: 'half of the calls that ended well took at most this',
		unit: 'ms',
		better: 'less',
		of: (result) => ofSuccesses(result, result.totals.latency.p50Ms),
	},
	p99Ms: {
		label: 'p99',
		description: '99 % of the calls that ended well took at most this',
		unit: 'ms',
		better: 'less',
		of: (result) => ofSuccesses(result, result.totals.latency.p99Ms),
	},
	queueAgeP99Ms: {
		label: 'queue age p99',
		description:
			'99 % of the requests that waited for a worker and got one waited at most this, at the worst service',
		unit: 'ms',
		better: 'less',
		of: (result) => Math.max(0, ...services(result).map(({ queue }) => queue.age.p99Ms)),
	},
	recoveredAfterMs: {
		label: 'recovery',
		description: 'from the end of the last fault until all is well again',
		unit: 'ms',
		better: 'less',
		of: ({ recovery }) => recovery?.recoveredAfterMs ?? null,
	},
	lastResponseAtMs: {
		label: 'last answer',
		description: 'when the last call ended',
		unit: 'ms',
		better: 'less',
		of: (result) =>
			clients(result).some(({ calls, unfinished }) => calls > unfinished)
				? result.totals.lastResponseAtMs
				: null,
	},
}

export const MEASURE_NAMES: readonly MeasureName[] = Object.keys(MEASURES) as MeasureName[]

export const readMeasure = (name: MeasureName, result: SimulationResult): number | null =>
	MEASURES[name].of(result)
