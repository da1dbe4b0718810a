/**
 * Prints the result of a study when it ended or was interrupted: first the result, then files, then warnings. Failed assertions
 * come last, so the reason for the exit code is the last line on the screen.
 */
import { toHTML, toJSON, toSVG, toText } from '../../sim/report/report.ts'
import type { StudyResult } from '../../sim/report/study-result.ts'
import type { CommandIo } from '../io.ts'
import type { AssertionResult } from './assertions.ts'
import { type FileContents, writeOutFile } from './out-files.ts'
import type { PoolResult } from './pool.ts'

export interface StudyOutput extends Pick<PoolResult, 'ended' | 'partial'> {
	readonly result: StudyResult
	/** The incident that was read, as data and as text. */
	readonly incident: { readonly data: object; readonly text: string } | undefined
	readonly assertions: readonly AssertionResult[]
	/** `--max-events`, if given. */
	readonly maxEvents: number | undefined
}

const isInterrupted = ({ ended, result }: StudyOutput): boolean => ended < result.planned

export function printResult(output: StudyOutput, io: CommandIo): void {
	io.result(toDocument(output), () => {
		const { result, ended, partial, incident } = output
		const hasRuns = ended + partial > 0
		return [
			...(incident ? [incident.text] : []),
			...(hasRuns ? [toText(result, { columns: io.columns, style: io.style })] : []),
			...(isInterrupted(output) ? [io.style.yellow(interruptedText(output))] : []),
		].join('\n\n')
	})
}

const interruptedText = ({ ended, partial, result }: StudyOutput): string =>
	`Interrupted after ${ended} of ${result.planned} runs${partial === 0 ? '' : `, ${partial} shown in part`}.`

/** The same document for `--json` and for a .json file. */
function toDocument(output: StudyOutput): object {
	const { result, ended, partial, incident, assertions } = output
	return {
		...toJSON(result),
		...(incident && { incident: incident.data }),
		...(assertions.length > 0 && { assertions: assertions.map(withoutMessages) }),
		...(isInterrupted(output) && { interrupted: { ended, partial, planned: result.planned } }),
	}
}

const withoutMessages = ({ failures, ...assertion }: AssertionResult): object => ({
	...assertion,
	failures: failures.map(({ message: _, ...failure }) => failure),
})

/** Writes the files of `--out`. An interrupted study writes none: it would replace a complete result. */
export async function writeFiles(
	files: readonly string[],
	output: StudyOutput,
	io: CommandIo,
): Promise<void> {
	const { result } = output
	const contents: FileContents = {
		'.svg': () => toSVG(result),
		'.html': () => toHTML(result),
		'.json': () => `${JSON.stringify(toDocument(output), undefined, '\t')}\n`,
	}
	for (const file of files) {
		if (isInterrupted(output)) io.warn(`${file} is not written because the study was interrupted`)
		else {
			await writeOutFile(file, contents)
			io.note(`wrote ${file}`)
		}
	}
}

/** A run that reached the event limit has an incomplete result that looks complete. */
export function warnAboutEventLimits({ result, maxEvents }: StudyOutput, io: CommandIo): void {
	for (const {
		case: { name, scenario },
		runs,
	} of result.cases) {
		const [first, ...others] = runs.filter(({ endedBy }) => endedBy === 'event-limit')
		if (!first) continue
		const limit = maxEvents ?? scenario.maxEvents
		const reached = limit === undefined ? 'the default event limit' : `the limit of ${limit} events`
		io.warn(
			`${name}: ${others.length + 1} of ${runs.length} runs ended early at ${reached} (first: seed ${first.seed}); raise it with --max-events`,
		)
	}
}
