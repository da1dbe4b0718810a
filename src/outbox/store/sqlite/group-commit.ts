/**
 * What is asked for in one tick is done in one transaction: a commit waits for the disk, and a relay that settles and claims at the
 * same time waits once instead of twice. The works are functions that may run again, for the hopeful way has no safety nets: if one of them
 * fails, all is rolled back and each runs in a transaction of its own, so that only the one that fails is rejected. (A savepoint around each
 * would make SQLite copy every page it touches, in every transaction, for what happens hardly ever.)
 *
 * When the database is busy they all come back later, with pauses that grow and are spread by chance, so that relays do not meet again and again.
 */
import type { Runtime } from '../../../core/runtime/runtime.ts'
import type { Connection } from './connection.ts'
import { isBusy } from './sqlite-error.ts'

/** `isCareful` says that it runs alone, after a hopeful run failed. It must leave nothing but the database changed. */
export type Work<T> = (isCareful: boolean) => T

/** Thrown by a work that wants to run again, with care: it has seen something that the quick way can not tell apart. */
export const CAREFULLY: unique symbol = Symbol('carefully')

/** How long somebody may write before it is told as an error. */
const PATIENCE_MS = 10_000
const FIRST_PAUSE_MS = 1
const LONGEST_PAUSE_MS = 50
const PAUSE_GROWTH = 1.5

interface Job {
	readonly isWrite: boolean
	readonly work: Work<unknown>
	readonly startedAt: number
	readonly resolve: (value: unknown) => void
	readonly reject: (error: unknown) => void
}

export class GroupCommit {
	readonly #connection: Connection
	readonly #runtime: Runtime
	#jobs: Job[] = []
	#isScheduled = false
	#pauses = 0
	#isPausing = false
	#whenIdle: (() => void)[] = []

	constructor(connection: Connection, runtime: Runtime) {
		this.#connection = connection
		this.#runtime = runtime
	}

	write<T>(work: Work<T>): Promise<T> {
		return this.#add(true, work)
	}

	/** Reads see one state of the database, and do not wait for who writes. */
	read<T>(work: Work<T>): Promise<T> {
		return this.#add(false, work)
	}

	/** Resolves when nothing is left to do. */
	idle(): Promise<void> {
		if (this.#jobs.length === 0) return Promise.resolve()
		return new Promise((resolve) => this.#whenIdle.push(resolve))
	}

	#add<T>(isWrite: boolean, work: Work<T>): Promise<T> {
		return new Promise<T>((resolve, reject) => {
			const settle = resolve as (value: unknown) => void
			this.#jobs.push({ isWrite, work, startedAt: this.#runtime.now(), resolve: settle, reject })
			if (this.#isScheduled || (this.#isPausing && isWrite)) return
			this.#isScheduled = true
			// Not by queueMicrotask, which some fake timers replace.
			void Promise.resolve().then(() => this.#flush())
		})
	}

	#flush(): void {
		this.#isScheduled = false
		const all = this.#jobs
		const jobs = this.#isPausing ? all.filter((job) => !job.isWrite) : all
		this.#jobs = this.#isPausing ? all.filter((job) => job.isWrite) : []
		if (jobs.length > 0) this.#runTogether(jobs)
		if (this.#jobs.length > 0) return
		this.#pauses = 0
		for (const tell of this.#whenIdle.splice(0)) tell()
	}

	#runTogether(jobs: readonly Job[]): void {
		const results: unknown[] = []
		let isCommitting = false
		try {
			const isOurs = this.#begin(jobs.some((job) => job.isWrite))
			try {
				for (const job of jobs) results.push(job.work(false))
				isCommitting = true
				if (isOurs) this.#connection.exec('COMMIT')
			} catch (error) {
				if (isOurs) this.#rollBack()
				throw error
			}
		} catch (error) {
			if (isBusy(error)) this.#wait(jobs, error)
			// A commit that fails is nobody's own fault. Otherwise something is wrong with one of them, or with all.
			else if (isCommitting) for (const job of jobs) job.reject(error)
			else this.#runApart(jobs)
			return
		}
		this.#pauses = 0
		jobs.forEach((job, at) => {
			job.resolve(results[at])
		})
	}

	/** Who only reads need not wait for who writes. */
	#wait(jobs: readonly Job[], error: unknown): void {
		const writes = jobs.filter((job) => job.isWrite)
		const reads = jobs.filter((job) => !job.isWrite)
		this.#comeBack(writes.length > 0 ? writes : reads, error)
		if (writes.length > 0 && reads.length > 0) this.#runTogether(reads)
	}

	#runApart(jobs: readonly Job[]): void {
		for (const [at, job] of jobs.entries()) {
			try {
				const isOurs = this.#begin(job.isWrite)
				try {
					const result = job.work(true)
					if (isOurs) this.#connection.exec('COMMIT')
					job.resolve(result)
				} catch (error) {
					if (isOurs) this.#rollBack()
					throw error
				}
			} catch (error) {
				if (isBusy(error)) {
					this.#comeBack(jobs.slice(at), error)
					return
				}
				job.reject(error)
			}
		}
	}

	/** False when reads run inside of a transaction that the user has left open on this connection. */
	#begin(isWrite: boolean): boolean {
		if (!isWrite && this.#connection.isInTransaction) return false
		this.#connection.exec(isWrite ? 'BEGIN IMMEDIATE' : 'BEGIN')
		return true
	}

	#rollBack(): void {
		try {
			this.#connection.exec('ROLLBACK')
		} catch {
			// A full disk, for one, has SQLite roll back by itself.
		}
	}

	#comeBack(jobs: readonly Job[], error: unknown): void {
		const now = this.#runtime.now()
		const isPatient = (job: Job): boolean => now - job.startedAt < PATIENCE_MS
		for (const job of jobs) if (!isPatient(job)) job.reject(error)
		this.#jobs = [...jobs.filter(isPatient), ...this.#jobs]
		if (this.#jobs.length === 0 || this.#isPausing) return
		this.#isPausing = true
		const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * PAUSE_GROWTH ** this.#pauses++)
		this.#runtime.setTimer(pause * (0.5 + this.#runtime.random()), () => {
			this.#isPausing = false
			this.#flush()
		})
	}
}
