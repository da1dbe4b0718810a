/** The summary of an incident: plain data, and a text for people. */
import {
	formatCount,
	formatDuration,
	formatNumber,
	formatPercent,
	formatSignificant,
} from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import type { DemandCounts } from './demand.ts'
import type { FoundFault } from './detect/detect-faults.ts'
import type { CallCounts } from './log/calls.ts'
import type { UnreadableReason } from './log/parse-event.ts'
import type { Reproduction } from './reproduce.ts'

/** What the events of an incident show. */
export interface IncidentSummary {
	/** Wall times, in milliseconds since 1970. `startedAt` is time 0 of the scenario. */
	readonly startedAt: number
	readonly endedAt: number
	/** The pipeline, if the events have one. */
	readonly pipeline: string | undefined
	/** The policies whose events were used for calls and attempts. */
	readonly source: string
	/** Lines that are not empty, and the events among them that were used. */
	readonly lines: number
	readonly events: number
	readonly skipped: SkippedLines
	readonly calls: CallCounts
	readonly attempts: AttemptCounts
	/** Response times outside of slow periods. */
	readonly serviceTime: { readonly p50Ms: number; readonly p99Ms: number }
	/** The requests that the service processes concurrently: in the scenario, and in the scenarios that the events allow. */
	readonly workers: {
		readonly estimate: number
		readonly between: readonly [number, number]
		/** True if the user gave them. */
		readonly isGiven: boolean
	}
	readonly demand: DemandCounts
	/** How well the scenario predicts the recorded attempts. */
	readonly reproduction: Reproduction
	/** The share of attempts that failed outside of all faults. The scenario leaves them out. */
	readonly backgroundErrorRate: number
	readonly faults: readonly FoundFault[]
	/** What the events cannot show. */
	readonly caveats: readonly Caveat[]
}

/** Lines that were not used. */
export interface SkippedLines {
	/** Not JSON, not an event, or an event without all required fields. */
	readonly unreadable: number
	/** The first of those, counted from 1. */
	readonly firstUnreadable: { readonly line: number; readonly reason: UnreadableReason } | undefined
	/** Events of other pipelines or policies. */
	readonly filtered: number
	/** Events that an event log could not write, by its own count. They are not in the lines. */
	readonly dropped: number
	/** Events an hour or more apart from most others. */
	readonly outliers: number
}

/** Requests sent to the service. */
interface AttemptCounts {
	readonly total: number
	readonly responded: number
	readonly failed: number
	/** No response for as long as the caller waited. */
	readonly timedOut: number
	/** Slow or timed out, but no more than the load on the workers explains. */
	readonly explainedByLoad: number
}

/**
 * Formats a summary as a text of several lines.
 *
 * @example
 * console.log(formatIncident(scenarioFromIncident(lines).summary))
 */
export function formatIncident(summary: IncidentSummary): string {
	const { calls, attempts, serviceTime, pipeline, source, faults, caveats, startedAt, endedAt } = summary
	const of = pipeline === undefined ? '' : ` in ${sanitizeLine(pipeline)}`
	const unknown = calls.unknown > 0 ? `, ${formatNumber(calls.unknown)} unknown` : ''
	const load =
		attempts.explainedByLoad > 0
			? `, ${formatNumber(attempts.explainedByLoad)} of them because of overload`
			: ''
	return [
		`Incident${of}: ${formatTime(startedAt)} to ${formatClock(endedAt)} UTC (${formatDuration(endedAt - startedAt, 2)})`,
		`  lines     ${formatLines(summary)}`,
		`  source    ${sanitizeLine(source)}`,
		`  calls     ${formatNumber(calls.total)}: ${formatNumber(calls.good)} good, ${formatNumber(calls.failed)} failed, ${formatNumber(calls.rejected)} rejected${unknown}`,
		`  attempts  ${formatNumber(attempts.total)}: ${formatNumber(attempts.responded)} responded, ${formatNumber(attempts.failed)} failed, ${formatNumber(attempts.timedOut)} timed out${load}`,
		`  workers   ${formatWorkers(summary)}`,
		`  latency   p50 ${formatSignificant(serviceTime.p50Ms)} ms, p99 ${formatSignificant(serviceTime.p99Ms)} ms outside of faults`,
		faults.length === 0 ? '  faults    none' : '  faults',
		...faults.map((found) => `    ${formatFault(found, startedAt)}`),
		...(caveats.length === 0 ? [] : ['  caveats']),
		...caveats.map(({ text }) => `    ${sanitizeLine(text)}`),
	].join('\n')
}

/** Returns the faults and the caveats, a line each, for reports without the whole summary. */
export const listFindings = ({ faults, caveats, startedAt }: IncidentSummary): readonly string[] => [
	...(faults.length === 0
		? ['Fault: none.']
		: faults.map((found) => `Fault: ${formatFault(found, startedAt)}.`)),
	...caveats.map(({ text }) => `Caveat: ${sanitizeLine(text)}`),
]

function formatLines({ lines, events, skipped }: IncidentSummary): string {
	const { unreadable, firstUnreadable, filtered, outliers } = skipped
	const parts = [`${formatNumber(lines)}, ${formatNumber(events)} used`]
	if (firstUnreadable) {
		const { line, reason } = firstUnreadable
		parts.push(`${formatNumber(unreadable)} unreadable (first: line ${formatNumber(line)}, ${reason})`)
	}
	if (filtered > 0) parts.push(`${formatNumber(filtered)} of other pipelines or policies`)
	if (outliers > 0) parts.push(`${formatNumber(outliers)} an hour or more apart`)
	return parts.join('; ')
}

function formatWorkers({ workers: { estimate, between, isGiven } }: IncidentSummary): string {
	const count = (workers: number) => (workers === Infinity ? 'no limit' : formatNumber(workers))
	if (isGiven) return `${count(estimate)}, as given`
	const [min, max] = between
	if (estimate === Infinity)
		return min < Infinity ? `no limit visible, at least ${count(min)}` : 'no limit visible'
	return min === max
		? `${count(estimate)}, estimated`
		: `${count(estimate)}, estimated (${count(min)} to ${count(max)})`
}

function formatFault({ fault, attempts, symptoms }: FoundFault, startedAt: number): string {
	const { fromMs, toMs } = fault
	const times = `${formatClock(startedAt + fromMs)} to ${formatClock(startedAt + toMs)} (${formatDuration(toMs - fromMs, 2)})`
	return `${times}: ${describeFault(fault)}, seen in ${formatNumber(symptoms)} of ${formatCount(attempts, 'attempt')}`
}

function describeFault(fault: FoundFault['fault']): string {
	if (fault.kind === 'slowdown') return `slowdown by a factor of ${formatSignificant(fault.factor)}`
	if (fault.kind === 'errors')
		return `errors, ${formatPercent(fault.rate)}${fault.status ? ` with status ${fault.status}` : ''}`
	const { mode, share = 1 } = fault
	const outage = mode === 'hang' ? 'outage without responses' : 'outage with refused connections'
	return share < 1 ? `${outage} for ${formatPercent(share)} of the requests` : outage
}

const formatTime = (wall: number): string =>
	new Date(Math.round(wall / 1_000) * 1_000).toISOString().slice(0, 19).replace('T', ' ')

export const formatClock = (wall: number): string => formatTime(wall).slice(11)

/** A limit of what the events show. */
export interface Caveat {
	readonly code: CaveatCode
	/** A sentence for people. */
	readonly text: string
	/** What the log does not show, and the measurement that would. Undefined if no alternative comes from it. */
	readonly missing?: MissingMeasurement | undefined
}

/** What a log does not show, as parts of a sentence. */
export interface MissingMeasurement {
	/** What is not shown: `when the slowdown at 10:00:15 ended`. */
	readonly what: string
	/** What would show it: `a log that includes the recovery`. */
	readonly shownBy: string
}

export type CaveatCode =
	/** Overload followed a fault and looks the same, so the end of the fault is not visible. There are alternatives. */
	| 'hidden-end'
	/** There were no attempts when a fault started or ended. */
	| 'unseen-edge'
	/** A fault was not over when the events end. */
	| 'ongoing-fault'
	/** For attempts that timed out, only the timeout is known. */
	| 'timeouts'
	/** The number of workers was estimated. There are alternatives. */
	| 'estimated-workers'
	/** The events show no limit of the service. */
	| 'unknown-workers'
	/** Calls were more frequent during faults, as if callers retried themselves. There is an alternative without the excess. */
	| 'unseparated-demand'
	/** Retries of another policy are read as a part of attempts. */
	| 'nested-retries'
	/** Calls that did not end in the events. */
	| 'unfinished-calls'
	/** Events without a call id. */
	| 'missing-call-ids'
	/** The scenario does not reproduce the recorded attempts: a replay decides nothing. */
	| 'not-reproduced'
	/** Failures outside of faults are left out. */
	| 'background-errors'
	/** The event log dropped events. */
	| 'dropped-events'
	/** Events far apart from most others were left out. */
	| 'outliers'
