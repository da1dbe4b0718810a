/**
 * One thread of a study. Runs are made here even when there is only one thread: the main one must stay free to hear Ctrl-C, and
 * a user's function that never comes back can be ended only from outside.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { systemRuntime } from '../../core/runtime/system.ts'
import { listCases } from '../../sim/run/study.ts'
import { needsTimelines, reportsOf } from './job.ts'
import { type Brief, END, type Job } from './plan.ts'
import { studyFrom } from './source.ts'

const { question, maxEvents }: Brief = workerData
const study = await studyFrom(question)
const world = {
	...{ cases: listCases(study), hasTimelines: needsTimelines(study), maxEvents, tried: new Set<number>() },
	now: () => systemRuntime.now(),
}
parentPort?.on('message', (job: Job | typeof END) => {
	if (job === END) parentPort?.close()
	else for (const report of reportsOf(job, world)) parentPort?.postMessage(report)
})
