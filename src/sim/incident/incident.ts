/**
 * Builds a scenario from the events of an incident. It contains no policy and nothing that the production
 * policy did: the attempts of a call are one call, rejected calls are calls, and a timeout is a lower limit
 * of the response time. So the same outage can be simulated with another policy.
 */
import { invalidArgument } from '../../core/options/schema.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { listCaveats } from './caveats.ts'
import { type DemandCounts, findExcess, withoutExcess } from './demand.ts'
import { detectFaults } from './detect/detect-faults.ts'
import { roundToMicroseconds, sampleDistribution } from './detect/service-time.ts'
import { type Fit, fitIncident } from './fit/fit-incident.ts'
import { describeFaults, listAlternatives, roundFault } from './found-faults.ts'
import { OUTCOME } from './log/attempt-outcome.ts'
import { AttemptBins } from './log/attempts.ts'
import { collectAttempts, collectCalls, findSource } from './log/calls.ts'
import { findTimeRange, type PipelineEvents } from './log/event-columns.ts'
import { at, quantile } from './log/numbers.ts'
import { checkExplanation } from './reproduce.ts'
import type { IncidentSummary, SkippedLines } from './summary.ts'

/** An incident as a scenario, with a summary of the events. `scenarioFromIncident` returns it; pass it to `replayIncident`. */
export interface Incident {
	/**
	 * One service, `service`, and one client, `calls`, with the empty policy `replay`. Replace that policy to
	 * try another. The scenario ends with the last event.
	 */
	readonly scenario: Scenario
	/**
	 * Other scenarios that the events allow: a fault that ended earlier or later, other numbers of workers. Run
	 * a policy in all of them for the range of its results. Empty if the events leave no doubt.
	 */
	readonly alternatives: readonly Scenario[]
	readonly summary: IncidentSummary
}

export interface IncidentSettings {
	/** The user named the policies to read. */
	readonly hasPolicies: boolean
	/** Undefined to estimate them. */
	readonly workers: number | undefined
	readonly resolutionMs: number
}

export interface ReadCounts {
	readonly lines: number
	readonly events: number
	/** Events without a call id. */
	readonly withoutId: number
	readonly skipped: Omit<SkippedLines, 'outliers'>
}

export interface IncidentEvents {
	readonly pipeline: string
	readonly policies: PipelineEvents
	/** The calls in which policies that were not chosen retried, once per retry. */
	readonly otherRetries: readonly number[]
}

export function buildIncident(
	{ pipeline, policies, otherRetries }: IncidentEvents,
	{ hasPolicies, workers, resolutionMs }: IncidentSettings,
	{ lines, events, withoutId, skipped }: ReadCounts,
): Incident {
	const range = findTimeRange([...policies.values()].flatMap(({ all }) => all))
	const source = findSource(policies, hasPolicies)
	const { startedAt: arrivals, unfinished, ...results } = collectCalls(source, policies, range)
	if (arrivals.length === 0) throwNoDurations()
	const attempts = collectAttempts(source, range)
	const first = attempts.startedAt
		.subarray(0, attempts.length)
		.reduce((a, b) => Math.min(a, b), at(arrivals, 0))
	const bins = new AttemptBins(attempts, first, range.to, resolutionMs)
	const detection = detectFaults(bins)
	const { pace, backgroundErrorRate } = detection
	if (!pace) throwNoDurations()
	const fit = fitIncident(bins, detection, pace, workers)
	const faults = describeFaults(fit, detection.faults, bins, pace)
	const { explainedByLoad, reproduction } = checkExplanation(fit, bins, pace)
	const { origin: startedAt } = bins
	const { outliers } = range
	const { workers: estimate, serviceTimes } = fit.best
	const knownWorkers = { estimate, between: fit.workersBetween, isGiven: workers !== undefined }
	const calls = new Set(source.endings.flatMap(({ call }) => call))
	const atMs = Array.from(arrivals, (time) => roundToMicroseconds(time - startedAt))
	const excessShare = findExcess(atMs, detection.faults, { length: bins.length, widthMs: resolutionMs })
	const nestedRetries = otherRetries.filter((call) => calls.has(call)).length
	const demand: DemandCounts = { excessShare, unfinished, withoutId, nestedRetries }
	const createScenario = (service: Fit, arrivalsMs: readonly number[] = atMs): Scenario => ({
		name: pipeline || 'incident',
		// The run does not end when idle: every policy recovers once no more calls arrive.
		durationMs: bins.length * resolutionMs,
		services: {
			service: {
				workers: service.workers,
				serviceTimeMs: { kind: 'empirical', valuesMs: sampleDistribution(service.serviceTimes) },
				faults: service.faults.map(roundFault),
			},
		},
		clients: { calls: { to: 'service', arrivals: { kind: 'trace', atMs: arrivalsMs }, policy: 'replay' } },
		policies: { replay: [] },
	})
	return {
		scenario: createScenario(fit.best),
		alternatives: [
			...listAlternatives(fit, faults, resolutionMs).map((other) => createScenario(other)),
			...(excessShare > 0
				? [createScenario(fit.best, withoutExcess(atMs, detection.faults, excessShare))]
				: []),
		],
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
			workers: knownWorkers,
			reproduction,
			demand,
			backgroundErrorRate,
			faults,
			caveats: listCaveats({
				faults,
				startedAt,
				resolutionMs,
				backgroundErrorRate,
				outliers,
				reproduction,
				demand,
				workers: knownWorkers,
				dropped: skipped.dropped,
			}),
		},
	}
}

function throwNoDurations(): never {
	invalidArgument(
		'lines',
		'events without a successful call',
		'events that include successful calls; include a few minutes before or after the incident, so that normal latency can be measured',
	)
}
