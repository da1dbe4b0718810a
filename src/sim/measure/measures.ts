/** The figures that runs are compared by, each said once: for tables, for assertions and for searches. */
import type { Result, ServiceResult } from './result.ts'

export interface Measure {
	/** For the head of a column. */
	readonly label: string
	/** What it means, in a sentence. */
	readonly about: string
	readonly unit: '' | '%' | 'ms' | '/s'
	readonly better: 'more' | 'less'
	/** Null where the run has no such figure: null for a time to recovery is never. */
	of(result: Result): number | null
}

const services = (result: Result): readonly ServiceResult[] => Object.values(result.services)
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Of each service, its greatest step, as a rate. */
function peak(result: Result): number {
	const { stepMs, services: byName } = result.timeline
	const steps = Object.values(byName).map(({ requests }) => Math.max(0, ...requests))
	return (Math.max(0, ...steps) / stepMs) * 1_000
}

export const MEASURES = {
	goodShare: {
		label: 'good',
		about: 'the share of calls that ended well and in time',
		unit: '%',
		better: 'more',
		of: ({ totals }) => totals.goodShare,
	},
	goodputPerSecond: {
		label: 'goodput',
		about: 'good answers in time, a second',
		unit: '/s',
		better: 'more',
		of: ({ totals }) => totals.goodputPerSecond,
	},
	offeredPerSecond: {
		label: 'offered',
		about: 'calls that clients began, a second',
		unit: '/s',
		better: 'more',
		of: ({ totals }) => totals.offeredPerSecond,
	},
	requests: {
		label: 'requests',
		about: 'requests that all services were sent',
		unit: '',
		better: 'less',
		of: (result) => sum(services(result).map((service) => service.requests)),
	},
	retries: {
		label: 'retries',
		about: 'requests beyond the first of each call',
		unit: '',
		better: 'less',
		of: ({ totals }) => totals.retries,
	},
	amplification: {
		label: 'amplification',
		about: 'requests for each call, at the service that got most',
		unit: '',
		better: 'less',
		of: ({ totals }) => totals.amplification,
	},
	peakPerSecond: {
		label: 'peak',
		about: 'requests a second in the busiest step of the busiest service',
		unit: '/s',
		better: 'less',
		of: peak,
	},
	wastedShare: {
		label: 'wasted',
		about: 'the share of the work of services that was for nobody',
		unit: '%',
		better: 'less',
		of: ({ totals }) => totals.wastedShare,
	},
	p50Ms: {
		label: 'p50',
		about: 'half of the calls that ended well took at most this',
		unit: 'ms',
		better: 'less',
		of: ({ totals }) => totals.latency.p50Ms,
	},
	p99Ms: {
		label: 'p99',
		about: '99 % of the calls that ended well took at most this',
		unit: 'ms',
		better: 'less',
		of: ({ totals }) => totals.latency.p99Ms,
	},
	queueAgeP99Ms: {
		label: 'queue age p99',
		about: '99 % of the requests that a worker took had waited at most this, at the worst service',
		unit: 'ms',
		better: 'less',
		of: (result) => Math.max(0, ...services(result).map(({ queue }) => queue.age.p99Ms)),
	},
	recoveredAfterMs: {
		label: 'recovery',
		about: 'from the end of the last fault until all is well again',
		unit: 'ms',
		better: 'less',
		of: ({ recovery }) => recovery?.recoveredAfterMs ?? null,
	},
	lastAnswerAtMs: {
		label: 'last answer',
		about: 'when the last call ended',
		unit: 'ms',
		better: 'less',
		of: ({ totals }) => totals.lastAnswerAtMs,
	},
} as const satisfies Readonly<Record<string, Measure>>

/** The name of a figure. */
export type MeasureName = keyof typeof MEASURES

export const MEASURE_NAMES: readonly MeasureName[] = Object.keys(MEASURES) as MeasureName[]

export const measureOf = (name: MeasureName, result: Result): number | null => MEASURES[name].of(result)
