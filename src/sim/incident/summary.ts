/** What was read, for people: plain data, and a text of it. */
import { sanitizeLine as plainLine } from '../../text/sanitize.ts'
import type { UnreadableReason } from './event-line.ts'
import type { FoundFault } from './faults.ts'
import { clock, lasting, milliseconds, moment, number, percent } from './wording.ts'

/** What the events of an incident tell. */
export interface IncidentSummary {
	/** Wall times, in milliseconds since 1970. `startedAt` is time 0 of the scenario. */
	readonly startedAt: number
	readonly endedAt: number
	/** The pipeline that was read, if its events name one; and the policies that told of the calls and of the attempts. */
	readonly pipeline: string | undefined
	readonly source: { readonly calls: string; readonly attempts: string }
	/** Lines that are not empty, and the events among them that were used. */
	readonly lines: number
	readonly events: number
	readonly skipped: SkippedLines
	readonly calls: CallCounts
	readonly attempts: AttemptCounts
	/** Of answers while all was well. */
	readonly serviceTime: { readonly p50Ms: number; readonly p99Ms: number }
	/** The share of attempts that failed outside of all faults. The scenario leaves them out. */
	readonly backgroundErrorRate: number
	readonly faults: readonly FoundFault[]
	/** What could not be known, in sentences. */
	readonly caveats: readonly string[]
}

/** Lines that were left out, and why. */
export interface SkippedLines {
	/** Not JSON, not an event, or an event that lacks something. */
	readonly unreadable: number
	/** The first of those, counted from 1. */
	readonly firstUnreadable: { readonly line: number; readonly why: UnreadableReason } | undefined
	/** Events of other pipelines or policies. */
	readonly filtered: number
	/** Events that stand apart from most by an hour or more. */
	readonly outliers: number
}

interface CallCounts {
	readonly total: number
	readonly good: number
	readonly failed: number
	/** By a policy of the client, without an attempt. */
	readonly rejected: number
	/** Nothing is told of them but that they came. */
	readonly unknown: number
}

/** Requests that reached the service, or should have. */
export interface AttemptCounts {
	readonly total: number
	readonly answered: number
	readonly failed: number
	/** No answer came for as long as anybody waited. */
	readonly hung: number
	/** Slow or hung, and no more so than the load on the workers explains. */
	readonly explainedByLoad: number
}

/**
 * The summary as a text of several lines.
 *
 * @example
 * console.log(formatIncident(summary))
 */
export function formatIncident(summary: IncidentSummary): string {
	const { calls, attempts, serviceTime, pipeline, source, faults, caveats, startedAt, endedAt } = summary
	const { p50Ms, p99Ms } = serviceTime
	const of = pipeline === undefined ? '' : ` of ${plainLine(pipeline)}`
	const untold = calls.unknown > 0 ? `, ${number(calls.unknown)} unknown` : ''
	const load = attempts.explainedByLoad > 0 ? `; the load explains ${number(attempts.explainedByLoad)}` : ''
	return [
		`incident${of}: ${moment(startedAt)} to ${clock(endedAt)} UTC, ${lasting(endedAt - startedAt)}`,
		`  lines     ${readLines(summary)}`,
		`  calls     ${number(calls.total)}: ${number(calls.good)} good, ${number(calls.failed)} failed, ${number(calls.rejected)} refused${untold} (told by ${plainLine(source.calls)})`,
		`  attempts  ${number(attempts.total)}: ${number(attempts.answered)} answered, ${number(attempts.failed)} failed, ${number(attempts.hung)} hung${load} (told by ${plainLine(source.attempts)})`,
		`  service   half of the answers within ${milliseconds(p50Ms)}, 99 % within ${milliseconds(p99Ms)}`,
		faults.length === 0 ? '  faults    none' : '  faults',
		...faults.map((found) => `    ${faultText(found, startedAt)}`),
		...(caveats.length === 0 ? [] : ['  notes']),
		...caveats.map((note) => `    ${plainLine(note)}`),
	].join('\n')
}

function readLines({ lines, events, skipped }: IncidentSummary): string {
	const { unreadable, firstUnreadable, filtered, outliers } = skipped
	const left = [`${number(lines)}, ${number(events)} of them used`]
	if (firstUnreadable)
		left.push(
			`${number(unreadable)} unreadable (the first is line ${number(firstUnreadable.line)}, ${firstUnreadable.why})`,
		)
	if (filtered > 0) left.push(`${number(filtered)} of other pipelines or policies`)
	if (outliers > 0) left.push(`${number(outliers)} an hour or more apart`)
	return left.join('; ')
}

function faultText({ fault, attempts, symptoms }: FoundFault, startedAt: number): string {
	const { fromMs, toMs } = fault
	const times = `${clock(startedAt + fromMs)} to ${clock(startedAt + toMs)}, ${lasting(toMs - fromMs)}`
	return `${times}: ${meaningOf(fault)} (seen by ${number(symptoms)} of ${number(attempts)} attempts)`
}

function meaningOf(fault: FoundFault['fault']): string {
	if (fault.kind === 'slowdown') return `${Number(fault.factor.toPrecision(3))} times as slow`
	if (fault.kind === 'errors')
		return `errors, ${percent(fault.rate)}${fault.status ? ` with status ${fault.status}` : ''}`
	return fault.mode === 'hang' ? 'outage without an answer' : 'outage with refusals'
}
