/** Runs a study on all cores and prints its result. */
import { availableParallelism } from 'node:os'
import { toStudyResult } from '../../sim/report/run-study.ts'
import { listCases, type Study, type StudyCase } from '../../sim/run/study.ts'
import { CliError, type ExitKind, toFailure } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { assertionError, checkAssertion, parseAssertion } from './assertions.ts'
import { countRuns, planJobs, type RunOptions } from './job-plan.ts'
import type { SimulateArguments } from './options.ts'
import { checkOutFiles } from './out-files.ts'
import { FailedRunError, type PoolResult, runAll } from './pool.ts'
import { printResult, type StudyOutput, warnAboutEventLimits, writeFiles } from './render-result.ts'
import { loadStudy, resolveSource, type StudyRequest } from './study-source.ts'

/** The arguments of the command, with a parsed seed. */
type SimulateOptions = Omit<SimulateArguments, 'seed'> & RunOptions

interface LoadedStudy {
	readonly request: StudyRequest
	readonly study: Study
	/** For messages. */
	readonly name: string
	readonly incident: StudyOutput['incident']
}

export async function runStudy(options: SimulateOptions, io: CommandIo): Promise<ExitKind> {
	await checkOutFiles(options.out)
	const loaded = await raceAbort(load(options, io.signal), io.signal)
	const { study, incident } = loaded
	const assertions = options.assert.map((text) => parseAssertion(text, study))
	const { runs, ...counts } = await simulateAll(options, loaded, io)
	const result = toStudyResult(study, options.replications, runs)
	const isComplete = counts.ended === result.planned
	const checked = isComplete ? assertions.map((one) => checkAssertion(one, result)) : []
	const output = { ...counts, result, incident, assertions: checked, maxEvents: options.maxEvents }
	printResult(output, io)
	await writeFiles(options.out, output, io)
	warnAboutEventLimits(output, io)
	const error = assertionError(checked)
	if (error) throw error
	return 'ok'
}

async function load(options: SimulateOptions, signal: AbortSignal): Promise<LoadedStudy> {
	const { scenario, incident: file, variant: variants } = options
	if (scenario !== undefined) {
		const request = { source: resolveSource(scenario), variants }
		return { request, study: await loadStudy(request), name: scenario, incident: undefined }
	}
	if (file === undefined) throw new CliError('usage', 'Missing argument NAME|FILE.')
	const { formatIncident, readIncident, suggestTimeout } = await import('./read-incident.ts')
	const { policy, pipeline, fromPolicy, capacity } = options
	const selection = { pipeline, workers: capacity, ...(fromPolicy.length > 0 && { policy: fromPolicy }) }
	const found = await readIncident(file, selection, signal)
	const replay = { scenario: found.scenario, timeoutMs: suggestTimeout(found), policy }
	const request: StudyRequest = { source: { kind: 'incident', ...replay }, variants }
	const incident = { data: found.summary, text: formatIncident(found.summary) }
	return { request, study: await loadStudy(request), name: policy ?? file, incident }
}

async function simulateAll(
	options: SimulateOptions,
	{ study, request, name }: LoadedStudy,
	io: CommandIo,
): Promise<PoolResult> {
	const plan = planJobs(study, request, options)
	const progress = io.progress('simulating', countRuns(plan))
	progress.update(0)
	try {
		return await runAll(plan, {
			threads: options.workers ?? availableParallelism(),
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

/** Rejects on abort. The work itself, for example a module that waits for a server, may never end. */
function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
	return new Promise((resolve, reject) => {
		const stop = () => reject(signal.reason)
		signal.addEventListener('abort', stop)
		work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
	})
}
