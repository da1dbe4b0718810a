/**
 * Builds a scenario from the events of an incident. It contains no policy and nothing that the production policy did: the attempts
 * of a call are one call, rejected calls are calls, and a timeout is a lower limit of the response time. So the same outage can be
 * simulated with another policy.
 */
import { invalidOption } from '../../core/options/schema.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { detectFaults } from './detect/detect-faults.ts'
import { roundToMicroseconds, sampleDistribution } from './detect/service-time.ts'
import { OUTCOME } from './log/attempt-outcome.ts'
import { AttemptBins } from './log/attempts.ts'
import { collectAttempts, collectCalls, findSource } from './log/calls.ts'
import { findTimeRange, type PipelineEvents } from './log/event-columns.ts'
import { at, quantile } from './log/numbers.ts'
import { type IncidentSummary, listCaveats, type SkippedLines } from './summary.ts'

/** An incident as a scenario, with a summary of the events. */
export interface Incident {
	/**
	 * One service, `service`, and one client, `calls`, with the empty policy `replay`. Replace that policy to try another. The scenario
	 * ends with the last event.
	 */
	readonly scenario: Scenario
	readonly summary: IncidentSummary
}

export interface IncidentSettings {
	/** The user named the policies to read. */
	readonly hasPolicies: boolean
	readonly workers: number
	readonly resolutionMs: number
}

export interface ReadCounts extends Omit<SkippedLines, 'outliers'> {
	readonly lines: number
	readonly events: number
}

export function buildIncident(
	pipeline: string,
	policies: PipelineEvents,
	{ hasPolicies, workers, resolutionMs }: IncidentSettings,
	{ lines, events, ...skipped }: ReadCounts,
): Incident {
	const range = findTimeRange([...policies.values()].flatMap(({ all }) => all))
	const source = findSource(policies, hasPolicies)
	const { startedAt: arrivals, ...results } = collectCalls(source, policies, range)
	if (arrivals.length === 0) throwNoDurations()
	const attempts = collectAttempts(source, range)
	const first = attempts.startedAt
		.subarray(0, attempts.length)
		.reduce((a, b) => Math.min(a, b), at(arrivals, 0))
	const bins = new AttemptBins(attempts, first, range.to, resolutionMs)
	const { faults, serviceTimes, backgroundErrorRate, explainedByLoad } = detectFaults(bins, workers)
	if (serviceTimes.length === 0) throwNoDurations()
	const { origin: startedAt } = bins
	const { outliers } = range
	return {
		scenario: {
			name: pipeline || 'incident',
			// Not until idle: every policy recovers once no more calls arrive.
			duration: bins.length * resolutionMs,
			services: {
				service: {
					workers,
					serviceTime: { kind: 'empirical', valuesMs: sampleDistribution(serviceTimes) },
					faults: faults.map(({ fault }) => fault),
				},
			},
			clients: {
				calls: {
					to: 'service',
					arrivals: {
						kind: 'trace',
						atMs: Array.from(arrivals, (time) => roundToMicroseconds(time - startedAt)),
					},
					policy: 'replay',
				},
			},
			policies: { replay: [] },
		},
		summary: {
			startedAt,
			endedAt: range.to,
			pipeline: pipeline || undefined,
			source: source.name,
			lines,
			events: events - outliers,
			skipped: { ...skipped, outliers },
			calls: { total: arrivals.length, ...results },
			attempts: {
				total: attempts.length,
				responded: attempts.count(OUTCOME.responded),
				failed: attempts.count(OUTCOME.failed),
				timedOut: attempts.count(OUTCOME.timedOut),
				explainedByLoad,
			},
			serviceTime: {
				p50Ms: roundToMicroseconds(quantile(serviceTimes, 0.5)),
				p99Ms: roundToMicroseconds(quantile(serviceTimes, 0.99)),
			},
			backgroundErrorRate,
			faults,
			caveats: listCaveats({
				...{ faults, startedAt, resolutionMs, workers, backgroundErrorRate, outliers },
				dropped: skipped.dropped,
			}),
		},
	}
}

function throwNoDurations(): never {
	invalidOption(
		'lines',
		'events without a successful call',
		'events that include successful calls; include a few minutes before or after the incident, so that normal latency can be measured',
	)
}
