/** The summary of an incident: plain data, and a text for people. */
import {
	formatCount,
	formatDuration,
	formatNumber,
	formatPercent,
	formatSignificant,
} from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import type { FoundFault } from './detect/detect-faults.ts'
import type { CallCounts } from './log/calls.ts'
import type { UnreadableReason } from './log/parse-event.ts'

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
	/** The share of attempts that failed outside of all faults. The scenario leaves them out. */
	readonly backgroundErrorRate: number
	readonly faults: readonly FoundFault[]
	/** What the events cannot show, in sentences. */
	readonly caveats: readonly string[]
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
 * console.log(formatIncident(summary))
 */
export function formatIncident(summary: IncidentSummary): string {
	const { calls, attempts, serviceTime, pipeline, source, faults, caveats, startedAt, endedAt } = summary
	const of = pipeline === undefined ? '' : ` in ${sanitizeLine(pipeline)}`
	const unknown = calls.unknown > 0 ? `, ${formatNumber(calls.unknown)} unknown` : ''
	const load = attempts.explainedByLoad > 0 ? `; load explains ${formatNumber(attempts.explainedByLoad)}` : ''
	return [
		`Incident${of}: ${formatTime(startedAt)} to ${formatClock(endedAt)} UTC (${formatDuration(endedAt - startedAt, 2)})`,
		`  lines     ${formatLines(summary)}`,
		`  source    ${sanitizeLine(source)}`,
		`  calls     ${formatNumber(calls.total)}: ${formatNumber(calls.good)} good, ${formatNumber(calls.failed)} failed, ${formatNumber(calls.rejected)} rejected${unknown}`,
		`  attempts  ${formatNumber(attempts.total)}: ${formatNumber(attempts.responded)} responded, ${formatNumber(attempts.failed)} failed, ${formatNumber(attempts.timedOut)} timed out${load}`,
		`  latency   p50 ${formatSignificant(serviceTime.p50Ms)} ms, p99 ${formatSignificant(serviceTime.p99Ms)} ms outside of faults`,
		faults.length === 0 ? '  faults    none' : '  faults',
		...faults.map((found) => `    ${formatFault(found, startedAt)}`),
		...(caveats.length === 0 ? [] : ['  caveats']),
		...caveats.map((caveat) => `    ${sanitizeLine(caveat)}`),
	].join('\n')
}

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

function formatFault({ fault, attempts, symptoms }: FoundFault, startedAt: number): string {
	const { fromMs, toMs } = fault
	const times = `${formatClock(startedAt + fromMs)} to ${formatClock(startedAt + toMs)} (${formatDuration(toMs - fromMs, 2)})`
	return `${times}: ${describeFault(fault)}, seen in ${formatNumber(symptoms)} of ${formatCount(attempts, 'attempt')}`
}

function describeFault(fault: FoundFault['fault']): string {
	if (fault.kind === 'slowdown') return `slowdown by a factor of ${formatSignificant(fault.factor)}`
	if (fault.kind === 'errors')
		return `errors, ${formatPercent(fault.rate)}${fault.status ? ` with status ${fault.status}` : ''}`
	return fault.mode === 'hang' ? 'outage without responses' : 'outage with refused connections'
}

/** Formats a wall time to the second, in UTC. */
const formatTime = (wall: number): string =>
	new Date(Math.round(wall / 1_000) * 1_000).toISOString().slice(0, 19).replace('T', ' ')

const formatClock = (wall: number): string => formatTime(wall).slice(11)

type Findings = Pick<IncidentSummary, 'faults' | 'startedAt' | 'backgroundErrorRate'> &
	Pick<SkippedLines, 'dropped' | 'outliers'> & { readonly resolutionMs: number; readonly workers: number }

/** Lists what the events cannot show, because an estimate without its limits would pass for the truth. */
export function listCaveats(findings: Findings): readonly string[] {
	const { faults, workers, backgroundErrorRate, dropped, outliers } = findings
	const hasHangs = faults.some(({ fault }) => fault.kind === 'outage' && fault.mode === 'hang')
	const hasSlowdowns = faults.some(({ fault }) => fault.kind === 'slowdown')
	const caveats = faults.flatMap((found) => listEdgeCaveats(found, findings))
	if (hasHangs)
		caveats.push('For attempts that timed out only the timeout is known; the replay never responds to them.')
	if ((hasHangs || hasSlowdowns) && workers === Infinity)
		caveats.push(
			'All slow and missing responses count as faults. If load caused them, set the number of requests that the service processes concurrently.',
		)
	if (backgroundErrorRate > 0)
		caveats.push(
			`Outside of faults ${formatPercent(backgroundErrorRate)} of the attempts failed; the replay leaves them out.`,
		)
	if (dropped > 0)
		caveats.push(
			`The event log dropped ${formatCount(dropped, 'event')}: calls are missing, and there may be gaps.`,
		)
	if (outliers > 0)
		caveats.push(
			'Events an hour or more apart were left out: they are from another day, or from a wrong clock.',
		)
	return caveats
}

function listEdgeCaveats(
	{ fault, startsBetween, endsBetween, isOngoing }: FoundFault,
	{ startedAt, resolutionMs }: Findings,
): string[] {
	const clock = (ms: number) => formatClock(startedAt + ms)
	const isWide = ([min, max]: readonly [number, number]) => max - min > 3 * resolutionMs
	const name = `The ${fault.kind} at ${clock(fault.fromMs)}`
	const range = (verb: string, between: readonly [number, number]) =>
		isWide(between)
			? [
					`${name} may have ${verb} at any time from ${clock(between[0])} to ${clock(between[1])}: there were no attempts in between.`,
				]
			: []
	return [
		...range('started', startsBetween),
		...range('ended', endsBetween),
		...(isOngoing && !isWide(endsBetween)
			? [`${name} was not over when the events end; the replay ends it there.`]
			: []),
	]
}
