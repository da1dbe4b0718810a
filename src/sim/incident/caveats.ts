/**
 * What the events of an incident cannot show. An estimate without its limits would pass for the truth, so
 * each limit is reported: with a code for programs, and as a sentence for people.
 */
import { formatCount, formatNumber, formatPercent } from '../../text/format.ts'
import type { FoundFault } from './detect/detect-faults.ts'
import { isWide } from './found-faults.ts'
import {
	type Caveat,
	type CaveatCode,
	formatClock,
	type IncidentSummary,
	type MissingMeasurement,
} from './summary.ts'

type Findings = Pick<
	IncidentSummary,
	'faults' | 'startedAt' | 'backgroundErrorRate' | 'workers' | 'reproduction' | 'demand'
> &
	Pick<IncidentSummary['skipped'], 'dropped' | 'outliers'> & { readonly resolutionMs: number }

/** A larger mean difference between recorded and predicted outcomes is reported. */
const MAX_DIFFERENCE = 0.05

export function listCaveats(findings: Findings): readonly Caveat[] {
	const { faults, backgroundErrorRate, dropped, outliers, reproduction } = findings
	const caveats = faults.flatMap((found) => listEdgeCaveats(found, findings))
	const add: Add = (code, text, missing) => void caveats.push({ code, text, ...(missing && { missing }) })
	if (faults.some(({ fault }) => fault.kind === 'outage' && fault.mode === 'hang'))
		add(
			'timeouts',
			'For attempts that timed out only the timeout is known; the replay never responds to them.',
		)
	if (faults.length > 0) addWorkerCaveats(findings, add)
	addDemandCaveats(findings, add)
	if (reproduction.difference > MAX_DIFFERENCE)
		add(
			'not-reproduced',
			`The scenario does not reproduce the events: of the recorded attempts ${formatPercent(reproduction.recordedShare)} got a response, in the scenario ${formatPercent(reproduction.predictedShare)} of them do, and periods differ by ${formatPercent(reproduction.difference)} on average. Do not rely on the replay.`,
			{
				what: 'why these attempts ended as they did',
				shownBy:
					'the true number of requests that the service processes concurrently (the option workers), or metrics of the service from that time',
			},
		)
	if (backgroundErrorRate > 0)
		add(
			'background-errors',
			`Outside of faults ${formatPercent(backgroundErrorRate)} of the attempts failed; the replay leaves them out.`,
		)
	if (dropped > 0)
		add(
			'dropped-events',
			`The event log dropped ${formatCount(dropped, 'event')}: calls are missing, and there may be gaps.`,
		)
	if (outliers > 0)
		add(
			'outliers',
			'Events an hour or more apart were left out: they are from another day, or from a wrong clock.',
		)
	return caveats
}

type Add = (code: CaveatCode, text: string, missing?: MissingMeasurement | false) => void

function addWorkerCaveats({ workers: { estimate, between, isGiven } }: Findings, add: Add): void {
	const [min, max] = between
	if (isGiven || min === Infinity) return
	const upTo = max === Infinity ? ' or more' : max > min ? ` to ${formatNumber(max)}` : ''
	const range = `${formatNumber(min)}${upTo}`
	const advice = 'Set the number of requests that the service processes concurrently, if you know it.'
	const missing = min < max && {
		what: 'how many requests the service processes concurrently',
		shownBy: 'that number, from the configuration of the service (the option workers)',
	}
	if (estimate === Infinity)
		add(
			'unknown-workers',
			`The events show no limit of the service; it may have ${range} workers. ${advice}`,
			missing,
		)
	else add('estimated-workers', `The events allow ${range} workers. ${advice}`, missing)
}

function addDemandCaveats(
	{ demand: { excessShare, nestedRetries, unfinished, withoutId } }: Findings,
	add: Add,
): void {
	if (excessShare > 0)
		add(
			'unseparated-demand',
			`During the faults there were more calls than before: ${formatPercent(excessShare)} of them may be retries of the callers, which another policy would not have caused.`,
			{
				what: 'which calls are retries of the callers',
				shownBy: 'a count of user requests, measured before anything retries them',
			},
		)
	if (nestedRetries > 0)
		add(
			'nested-retries',
			`${formatCount(nestedRetries, 'retry', 'retries')} of other policies inside these calls count as a part of their attempts, not as requests.`,
		)
	if (unfinished > 0)
		add(
			'unfinished-calls',
			`${formatCount(unfinished, 'call')} did not end in the events; ${unfinished === 1 ? 'its start is' : 'their starts are'} estimated.`,
		)
	if (withoutId > 0)
		add(
			'missing-call-ids',
			`${formatCount(withoutId, 'event')} without a call id: retries cannot be assigned to their calls, and each rejection counts as a call.`,
		)
}

const SERVICE_TIME =
	'the processing time of requests, measured in the service without the time in its queue, or a log that includes the recovery'
const PROBES = 'health checks of the service from that time'

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

function listEdgeCaveats(
	{ fault, startsBetweenMs, endsBetweenMs, isOngoing, isEndHidden }: FoundFault,
	{ startedAt, resolutionMs }: Findings,
): Caveat[] {
	const clock = (ms: number) => formatClock(startedAt + ms)
	const name = `The ${fault.kind} at ${clock(fault.fromMs)}`
	const range = (
		verb: string,
		between: readonly [number, number],
		code: CaveatCode,
		reason: string,
		shownBy?: string,
	): Caveat[] =>
		isWide(between, resolutionMs)
			? [
					{
						code,
						text: `${name} may have ${verb} at any time from ${clock(between[0])} to ${clock(between[1])}: ${reason}.`,
						...(shownBy && { missing: { what: `when ${lowerFirst(name)} ${verb}`, shownBy } }),
					},
				]
			: []
	const unseen = 'there were no attempts in between'
	return [
		...range('started', startsBetweenMs, 'unseen-edge', unseen),
		...(isEndHidden
			? range('ended', endsBetweenMs, 'hidden-end', 'the overload that followed looks the same', SERVICE_TIME)
			: range('ended', endsBetweenMs, 'unseen-edge', unseen, PROBES)),
		...(isOngoing && !isWide(endsBetweenMs, resolutionMs)
			? [
					{
						code: 'ongoing-fault' as const,
						text: `${name} was not over when the events end; the replay ends it there.`,
					},
				]
			: []),
	]
}
