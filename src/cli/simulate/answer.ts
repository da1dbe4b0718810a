/**
 * What is told of a study, once it is over or was interrupted. The answer comes first, then files, then what was noticed, and last what
 * did not hold: so the reason for a bad exit code is the last line on the screen.
 */
import { toHTML, toJSON, toSVG, toText } from '../../sim/report/report.ts'
import type { StudyResult } from '../../sim/report/study-result.ts'
import type { CommandIo } from '../io.ts'
import type { Verdict } from './assertions.ts'
import { type Forms, writeOut } from './out-files.ts'
import type { Harvest } from './pool.ts'

export interface Found extends Pick<Harvest, 'ended' | 'partial'> {
	readonly outcome: StudyResult
	/** Of an incident, what was read: as data and as a text. */
	readonly read: { readonly data: object; readonly text: string } | undefined
	readonly verdicts: readonly Verdict[]
	/** The limit of events that was asked for. */
	readonly maxEvents: number | undefined
}

const isCut = ({ ended, outcome }: Found): boolean => ended < outcome.planned

export function tell(found: Found, io: CommandIo): void {
	io.result(documentOf(found), () => {
		const { outcome, ended, partial, read } = found
		const isKnown = ended + partial > 0
		const parts = [
			...(read ? [read.text] : []),
			...(isKnown ? [toText(outcome, { columns: io.columns, style: io.style })] : []),
			...(isCut(found) ? [io.style.yellow(cutShort(found))] : []),
		]
		return parts.join('\n\n')
	})
}

function cutShort({ ended, partial, outcome }: Found): string {
	const begun = partial === 0 ? '' : `, and ${partial} as far as ${partial === 1 ? 'it' : 'they'} came`
	return `interrupted: ${ended} of ${outcome.planned} runs${begun}`
}

/** The answer as data, the same for `--json` and for a file. */
function documentOf(found: Found): object {
	const { outcome, ended, partial, read, verdicts } = found
	return {
		...toJSON(outcome),
		...(read && { incident: read.data }),
		...(verdicts.length > 0 && { assertions: verdicts.map(withoutWords) }),
		...(isCut(found) && { interrupted: { ended, partial, planned: outcome.planned } }),
	}
}

const withoutWords = ({ failures, ...verdict }: Verdict): object => ({
	...verdict,
	failures: failures.map(({ told: _, ...failure }) => failure),
})

/** What was interrupted is not written: it would take the place of something whole. */
export async function write(files: readonly string[], found: Found, io: CommandIo): Promise<void> {
	const { outcome } = found
	const forms: Forms = {
		'.svg': () => toSVG(outcome),
		'.html': () => toHTML(outcome),
		'.json': () => `${JSON.stringify(documentOf(found), undefined, '\t')}\n`,
	}
	for (const file of files) {
		if (isCut(found)) io.warn(`${file} is not written, for the study was interrupted`)
		else {
			await writeOut(file, forms)
			io.note(`wrote ${file}`)
		}
	}
}

/** Runs that came to the limit of events have half an answer, which looks like a whole one. */
export function warnOfLimits({ outcome, maxEvents }: Found, io: CommandIo): void {
	for (const { case: one, runs } of outcome.cases) {
		const seeds = runs.filter(({ endedBy }) => endedBy === 'event-limit').map(({ seed }) => seed)
		if (seeds.length === 0) continue
		const limit = maxEvents ?? one.scenario.maxEvents
		const where = limit === undefined ? 'the usual limit of' : `the limit of ${limit}`
		io.warn(
			`${one.name}: ${seeds.length} of ${runs.length} runs ended early, at ${where} events and requests (seed ${seeds[0]}); ` +
				`--max-events raises it, if so many are meant`,
		)
	}
}
