/**
 * One thread of a study. Simulations run here even with a single thread: the main thread must stay free to
 * handle Ctrl-C, and a function of the user that never returns can only be stopped from another thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { systemRuntime } from '../../core/runtime/system.ts'
import { listCases } from '../../sim/run/study.ts'
import { END, type Job, type WorkerInput } from './job-plan.ts'
import { needsTimelines, runJob } from './run-job.ts'
import { loadStudy } from './study-source.ts'

const { request, maxEvents, allTimelines }: WorkerInput = workerData
const study = await loadStudy(request)
const context = {
	cases: listCases(study),
	keepsTimelines: allTimelines || needsTimelines(study),
	maxEvents,
	triedCases: new Set<number>(),
	now: () => systemRuntime.now(),
}
parentPort?.on('message', (job: Job | typeof END) => {
	if (job === END) parentPort?.close()
	else for (const report of runJob(job, context)) parentPort?.postMessage(report)
})
