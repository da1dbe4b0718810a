/**
 * Threads that work off a plan. Each gets its next job when it has done the last, and what they find is put in its place by
 * case and seed, so that the result does not depend on how many there are or who was faster. Nor does the error: of several runs
 * that break, the first in that order is told, so what comes before a broken one is waited for. However it ends (all done,
 * interrupted, one of them broken), every thread is ended before the answer is given.
 */
import { Worker } from 'node:worker_threads'
import type { SimulationResult } from '../../sim/measure/result.ts'
import type { Report, RunFailure } from './job.ts'
import { type Brief, END, type Job, jobsOf, type Plan, runsIn, type Seed } from './plan.ts'

export interface PoolOptions {
	readonly threads: number
	/** Ends it early: what is known by then is the result. */
	readonly signal: AbortSignal
	/** Told how many runs are done; those that go on count in part. */
	progress(done: number): void
	/** Told what code of the user prints, for it must not get among the data. */
	printed(text: string): void
}

/** What the threads have found. */
export interface Harvest {
	/** By case, in the order of its seeds; what is missing was not run. */
	readonly runs: readonly (readonly SimulationResult[])[]
	/** How many runs have ended. */
	readonly ended: number
	/**
	 * How many of `runs` have not ended and are told as far as they came. Only where a case has no others: beside runs that
	 * did end they would falsify every mean.
	 */
	readonly partial: number
}

/** A run, or a thread with all it had to do, came to grief. */
export class BrokenRun extends Error {
	readonly index: number
	readonly seeds: readonly Seed[]
	readonly code: string | undefined

	constructor(index: number, seeds: readonly Seed[], { message, code, stack }: Omit<RunFailure, 'seed'>) {
		super(message)
		this.index = index
		this.seeds = seeds
		this.code = code
		if (stack !== undefined) this.stack = stack
	}
}

/** A run's garbage dies with the run, and collecting it earlier only copies what is still in use. */
const LIMITS = { maxYoungGenerationSizeMb: 128 }

/** An idle thread that has not exited after this time is terminated. */
const EXIT_MS = 1_000

/** The sources run as they are; the package is built. */
const WORKER = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

export async function harvest(plan: Plan, options: PoolOptions): Promise<Harvest> {
	const { signal, threads } = options
	const pool = new Pool(plan, options)
	const stop = () => pool.end()
	signal.addEventListener('abort', stop)
	try {
		if (!signal.aborted) await pool.run(Math.min(threads, runsIn(plan)))
	} finally {
		signal.removeEventListener('abort', stop)
		await pool.close()
	}
	return pool.harvest()
}

/** A thread, and what it is at. */
interface Hand {
	readonly worker: Worker
	job: Job | undefined
	current: Report['current']
}

interface Broken {
	readonly job: Job
	readonly error: BrokenRun
}

const isBefore = (one: Job, other: Job): boolean =>
	one.index < other.index || (one.index === other.index && one.from < other.from)

class Pool {
	readonly #plan: Plan
	readonly #options: PoolOptions
	readonly #jobs: Generator<Job, undefined>
	readonly #results: Map<number, SimulationResult>[]
	readonly #hands: Hand[] = []
	#ended = 0
	/** The first in order of what broke, as far as is known. */
	#broken: Broken | undefined
	#isOver = false
	/** Settle `run`. */
	#done: () => void = () => {}
	#break: (error: unknown) => void = () => {}

	constructor(plan: Plan, options: PoolOptions) {
		this.#plan = plan
		this.#options = options
		this.#jobs = jobsOf(plan, options.threads)
		this.#results = plan.seeds.map(() => new Map())
	}

	run(threads: number): Promise<void> {
		return new Promise((resolve, reject) => {
			this.#done = resolve
			this.#break = reject
			for (let thread = 0; thread < threads; thread++) this.#hire()
			if (threads === 0) this.end()
		})
	}

	/** Nothing that comes now counts as a failure; what is known already does. */
	end(): void {
		this.#isOver = true
		if (this.#broken) this.#break(this.#broken.error)
		else this.#done()
	}

	/** Ends every thread. */
	async close(): Promise<void> {
		this.#isOver = true
		await Promise.all(this.#hands.map(({ worker, job }) => (job ? worker.terminate() : endIdle(worker))))
	}

	harvest(): Harvest {
		const currents = this.#hands.flatMap(({ job, current }) => (job && current ? [{ job, current }] : []))
		let partial = 0
		const runs = this.#results.map((results, index) => {
			if (results.size > 0) return inOrder(results)
			const begun = currents.filter(({ job }) => job.index === index)
			partial += begun.length
			return inOrder(new Map(begun.map(({ current }) => [current.place, current.result])))
		})
		return { runs, ended: this.#ended, partial }
	}

	#hire(): void {
		const { question, maxEvents } = this.#plan
		const workerData: Brief = { question, maxEvents }
		const worker = new Worker(WORKER, { workerData, stdout: true, stderr: true, resourceLimits: LIMITS })
		const hand: Hand = { worker, job: undefined, current: undefined }
		this.#hands.push(hand)
		worker.on('message', (report: Report) => this.#heard(hand, report))
		worker.on('error', (error) => this.#lost(hand, error))
		worker.on('exit', (code) => this.#lost(hand, new Error(`its thread ended with exit code ${code}`)))
		for (const stream of [worker.stdout, worker.stderr])
			stream.setEncoding('utf8').on('data', (text: string) => this.#options.printed(text))
		this.#next(hand)
	}

	#next(hand: Hand): void {
		const value = this.#broken ? undefined : this.#jobs.next().value
		hand.job = value
		hand.current = undefined
		if (value) hand.worker.postMessage(value)
		else if (this.#hands.every(({ job }) => job === undefined || !this.#mayComeFirst(job))) this.end()
	}

	/** Jobs are given out in order, so what comes before a broken one has been begun. */
	#mayComeFirst(job: Job): boolean {
		return !this.#broken || isBefore(job, this.#broken.job)
	}

	#breaks(hand: Hand, job: Job, error: BrokenRun): void {
		if (this.#mayComeFirst(job)) this.#broken = { job, error }
		this.#next(hand)
	}

	#heard(hand: Hand, { ended, current, failed, isOver }: Report): void {
		const { job } = hand
		if (!job) return
		for (const { place, result } of ended) this.#results[job.index]?.set(place, result)
		this.#ended += ended.length
		hand.current = current
		const shares = this.#hands.map((one) => one.current?.share ?? 0)
		this.#options.progress(shares.reduce((sum, share) => sum + share, this.#ended))
		if (failed) this.#breaks(hand, job, new BrokenRun(job.index, [failed.seed], failed))
		else if (isOver) this.#next(hand)
	}

	/** A thread has ended by itself, which it never does unless something is wrong. */
	#lost(hand: Hand, error: unknown): void {
		const { job, current } = hand
		// An error is followed by the exit.
		if (this.#isOver || (this.#broken && !job)) return
		const { message = String(error), stack, code }: Partial<Error & { code: string }> = Object(error)
		const seeds = job?.seeds.filter((_, offset) => this.#mayBe(job, offset, current)) ?? []
		const broken = new BrokenRun(job?.index ?? 0, seeds, { message, code, stack })
		if (job) this.#breaks(hand, job, broken)
		else this.#break(broken)
	}

	/** May this be the run that was going on when its thread ended? */
	#mayBe({ index, from }: Job, offset: number, current: Report['current']): boolean {
		const hasEnded = this.#results[index]?.has(from + offset)
		return !hasEnded && from + offset >= (current?.place ?? 0)
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

const inOrder = (results: ReadonlyMap<number, SimulationResult>): readonly SimulationResult[] =>
	[...results].sort(([a], [b]) => a - b).map(([, result]) => result)
