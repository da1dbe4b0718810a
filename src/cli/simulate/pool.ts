/**
 * Runs a job plan on worker threads. Each thread receives its next job when it has finished the last. Results are ordered by
 * case and seed, so they do not depend on the number or the speed of threads. Neither does the error: of several failed runs the
 * first in that order is reported, so earlier runs are awaited. All threads have ended before `runAll` settles.
 */
import { Worker } from 'node:worker_threads'
import type { SimulationResult } from '../../sim/measure/result.ts'
import { countRuns, END, type Job, type JobPlan, type Seed, splitJobs, type WorkerInput } from './job-plan.ts'
import type { JobReport, RunFailure } from './run-job.ts'

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
	/** By case, in the order of its seeds. Runs that did not start are missing. */
	readonly runs: readonly (readonly SimulationResult[])[]
	/** How many runs have ended. */
	readonly ended: number
	/**
	 * How many of `runs` are incomplete. Only a case without an ended run has them: among ended runs they would distort every
	 * mean.
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
const WORKER_FILE = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

export async function runAll(plan: JobPlan, options: PoolOptions): Promise<PoolResult> {
	const { signal, threads } = options
	const pool = new Pool(plan, options)
	const stop = () => pool.end()
	signal.addEventListener('abort', stop)
	try {
		if (!signal.aborted) await pool.run(Math.min(threads, countRuns(plan)))
	} finally {
		signal.removeEventListener('abort', stop)
		await pool.close()
	}
	return pool.result()
}

/** A thread with its current job and the latest report about its current run. */
interface PoolThread {
	readonly worker: Worker
	job: Job | undefined
	current: JobReport['current']
}

interface FailedJob {
	readonly job: Job
	readonly error: FailedRunError
}

const isBefore = (one: Job, other: Job): boolean =>
	one.caseIndex < other.caseIndex || (one.caseIndex === other.caseIndex && one.firstRun < other.firstRun)

class Pool {
	readonly #plan: JobPlan
	readonly #options: PoolOptions
	readonly #jobs: Generator<Job, undefined>
	readonly #results: Map<number, SimulationResult>[]
	readonly #threads: PoolThread[] = []
	#ended = 0
	/** The first failed job in order, as far as known. */
	#failed: FailedJob | undefined
	#hasEnded = false
	/** Settle the promise of `run`. */
	#resolve: () => void = () => {}
	#reject: (error: unknown) => void = () => {}

	constructor(plan: JobPlan, options: PoolOptions) {
		this.#plan = plan
		this.#options = options
		this.#jobs = splitJobs(plan, options.threads)
		this.#results = plan.seeds.map(() => new Map())
	}

	run(threads: number): Promise<void> {
		return new Promise((resolve, reject) => {
			this.#resolve = resolve
			this.#reject = reject
			for (let thread = 0; thread < threads; thread++) this.#spawn()
			if (threads === 0) this.end()
		})
	}

	/** Settles `run`. Failures after this are ignored. */
	end(): void {
		this.#hasEnded = true
		if (this.#failed) this.#reject(this.#failed.error)
		else this.#resolve()
	}

	/** Ends every thread. */
	async close(): Promise<void> {
		this.#hasEnded = true
		await Promise.all(this.#threads.map(({ worker, job }) => (job ? worker.terminate() : endIdle(worker))))
	}

	result(): PoolResult {
		const currents = this.#threads.flatMap(({ job, current }) => (job && current ? [{ job, current }] : []))
		let partial = 0
		const runs = this.#results.map((results, caseIndex) => {
			if (results.size > 0) return sortByRun(results)
			const incomplete = currents.filter(({ job }) => job.caseIndex === caseIndex)
			partial += incomplete.length
			return sortByRun(new Map(incomplete.map(({ current }) => [current.runIndex, current.result])))
		})
		return { runs, ended: this.#ended, partial }
	}

	#spawn(): void {
		const { request, maxEvents } = this.#plan
		const workerData: WorkerInput = { request, maxEvents }
		const worker = new Worker(WORKER_FILE, {
			...{ workerData, stdout: true, stderr: true, resourceLimits: LIMITS },
		})
		const thread: PoolThread = { worker, job: undefined, current: undefined }
		this.#threads.push(thread)
		worker.on('message', (report: JobReport) => this.#onReport(thread, report))
		worker.on('error', (error) => this.#onThreadEnd(thread, error))
		worker.on('exit', (code) =>
			this.#onThreadEnd(thread, new Error(`the thread ended with exit code ${code}`)),
		)
		for (const stream of [worker.stdout, worker.stderr])
			stream.setEncoding('utf8').on('data', (text: string) => this.#options.onOutput(text))
		this.#assignNext(thread)
	}

	#assignNext(thread: PoolThread): void {
		const job = this.#failed ? undefined : this.#jobs.next().value
		thread.job = job
		thread.current = undefined
		if (job) thread.worker.postMessage(job)
		else if (this.#threads.every((one) => one.job === undefined || !this.#precedesFailure(one.job)))
			this.end()
	}

	/** Jobs are assigned in order, so all jobs before a failed one have started. */
	#precedesFailure(job: Job): boolean {
		return !this.#failed || isBefore(job, this.#failed.job)
	}

	#fail(thread: PoolThread, job: Job, error: FailedRunError): void {
		if (this.#precedesFailure(job)) this.#failed = { job, error }
		this.#assignNext(thread)
	}

	#onReport(thread: PoolThread, { ended, current, failure, isLast }: JobReport): void {
		const { job } = thread
		if (!job) return
		for (const { runIndex, result } of ended) this.#results[job.caseIndex]?.set(runIndex, result)
		this.#ended += ended.length
		thread.current = current
		const shares = this.#threads.map((one) => one.current?.share ?? 0)
		this.#options.onProgress(shares.reduce((sum, share) => sum + share, this.#ended))
		if (failure) this.#fail(thread, job, new FailedRunError(job.caseIndex, [failure.seed], failure))
		else if (isLast) this.#assignNext(thread)
	}

	/** A thread ends by itself only if something is wrong. */
	#onThreadEnd(thread: PoolThread, error: unknown): void {
		const { job, current } = thread
		// The 'error' event is followed by 'exit'.
		if (this.#hasEnded || (this.#failed && !job)) return
		const { message = String(error), stack, code }: Partial<Error & { code: string }> = Object(error)
		const seeds = job?.seeds.filter((_, offset) => this.#mayBeCurrent(job, offset, current)) ?? []
		const failed = new FailedRunError(job?.caseIndex ?? 0, seeds, { message, code, stack })
		if (job) this.#fail(thread, job, failed)
		else this.#reject(failed)
	}

	/** Returns whether this run may have been the current one when its thread ended. */
	#mayBeCurrent({ caseIndex, firstRun }: Job, offset: number, current: JobReport['current']): boolean {
		const hasEnded = this.#results[caseIndex]?.has(firstRun + offset)
		return !hasEnded && firstRun + offset >= (current?.runIndex ?? 0)
	}
}

/**
 * Lets an idle thread exit by itself. Node can crash with SIGSEGV when threads are terminated and started in quick succession
 * (nodejs/node#56312), so force is only used on a thread that is running, or that code of the user keeps alive.
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
