/** Bulk actions in progress. They belong to this process: closing the dashboard cancels them. */
import { invalidArgument } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { ActionName, Count, JobView } from '../contract.ts'
import { errorText, type QueueSettings } from './settings.ts'

const MAX_RUNNING = 8
const MAX_KEPT = 100
const KEPT_MS = 3_600_000

/** What a job is about. */
export interface JobStart {
	readonly source: string
	readonly action: ActionName
	readonly by: string
	readonly total: Count
	readonly isCanary: boolean
}

export interface JobResult {
	readonly changed: number
	/** Why it ended early; undefined if it did not, or if it was cancelled. */
	readonly error?: string | undefined
}

export interface JobControl {
	readonly signal: AbortSignal
	/** `isCanary` false: the first messages were delivered, and the others follow. */
	readonly onProgress: (changed: number, isCanary?: boolean) => void
}

interface Job {
	view: JobView
	endedAt: number | undefined
	readonly abort: AbortController
	ended: Promise<void>
}

export class Jobs {
	readonly #settings: QueueSettings
	readonly #jobs = new Map<string, Job>()
	#isClosed = false

	constructor(settings: QueueSettings) {
		this.#settings = settings
	}

	/** Rejects a job that is one too many. Called before anything is read for it. */
	checkFree(action: ActionName): void {
		if (this.#isClosed) invalidArgument('action', action, 'an open dashboard')
		const running = [...this.#jobs.values()].filter(({ endedAt }) => endedAt === undefined)
		if (running.length >= MAX_RUNNING)
			invalidArgument(
				'action',
				action,
				`fewer than ${MAX_RUNNING} jobs in progress (wait for one to end, or cancel one)`,
			)
	}

	start(start: JobStart, work: (control: JobControl) => Promise<JobResult>): JobView {
		this.checkFree(start.action)
		const { runtime } = this.#settings
		const { source, action, by, total, isCanary } = start
		const job: Job = {
			view: {
				id: newId(runtime),
				source,
				action,
				by,
				startedAt: runtime.wallNow(),
				state: isCanary ? 'canary' : 'running',
				changed: 0,
				total,
				error: null,
			},
			endedAt: undefined,
			abort: new AbortController(),
			ended: Promise.resolve(),
		}
		this.#jobs.set(job.view.id, job)
		job.ended = this.#run(job, work)
		return job.view
	}

	async #run(job: Job, work: (control: JobControl) => Promise<JobResult>): Promise<void> {
		const { signal } = job.abort
		const change = (changes: Partial<JobView>): void => {
			job.view = { ...job.view, ...changes }
		}
		const onProgress: JobControl['onProgress'] = (changed, isCanary) =>
			change({ changed, ...(isCanary === false && { state: 'running' }) })
		try {
			const { changed, error } = await work({ signal, onProgress })
			const state = error !== undefined ? 'failed' : signal.aborted ? 'cancelled' : 'done'
			change({ changed, state, error: error ?? null })
		} catch (error) {
			change({
				state: signal.aborted ? 'cancelled' : 'failed',
				error: signal.aborted ? null : errorText(error, this.#settings),
			})
		}
		job.endedAt = this.#settings.runtime.now()
	}

	/** Returns jobs in progress, and those that ended within the last hour, the latest first. */
	list(): readonly JobView[] {
		const oldest = this.#settings.runtime.now() - KEPT_MS
		const ended = [...this.#jobs.values()].filter(({ endedAt }) => endedAt !== undefined)
		for (const [at, { view, endedAt = 0 }] of ended.entries())
			if (endedAt < oldest || at < ended.length - MAX_KEPT) this.#jobs.delete(view.id)
		return [...this.#jobs.values()].map(({ view }) => view).reverse()
	}

	/** Cancels a job. Returns it as it is now; a batch that runs is finished first. */
	cancel(source: unknown, id: unknown): JobView {
		const job = typeof id === 'string' ? this.#jobs.get(id) : undefined
		if (!job || job.view.source !== source)
			return invalidArgument('id', id, 'the id of a job of this process, and its source')
		if (job.endedAt === undefined) job.abort.abort()
		return job.view
	}

	async close(): Promise<void> {
		this.#isClosed = true
		for (const { abort } of this.#jobs.values()) abort.abort()
		await Promise.all([...this.#jobs.values()].map(({ ended }) => ended))
	}
}

const PART = 36 ** 6

/** Unique across processes: another one, behind the same load balancer, must not cancel another job. */
const newId = (runtime: Runtime): string =>
	runtime.createId?.() ??
	Array.from({ length: 3 }, () =>
		Math.floor(runtime.random() * PART)
			.toString(36)
			.padStart(6, '0'),
	).join('')
