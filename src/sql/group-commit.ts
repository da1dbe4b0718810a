/**
 * Runs all work requested in one tick in one transaction: a commit waits for the disk, and a relay that
 * settles and claims in the same tick waits once instead of twice. The first run is optimistic. If one piece
 * of work fails, everything is rolled back and each piece runs again in a transaction of its own, so that
 * only the failing one is rejected; work must therefore be repeatable. (A savepoint around each piece would
 * make SQLite copy every page it touches in every transaction, for a case that almost never happens.)
 *
 * While the database is busy, work is retried with growing, jittered pauses, so that relays do not collide
 * again.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import type { SqliteConnection } from './sqlite-connection.ts'
import { busyPauseMs, isBusy, mayWaitForBusy } from './sqlite-errors.ts'

/** `isSolo` is true if it runs alone after an optimistic run failed. It must have no effect outside the database. */
export type Work<T> = (isSolo: boolean) => T

/** Thrown by work that must run again alone, because it found something that the optimistic form cannot handle. */
export const RUN_ALONE: unique symbol = Symbol('run alone')

interface Job {
	readonly isWrite: boolean
	readonly work: Work<unknown>
	readonly startedAt: number
	tries: number
	readonly resolve: (value: unknown) => void
	readonly reject: (error: unknown) => void
}

export class GroupCommit {
	readonly #connection: SqliteConnection
	readonly #runtime: Runtime
	#jobs: Job[] = []
	#isScheduled = false
	#pauses = 0
	#isPausing = false
	#whenIdle: (() => void)[] = []

	constructor(connection: SqliteConnection, runtime: Runtime) {
		this.#connection = connection
		this.#runtime = runtime
	}

	write<T>(work: Work<T>): Promise<T> {
		return this.#add(true, work)
	}

	/** Reads one snapshot of the database, without waiting for writers. */
	read<T>(work: Work<T>): Promise<T> {
		return this.#add(false, work)
	}

	/** Resolves when no work is left. */
	idle(): Promise<void> {
		if (this.#jobs.length === 0) return Promise.resolve()
		return new Promise((resolve) => this.#whenIdle.push(resolve))
	}

	#add<T>(isWrite: boolean, work: Work<T>): Promise<T> {
		return new Promise<T>((resolve, reject) => {
			const settle = resolve as (value: unknown) => void
			this.#jobs.push({ isWrite, work, startedAt: this.#runtime.now(), tries: 0, resolve: settle, reject })
			if (this.#isScheduled || (this.#isPausing && isWrite)) return
			this.#isScheduled = true
			// A promise instead of queueMicrotask, which some fake timers replace.
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
		for (const resolve of this.#whenIdle.splice(0)) resolve()
	}

	#runTogether(jobs: readonly Job[]): void {
		let isCommitting = false
		let results: readonly unknown[]
		try {
			results = this.#transact(
				jobs.some((job) => job.isWrite),
				() => {
					const values = jobs.map((job) => job.work(false))
					isCommitting = true
					return values
				},
			)
		} catch (error) {
			if (isBusy(error)) this.#retryLater(jobs, error)
			// No single job is responsible for a failed commit. Any other error belongs to one job, or to all.
			else if (isCommitting) for (const job of jobs) job.reject(error)
			else this.#runSolo(jobs)
			return
		}
		this.#pauses = 0
		for (const [at, job] of jobs.entries()) job.resolve(results[at])
	}

	/** Writes wait; reads need not wait for a writer and run immediately. */
	#retryLater(jobs: readonly Job[], error: unknown): void {
		const writes = jobs.filter((job) => job.isWrite)
		const reads = jobs.filter((job) => !job.isWrite)
		this.#pause(writes.length > 0 ? writes : reads, error)
		if (writes.length > 0 && reads.length > 0) this.#runTogether(reads)
	}

	#runSolo(jobs: readonly Job[]): void {
		for (const [at, job] of jobs.entries()) {
			try {
				job.resolve(this.#transact(job.isWrite, () => job.work(true)))
			} catch (error) {
				if (isBusy(error)) {
					this.#pause(jobs.slice(at), error)
					return
				}
				job.reject(error)
			}
		}
	}

	/** Runs `work` in a transaction. Reads may also run inside one that the user left open on this connection. */
	#transact<T>(isWrite: boolean, work: () => T): T {
		if (!isWrite && this.#connection.isInTransaction) return work()
		this.#connection.exec(isWrite ? 'BEGIN IMMEDIATE' : 'BEGIN')
		try {
			const result = work()
			this.#connection.exec('COMMIT')
			return result
		} catch (error) {
			try {
				this.#connection.exec('ROLLBACK')
			} catch {
				// SQLite already rolled back by itself, for example because the disk is full.
			}
			throw error
		}
	}

	#pause(jobs: readonly Job[], error: unknown): void {
		const now = this.#runtime.now()
		const mayWait = (job: Job): boolean => mayWaitForBusy(job.tries, now - job.startedAt)
		for (const job of jobs) {
			job.tries++
			if (!mayWait(job)) job.reject(error)
		}
		this.#jobs = [...jobs.filter(mayWait), ...this.#jobs]
		if (this.#jobs.length === 0 || this.#isPausing) return
		this.#isPausing = true
		this.#runtime.setTimer(busyPauseMs(this.#pauses++, this.#runtime.random()), () => {
			this.#isPausing = false
			this.#flush()
		})
	}
}
