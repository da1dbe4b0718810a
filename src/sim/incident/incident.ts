/**
 * The world in which an incident happened, from what a production policy told of it. The scenario has no policy, and nothing of what
 * the production policy did: attempts of one call are one call, refused calls are calls, and a timeout says how long the service took at
 * least. So it can be asked what the same outage would have been with another policy.
 */
import { invalidOption } from '../../core/options/schema.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { AttemptBins } from './attempt-bins.ts'
import { OUTCOME } from './attempt-outcome.ts'
import { type Attempts, attemptsOf } from './attempts.ts'
import { callsOf } from './calls.ts'
import { detectFaults } from './detect-faults.ts'
import { at, quantile } from './growable-array.ts'
import { allRows, type PipelineLedger } from './ledger.ts'
import { notesOn } from './notes.ts'
import { observersOf } from './observers.ts'
import type { IncidentSettings } from './options.ts'
import { roundToMicroseconds, sampleDistribution } from './service-time.ts'
import type { AttemptCounts, IncidentSummary, SkippedLines } from './summary.ts'
import { findTimeRange } from './time-range.ts'

/** An incident as a scenario, and what was read. */
export interface Incident {
	/**
	 * One service, `service`, and one client, `calls`, whose policy is called `replay` and is empty. Try another by putting it there. It
	 * ends where the events do.
	 *
	 * @example
	 * simulate({ ...scenario, policies: { replay: [{ retry: { maxRetries: 3 } }, { timeout: 1_000 }] } })
	 */
	readonly scenario: Scenario
	readonly summary: IncidentSummary
}

/** What was counted while lines were read. */
export interface ReadCounts extends Omit<SkippedLines, 'outliers'> {
	readonly lines: number
	readonly events: number
}

export function incidentOf(
	pipeline: string,
	ledger: PipelineLedger,
	{ policies, workers, resolutionMs }: IncidentSettings,
	{ lines, events, ...skipped }: ReadCounts,
): Incident {
	const stretch = findTimeRange(allRows(ledger))
	const observers = observersOf(ledger, stretch, policies !== undefined)
	const { begunAt, ...ends } = callsOf(observers, stretch)
	if (begunAt.length === 0) refuseUnanswered()
	const attempts = attemptsOf(observers, stretch)
	const first = attempts.begin.subarray(0, attempts.length).reduce((a, b) => Math.min(a, b), at(begunAt, 0))
	const bins = new AttemptBins(attempts, first, stretch.to, resolutionMs)
	const schedule = detectFaults(bins, workers)
	const { found: faults, serviceTimes, background, explained } = schedule
	if (serviceTimes.length === 0) refuseUnanswered()
	const { origin: startedAt } = bins
	const { apart: outliers } = stretch
	return {
		scenario: {
			name: pipeline || 'incident',
			// Not until all is done: when calls stop coming everybody recovers.
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
					arrivals: { kind: 'trace', atMs: Array.from(begunAt, (at) => roundToMicroseconds(at - startedAt)) },
					policy: 'replay',
				},
			},
			policies: { replay: [] },
		},
		summary: {
			startedAt,
			endedAt: stretch.to,
			pipeline: pipeline || undefined,
			source: observers.toldBy,
			lines,
			events: events - outliers,
			skipped: { ...skipped, outliers },
			calls: { total: begunAt.length, ...ends },
			attempts: countsOf(attempts, explained),
			serviceTime: {
				p50Ms: roundToMicroseconds(quantile(serviceTimes, 0.5)),
				p99Ms: roundToMicroseconds(quantile(serviceTimes, 0.99)),
			},
			backgroundErrorRate: background,
			faults,
			caveats: notesOn({ faults, startedAt, resolutionMs, workers, background, apart: outliers }),
		},
	}
}

function countsOf({ length, outcome }: Attempts, explainedByLoad: number): AttemptCounts {
	const of = (what: number) =>
		outcome.subarray(0, length).reduce((sum, one) => sum + (one === what ? 1 : 0), 0)
	const [answered, failed, hung] = [of(OUTCOME.answered), of(OUTCOME.failed), of(OUTCOME.hung)]
	return { total: length, answered, failed, hung, explainedByLoad }
}

function refuseUnanswered(): never {
	invalidOption(
		'lines',
		'events in which no answer has a duration',
		'events with some time before or after the incident, for how long the service takes is known from calls that were answered at the first attempt, or inside a circuit breaker',
	)
}
