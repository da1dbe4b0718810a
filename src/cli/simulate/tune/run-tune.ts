/**
 * `yaoki simulate --tune`: searches for the smallest change to policies that satisfies all constraints, on
 * all cores. The search plans, threads run, so the result does not depend on the number of threads. Ctrl-C
 * prints the best so far.
 */
import { availableParallelism } from 'node:os'
import { isReproduced, listMissing } from '../../../sim/incident/verdict.ts'
import { NOT_REPRODUCED } from '../../../sim/run/expect.ts'
import { DEFAULT_TUNE_REPLICATIONS } from '../../../sim/tune/options.ts'
import type { Search, SearchTask } from '../../../sim/tune/search.ts'
import { createSearch } from '../../../sim/tune/tune.ts'
import { sanitizeLine } from '../../../text/sanitize.ts'
import type { CommandResult } from '../../command.ts'
import { CliError, toFailure } from '../../errors.ts'
import type { CommandIo } from '../../io.ts'
import { parseAssertion } from '../assertions.ts'
import type { Job, WorkerInput } from '../job-plan.ts'
import { FailedRunError, type JobQueue, runJobs } from '../pool.ts'
import { type LoadedIncident, loadOrAbort, type SimulateOptions } from '../run-study.ts'
import {
	constraintTexts,
	defaultConstraints,
	findPolicies,
	findTargets,
	type TuneTarget,
	toConstraints,
} from './tune-input.ts'
import { failureText, type TuneOutput, toDocument, toText } from './tune-output.ts'

export async function runTune(options: SimulateOptions, io: CommandIo): CommandResult {
	const { request, study, name, incident } = await loadOrAbort(options, io.signal)
	const targets = findTargets(study, name)
	const [target] = targets
	if (incident && !isReproduced(incident.data.caveats)) return rejectIncident(target.name, incident, io)
	const scenarios = targets.map((one) => ({ ...one.scenario, seed: options.seed ?? one.scenario.seed }))
	const scenario = scenarios[0] ?? target.scenario
	const assertions = options.assert.map((text) => parseAssertion(text, study))
	const constraints = assertions.length > 0 ? toConstraints(assertions) : defaultConstraints(scenarios)
	const replications = options.replications ?? study.replications ?? DEFAULT_TUNE_REPLICATIONS
	const { objective = 'goodShare', maxSteps, sensitivity } = options
	const settings = { constraints, objective, replications, maxSteps, sensitivity }
	const search = createSearch(findPolicies(scenario, options.tunePolicy), scenarios, settings)
	if (assertions.length === 0)
		io.note(`Without --assert, the constraints are: ${constraintTexts(constraints).join(', ')}.`)
	await drive(search, { request, maxEvents: options.maxEvents, allTimelines: false }, targets, options, io)
	const output: TuneOutput = {
		title: target.name,
		scenario,
		incident,
		constraints,
		objective,
		replications,
		maxSteps,
		result: search.result(),
		isInterrupted: !search.isDone,
	}
	io.result(toDocument(output), () => toText(output, io))
	if (output.isInterrupted || output.result.survives) return 'ok'
	throw new CliError('checkFailed', failureText(output))
}

/** Recommends nothing: a scenario that does not reproduce the log is another incident. */
function rejectIncident(title: string, { data, text }: LoadedIncident, io: CommandIo): never {
	const reason = `Cannot be decided from this log: ${NOT_REPRODUCED}.`
	io.result({ title, survives: false, changes: [], undecided: NOT_REPRODUCED, incident: data }, () =>
		[text, [reason, ...listMissing(data.caveats).map(sanitizeLine)].join('\n')].join('\n\n'),
	)
	throw new CliError('checkFailed', `No policy is recommended: ${NOT_REPRODUCED}.`)
}

async function drive(
	search: Search,
	input: WorkerInput,
	targets: readonly TuneTarget[],
	{ threads = availableParallelism() }: SimulateOptions,
	io: CommandIo,
): Promise<void> {
	const progress = io.progress('tuning', search.progress.total)
	progress.update(0)
	try {
		const queue = jobsOf(search, targets, () => progress.update(search.progress.done))
		const onOutput = (text: string) => io.note(text.trimEnd())
		await runJobs(input, queue, { threads, signal: io.signal, onProgress: () => {}, onOutput })
	} catch (error) {
		if (!(error instanceof FailedRunError)) throw error
		const { kind, message } = toFailure(error)
		throw new CliError(kind, `${targets[0]?.name}: seed ${error.seeds[0]}: ${message}`, { cause: error })
	} finally {
		progress.end()
	}
}

/** A job is one run. It is numbered instead of named by its seed, because many runs have the same seed. */
function jobsOf(search: Search, targets: readonly TuneTarget[], onResult: () => void): JobQueue {
	const tasks = new Map<number, SearchTask>()
	return {
		next(): Job | undefined {
			const task = search.next()
			if (!task) return undefined
			tasks.set(task.id, task)
			const caseIndex = targets[task.scenario]?.index ?? 0
			return { caseIndex, firstRun: task.id, seeds: [task.seed], changes: task.changes }
		},
		add({ firstRun }, { result }) {
			const task = tasks.get(firstRun)
			tasks.delete(firstRun)
			if (task) search.add(task, result)
			onResult()
		},
	}
}
