/** From what was asked on the command line to what is answered: opens a study, runs it on all cores, and tells what came of it. */
import { availableParallelism } from 'node:os'
import { toStudyResult } from '../../sim/report/run-study.ts'
import { listCases, type Study, type StudyCase } from '../../sim/run/study.ts'
import type { ExitKind } from '../errors.ts'
import { CliError, toFailure } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { type Found, tell, warnOfLimits, write } from './answer.ts'
import { checkFailure, judge, readAssertion } from './assertions.ts'
import { checkOutFiles } from './out-files.ts'
import { planOf, runsIn, type Wishes } from './plan.ts'
import { BrokenRun, type Harvest, harvest } from './pool.ts'
import { type Question, sourceOf, studyFrom } from './source.ts'

/** What the options ask for. */
export interface Request extends Wishes {
	/** A name or a file; undefined is an incident. */
	readonly scenario: string | undefined
	readonly variant: readonly string[]
	readonly workers: number | undefined
	readonly out: readonly string[]
	readonly assert: readonly string[]
	readonly incident: string | undefined
	readonly policy: string | undefined
	readonly pipeline: string | undefined
	readonly toldBy: readonly string[]
	readonly capacity: number | undefined
}

/** A study, and how threads come by it. */
interface Opened {
	readonly question: Question
	readonly study: Study
	/** For messages. */
	readonly name: string
	readonly read: Found['read']
}

export async function runStudy(request: Request, io: CommandIo): Promise<ExitKind> {
	await checkOutFiles(request.out)
	const opened = await untilAborted(open(request, io.signal), io.signal)
	const { study, read } = opened
	const assertions = request.assert.map((text) => readAssertion(text, study))
	const { runs, ...counts } = await harvested(request, opened, io)
	const outcome = toStudyResult(study, request.replications, runs)
	const isWhole = counts.ended === outcome.planned
	const verdicts = isWhole ? assertions.map((one) => judge(one, outcome)) : []
	const found: Found = { ...counts, outcome, read, verdicts, maxEvents: request.maxEvents }
	tell(found, io)
	await write(request.out, found, io)
	warnOfLimits(found, io)
	const failure = checkFailure(verdicts)
	if (failure) throw failure
	return 'ok'
}

async function open(request: Request, signal: AbortSignal): Promise<Opened> {
	const { scenario, incident, variant: variants } = request
	if (scenario !== undefined) {
		const question = { source: sourceOf(scenario), variants }
		return { question, study: await studyFrom(question), name: scenario, read: undefined }
	}
	if (incident === undefined) throw new CliError('usage', 'NAME|FILE is missing')
	const { formatIncident, readIncident, timeoutFor } = await import('./incident.ts')
	const { policy, pipeline, toldBy, capacity } = request
	const told = { pipeline, workers: capacity, ...(toldBy.length > 0 && { policy: toldBy }) }
	const found = await readIncident(incident, told, signal)
	const replay = { scenario: found.scenario, timeoutMs: timeoutFor(found), policy }
	const question: Question = { source: { kind: 'incident', ...replay }, variants }
	const read = { data: found.summary, text: formatIncident(found.summary) }
	return { question, study: await studyFrom(question), name: policy ?? incident, read }
}

async function harvested(
	request: Request,
	{ study, question, name }: Opened,
	io: CommandIo,
): Promise<Harvest> {
	const plan = planOf(study, question, request)
	const progress = io.progress('simulating', runsIn(plan))
	progress.update(0)
	try {
		return await harvest(plan, {
			threads: request.workers ?? availableParallelism(),
			signal: io.signal,
			progress: (done) => progress.update(done),
			printed: (text) => io.note(text.trimEnd()),
		})
	} catch (error) {
		throw error instanceof BrokenRun ? broken(error, listCases(study), name) : error
	} finally {
		progress.end()
	}
}

/** What became of a run that broke, and how to see it again. */
function broken(cause: BrokenRun, cases: readonly StudyCase[], name: string): CliError {
	const { kind, message } = toFailure(cause)
	const [first, ...others] = cause.seeds
	const one = cases[cause.index]
	const where = one?.x === undefined ? (one?.name ?? name) : `${one.name} at ${one.x}, ${one.y}`
	const seed = others.length === 0 ? `seed ${first}` : `one of the seeds ${first} to ${others.at(-1)}`
	return new CliError(kind, `${name}: ${where}, ${seed}: ${message}`, {
		cause,
		hint: `--variant '${one?.name}' --seed ${first} --replications 1 repeats it, and --debug shows where it happened.`,
	})
}

/** Work that may take for ever, such as loading a module that waits for a server, ends with Ctrl-C all the same. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
	return new Promise((resolve, reject) => {
		const stop = () => reject(signal.reason)
		signal.addEventListener('abort', stop)
		work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
	})
}
