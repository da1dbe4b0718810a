/**
 * Runs jobs on worker threads. Each thread receives its next job when it has finished the last, or when the
 * result of another thread makes one available. Results of a plan are ordered by case and seed, so they do
 * not depend on the number or the speed of threads. Neither does the error: of several failed runs the first
 * in that order is reported, so earlier runs are awaited. All threads have ended before a function settles.
 */
import { Worker } from 'node:worker_threads'
import type { SimulationResult } from '../../sim/measure/result.ts'
import { countRuns, END, type Job, type JobPlan, type Seed, splitJobs, type WorkerInput } from './job-plan.ts'
import type { JobReport, Run, RunFailure } from './run-job.ts'

export interface PoolOptions {
	readonly threads: number
	/** Ends the pool early with the results so far. */
	readonly signal: AbortSignal
	/** Called with the number of finished runs; current runs count in part. */
	onProgress(done: number): void
	/** Called with the output of user code, which must not go to standard output. */
	onOutput(text: string): void
}

export interface PoolResult {
	/** The results of each case, in the order of its seeds. Runs that did not start are missing. */
	readonly runs: readonly (readonly SimulationResult[])[]
	readonly ended: number
	/**
	 * The number of incomplete `runs`. Only a case without an ended run has incomplete runs: among ended runs they
	 * would distort every mean.
	 */
	readonly partial: number
}

/** A run failed, or a thread ended while it ran these seeds. */
export class FailedRunError extends Error {
	readonly caseIndex: number
	readonly seeds: readonly Seed[]
	readonly code: string | undefined

	constructor(caseIndex: number, seeds: readonly Seed[], { message, code, stack }: Omit<RunFailure, 'seed'>) {
		super(message)
		this.caseIndex = caseIndex
		this.seeds = seeds
		this.code = code
		if (stack !== undefined) this.stack = stack
	}
}

/** The garbage of a run dies with the run; collecting it earlier only copies what is still in use. */
const LIMITS = { maxYoungGenerationSizeMb: 128 }

/** An idle thread that has not exited after this time is terminated. */
const EXIT_MS = 1_000

/** The sources run as they are; the package is built. */
const WORKER_FILE = new URL(`./worker${import.meta.url.slice(-3)}`, import.meta.url)

/** A thread with its current job and the latest report about its current run. */
interface PoolThread {
	readonly worker: Worker
	job: Job | undefined
	/** The runs of its job that have ended. */
	ended: Set<number>
	current: JobReport['current']
}

/** Hands out jobs to threads, and receives the results. */
export interface JobQueue {
	/** Returns the next job; undefined if none can start before another result arrives, or none is left. */
	next(): Job | undefined
	add(job: Job, run: Run): void
}

const isBefore = (one: Job, other: Job): boolean =>
	one.caseIndex < other.caseIndex || (one.caseIndex === other.caseIndex && one.firstRun < other.firstRun)

/** Runs all jobs of a plan. */
export async function runAll(plan: JobPlan, options: PoolOptions): Promise<PoolResult> {
	const results = plan.seeds.map(() => new Map<number, SimulationResult>())
	const jobs = splitJobs(plan, options.threads)
	const queue: JobQueue = {
		next: () => jobs.next().value,
		add: ({ caseIndex }, { runIndex, result }) => results[caseIndex]?.set(runIndex, result),
	}
	const threads = Math.min(options.threads, countRuns(plan))
	const { request, maxEvents, allTimelines } = plan
	const input = { request, maxEvents, allTimelines }
	const { ended, interrupted } = await runJobs(input, queue, { ...options, threads })
	let partial = 0
	const runs = results.map((own, caseIndex) => {
		if (own.size > 0) return sortByRun(own)
		const incomplete = interrupted.flatMap(({ job, run }) =>
			job.caseIndex === caseIndex ? [[run.runIndex, run.result] as const] : [],
		)
		partial += incomplete.length
		return sortByRun(new Map(incomplete))
	})
	return { runs, ended, partial }
}

/** Runs all jobs of a queue. Returns how many runs ended, and the latest report of the others. */
export async function runJobs(workerData: WorkerInput, queue: JobQueue, options: PoolOptions) {
	const { signal, onProgress, onOutput } = options
	const threads: PoolThread[] = []
	const running = Promise.withResolvers<void>()
	let ended = 0
	/** The first failed job in order, as far as known. */
	let failed: { readonly job: Job; readonly error: FailedRunError } | undefined
	let hasEnded = false

	/** Ends the pool. Failures after this are ignored. */
	const end = () => {
		hasEnded = true
		if (failed) running.reject(failed.error)
		else running.resolve()
	}

	/** Jobs are assigned in order, so all jobs before a failed one have started. */
	const precedesFailure = (job: Job) => !failed || isBefore(job, failed.job)

	const assignNext = (thread: PoolThread) => {
		const job = failed ? undefined : queue.next()
		thread.job = job
		thread.current = undefined
		thread.ended = new Set()
		if (job) thread.worker.postMessage(job)
		else if (threads.every((one) => one.job === undefined || !precedesFailure(one.job))) end()
	}

	const fail = (thread: PoolThread, job: Job, error: FailedRunError) => {
		if (precedesFailure(job)) failed = { job, error }
		assignNext(thread)
	}

	const onReport = (thread: PoolThread, report: JobReport) => {
		const { job } = thread
		if (!job) return
		for (const run of report.ended) {
			thread.ended.add(run.runIndex)
			queue.add(job, run)
		}
		ended += report.ended.length
		thread.current = report.current
		onProgress(threads.reduce((sum, { current }) => sum + (current?.share ?? 0), ended))
		const { failure } = report
		if (failure) fail(thread, job, new FailedRunError(job.caseIndex, [failure.seed], failure))
		else if (report.isLast) assignNext(thread)
		// The result may have made jobs available.
		for (const idle of threads) if (!hasEnded && idle.job === undefined) assignNext(idle)
	}

	/** A thread ends by itself only if something is wrong. */
	const onThreadEnd = (thread: PoolThread, error: unknown) => {
		const { job, current } = thread
		// The 'error' event is followed by 'exit'.
		if (hasEnded || (failed && !job)) return
		const { message = String(error), stack, code }: Partial<Error & { code: string }> = Object(error)
		/** Whether this run may have been the current one when its thread ended. */
		const mayBeCurrent = (run: number) => !thread.ended.has(run) && run >= (current?.runIndex ?? 0)
		const seeds = job?.seeds.filter((_, offset) => mayBeCurrent(job.firstRun + offset)) ?? []
		const failure = new FailedRunError(job?.caseIndex ?? 0, seeds, { message, code, stack })
		if (job) fail(thread, job, failure)
		else running.reject(failure)
	}

	const spawn = () => {
		const worker = new Worker(WORKER_FILE, { workerData, stdout: true, stderr: true, resourceLimits: LIMITS })
		const thread: PoolThread = { worker, job: undefined, ended: new Set(), current: undefined }
		threads.push(thread)
		worker.on('message', (report: JobReport) => onReport(thread, report))
		worker.on('error', (error) => onThreadEnd(thread, error))
		worker.on('exit', (code) => onThreadEnd(thread, new Error(`the thread ended with exit code ${code}`)))
		for (const stream of [worker.stdout, worker.stderr]) stream.setEncoding('utf8').on('data', onOutput)
		assignNext(thread)
	}

	signal.addEventListener('abort', end)
	try {
		const count = signal.aborted ? 0 : options.threads
		for (let thread = 0; thread < count; thread++) spawn()
		if (count === 0) end()
		await running.promise
	} finally {
		hasEnded = true
		signal.removeEventListener('abort', end)
		await Promise.all(threads.map(({ worker, job }) => (job ? worker.terminate() : endIdle(worker))))
	}
	const interrupted = threads.flatMap(({ job, current }) => (job && current ? [{ job, run: current }] : []))
	return { ended, interrupted }
}

/**
 * Lets an idle thread exit by itself. Node can crash with SIGSEGV when threads are terminated and started in
 * quick succession (nodejs/node#56312), so force is only used on a thread that is running, or that code of
 * the user keeps alive.
 */
async function endIdle(worker: Worker): Promise<void> {
	if (worker.threadId < 0) return
	const exited = new Promise((resolve) => worker.once('exit', resolve))
	worker.postMessage(END)
	const timer = setTimeout(() => void worker.terminate(), EXIT_MS)
	await exited
	clearTimeout(timer)
}

const sortByRun = (results: ReadonlyMap<number, SimulationResult>): readonly SimulationResult[] =>
	[...results].sort(([a], [b]) => a - b).map(([, result]) => result)
