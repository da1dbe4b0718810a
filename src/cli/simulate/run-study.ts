/**
 * Runs a study on all cores and prints its result, also if it was interrupted: first the result, then files,
 * then warnings. Failed assertions come last, so the reason for the exit code is the last line on the screen.
 */
import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import type { IncidentSummary } from '../../sim/incident/summary.ts'
import { isReproduced } from '../../sim/incident/verdict.ts'
import { serviceNames, withChartOptions } from '../../sim/report/chart-subject.ts'
import { toHTML, toSVG, toText } from '../../sim/report/report.ts'
import { toStudyResult } from '../../sim/report/run-study.ts'
import { type Timelines, toJSON } from '../../sim/report/study-json.ts'
import type { StudyResult } from '../../sim/report/study-result.ts'
import { listCases, type Study, type StudyCase } from '../../sim/run/study.ts'
import { CliError, toFailure, usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { unknownName } from '../parse-arguments.ts'
import { checkOutFile, writeWholeFile } from '../user-files.ts'
import { type AssertionResult, assertionError, checkAssertion, parseAssertion } from './assertions.ts'
import { countRuns, planJobs, type RunOptions } from './job-plan.ts'
import type { SimulateArguments } from './options.ts'
import { FailedRunError, type PoolResult, runAll } from './pool.ts'
import {
	formatRanges,
	formatUndecided,
	type ReplayResult,
	splitAlternatives,
	withNotes,
} from './replay-ranges.ts'
import { loadStudy, resolveSource, type StudyRequest } from './study-source.ts'

/** The arguments of the command, with a parsed seed. */
export type SimulateOptions = Omit<SimulateArguments, 'seed'> & RunOptions

export async function runStudy(options: SimulateOptions, io: CommandIo): Promise<undefined> {
	await checkOutFiles(options.out)
	const loaded = await loadOrAbort(options, io.signal)
	const { incident } = loaded
	const study = selectChart(loaded.study, options)
	const assertions = options.assert.map((text) => parseAssertion(text, study))
	const { runs, ...counts } = await simulateAll(options, loaded, io)
	const all = toStudyResult(study, options.replications, runs)
	const isComplete = counts.ended === all.planned
	const caveats = incident?.data.caveats ?? []
	const checked = isComplete ? assertions.map((one) => checkAssertion(one, all, isReproduced(caveats))) : []
	const output: StudyOutput = {
		...counts,
		all,
		replay: splitAlternatives(all, caveats),
		incident,
		assertions: checked,
		maxEvents: options.maxEvents,
		timelines: options.timelines,
	}
	printResult(output, io)
	await writeFiles(options.out, output, io)
	warnAboutEventLimits(output, io)
	const error = assertionError(checked)
	if (error) throw error
}

/** Loads a study until the signal aborts: a module that waits for a server may never end. */
export function loadOrAbort(options: SimulateOptions, signal: AbortSignal): ReturnType<typeof load> {
	const aborted = Promise.withResolvers<never>()
	signal.addEventListener('abort', () => aborted.reject(signal.reason))
	return Promise.race([load(options, signal), aborted.promise])
}

/** Returns the study, its source, and the name of its file for messages. */
async function load(options: SimulateOptions, signal: AbortSignal) {
	const { scenario, incident: file, variant: variants } = options
	if (scenario !== undefined) {
		const request: StudyRequest = { source: resolveSource(scenario), variants }
		return { request, study: await loadStudy(request), name: scenario, incident: undefined }
	}
	if (file === undefined) throw usageError('Missing argument NAME|FILE.')
	const { formatIncident, readIncident, suggestTimeout } = await import('./read-incident.ts')
	const { policy, pipeline, fromPolicy, workers } = options
	const selection = { pipeline, workers, ...(fromPolicy.length > 0 && { policy: fromPolicy }) }
	const found = await readIncident(file, selection, signal)
	const { scenario: likely, alternatives } = found
	const replay = { scenario: likely, alternatives, timeoutMs: suggestTimeout(found), policy }
	const request: StudyRequest = { source: { kind: 'incident', ...replay }, variants }
	const incident = { data: found.summary, text: formatIncident(found.summary) }
	return { request, study: await loadStudy(request), name: policy ?? file, incident }
}

/** Returns the study with the chart of `--chart` and `--service`. */
function selectChart(study: Study, { chart, service }: SimulateOptions): Study {
	const names = serviceNames(study)
	for (const name of service)
		if (name !== 'all' && !names.includes(name)) throw unknownName('--service', name, [...names, 'all'])
	const services = service.includes('all') ? 'all' : service.length > 0 ? service : undefined
	return withChartOptions(study, { chart, services })
}

async function simulateAll(
	options: SimulateOptions,
	{ study, request, name }: Awaited<ReturnType<typeof load>>,
	io: CommandIo,
): Promise<PoolResult> {
	const plan = planJobs(study, request, options)
	const progress = io.progress('simulating', countRuns(plan))
	progress.update(0)
	try {
		return await runAll(plan, {
			threads: options.threads ?? availableParallelism(),
			signal: io.signal,
			onProgress: (done) => progress.update(done),
			onOutput: (text) => io.note(text.trimEnd()),
		})
	} catch (error) {
		throw error instanceof FailedRunError ? describeFailedRun(error, listCases(study), name) : error
	} finally {
		progress.end()
	}
}

/** Returns the error for a failed run, with the options that repeat it. */
function describeFailedRun(cause: FailedRunError, cases: readonly StudyCase[], name: string): CliError {
	const { kind, message } = toFailure(cause)
	const [first, ...others] = cause.seeds
	const one = cases[cause.caseIndex]
	const where = one?.x === undefined ? (one?.name ?? name) : `${one.name} at ${one.x}, ${one.y}`
	const seed = others.length === 0 ? `seed ${first}` : `one of the seeds ${first} to ${others.at(-1)}`
	return new CliError(kind, `${name}: ${where}, ${seed}: ${message}`, {
		cause,
		hint: `Repeat it with --variant '${one?.name}' --seed ${first} --replications 1; --debug shows the stack trace.`,
	})
}

/** The incident that was read, as data and as text. */
export interface LoadedIncident {
	readonly data: IncidentSummary
	readonly text: string
}

interface StudyOutput extends Pick<PoolResult, 'ended' | 'partial'> {
	/** All cases, including the alternatives of an incident. */
	readonly all: StudyResult
	/** The cases to show, and their ranges over the scenarios that the events of an incident allow. */
	readonly replay: ReplayResult
	readonly incident: LoadedIncident | undefined
	readonly assertions: readonly AssertionResult[]
	readonly maxEvents: number | undefined
	readonly timelines: Timelines | undefined
}

const isInterrupted = ({ ended, all }: StudyOutput): boolean => ended < all.planned

function printResult(output: StudyOutput, io: CommandIo): void {
	io.result(toDocument(output), () => {
		const { replay, ended, partial, incident } = output
		const hasRuns = ended + partial > 0
		const { shown, ranges } = replay
		return [
			incident?.text ?? '',
			hasRuns && incident ? formatUndecided(ranges, incident.data, io.columns) : '',
			hasRuns && shown.cases.length > 0 ? toText(shown, { columns: io.columns, style: io.style }) : '',
			hasRuns ? formatRanges(replay, io.columns) : '',
			isInterrupted(output) ? io.style.yellow(interruptedText(output)) : '',
		]
			.filter((part) => part !== '')
			.join('\n\n')
	})
}

const interruptedText = ({ ended, partial, all }: StudyOutput): string =>
	`Interrupted after ${ended} of ${all.planned} runs${partial === 0 ? '' : `, ${partial} shown in part`}.`

/** The same document for `--json` and for a .json file. */
function toDocument(output: StudyOutput): object {
	const { all, replay, ended, partial, incident, assertions, timelines } = output
	const { ranges, shown } = replay
	// A program that reads the first value must not find one of a log that is not reproduced.
	const result = shown.cases.length > 0 ? all : shown
	return {
		...toJSON(withNotes(result, ranges, incident?.data), { timelines }),
		...(incident && { incident: { ...incident.data, ranges } }),
		...(assertions.length > 0 && { assertions: assertions.map(withoutMessages) }),
		...(isInterrupted(output) && { interrupted: { ended, partial, planned: all.planned } }),
	}
}

const withoutMessages = ({ failures, ...assertion }: AssertionResult): object => ({
	...assertion,
	failures: failures.map(({ message: _, ...failure }) => failure),
})

/** Writes the files of `--out`. An interrupted study writes none: it would replace a complete result. */
async function writeFiles(files: readonly string[], output: StudyOutput, io: CommandIo): Promise<void> {
	const { replay, incident } = output
	const result = withNotes(replay.shown, replay.ranges, incident?.data)
	const contents: FileContents = {
		'.svg': () => toSVG(result),
		'.html': () => toHTML(result),
		'.json': () => formatJson(toDocument(output)),
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
function warnAboutEventLimits({ all, maxEvents }: StudyOutput, io: CommandIo): void {
	for (const {
		case: { name, scenario },
		runs,
	} of all.cases) {
		const [first, ...others] = runs.filter(({ endedBy }) => endedBy === 'event-limit')
		if (!first) continue
		const limit = maxEvents ?? scenario.maxEvents
		const reached = limit === undefined ? 'the default event limit' : `the limit of ${limit} events`
		io.warn(
			`${name}: ${others.length + 1} of ${runs.length} runs ended early at ${reached} (first: seed ${first.seed}); raise it with --max-events`,
		)
	}
}

/** The content of a file by its extension, rendered on demand. */
export type FileContents = Readonly<Record<'.svg' | '.html' | '.json', () => string>>

type Extension = keyof FileContents
const EXTENSIONS: readonly Extension[] = ['.svg', '.html', '.json']

/** Throws for files that cannot be written, before anything runs: not after a minute of work. */
export async function checkOutFiles(files: readonly string[]): Promise<void> {
	for (const file of files) {
		if (extensionOf(file) === undefined)
			throw new InvalidOptionError('--out', file, `a file with extension ${EXTENSIONS.join(', ')}`)
		await checkOutFile(file)
	}
}

/** A list of numbers with a line each. In JSON, line ends are only between its parts. */
const NUMBER_LIST = /\[\n\t+[-+.\de]+(?:,\n\t+[-+.\de]+)*\n\t+\]/g

/** Formats data for people, with each list of numbers in one line: a timeline has thousands of them. */
export const formatJson = (data: object): string =>
	`${JSON.stringify(data, undefined, '\t').replace(NUMBER_LIST, (list) => list.replace(/\n\t+/g, ''))}\n`

export const writeOutFile = (file: string, contents: FileContents): Promise<void> =>
	writeWholeFile(file, contents[extensionOf(file) ?? '.json'])

const extensionOf = (file: string): Extension | undefined =>
	EXTENSIONS.find((extension) => extension === extname(file).toLowerCase())
