/** What could not be known, in sentences: an estimate that does not say how good it is would be taken for the truth. */
import type { FoundFault } from './faults.ts'
import { clock, percent } from './wording.ts'

export interface Findings {
	readonly faults: readonly FoundFault[]
	readonly startedAt: number
	readonly resolutionMs: number
	readonly workers: number
	readonly background: number
	readonly apart: number
}

export function notesOn(findings: Findings): readonly string[] {
	const { faults, workers, background, apart } = findings
	const hangs = faults.some(({ fault }) => fault.kind === 'outage' && fault.mode === 'hang')
	const slows = faults.some(({ fault }) => fault.kind === 'slowdown')
	const notes = faults.flatMap((found) => edgesOf(found, findings))
	if (hangs)
		notes.push(
			'Of attempts that hung it is only known how long they were waited for; the replay never answers them.',
		)
	if ((hangs || slows) && workers === Infinity)
		notes.push(
			'Slow and missing answers are all blamed on the service. If load made it slow, say how many requests it works on at once.',
		)
	if (background > 0)
		notes.push(`Outside of faults ${percent(background)} of the attempts failed; the replay leaves them out.`)
	if (apart > 0)
		notes.push(
			'Events that stand an hour or more apart were left out: another day, or a clock that is wrong.',
		)
	return notes
}

function edgesOf(
	{ fault, startsBetween, endsBetween, isOngoing }: FoundFault,
	{ startedAt, resolutionMs }: Findings,
): string[] {
	const at = (ms: number) => clock(startedAt + ms)
	const name = `The ${fault.kind} of ${at(fault.fromMs)}`
	const range = (did: string, [least, greatest]: readonly [number, number]) =>
		greatest - least > 3 * resolutionMs
			? [
					`${name} may have ${did} at any time from ${at(least)} to ${at(greatest)}, for nobody tried in between.`,
				]
			: []
	return [
		...range('begun', startsBetween),
		...range('ended', endsBetween),
		...(isOngoing && endsBetween[1] - endsBetween[0] <= 3 * resolutionMs
			? [`${name} was not over when the events end; the replay ends it there.`]
			: []),
	]
}
