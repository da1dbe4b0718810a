/**
 * Writes that the store has not confirmed are repeated until it does. An engine has one queue for all of them,
 * because they fail for one reason. After a failure a single write asks whether the store is back, and each success
 * doubles how many run concurrently. A loop per write would send hundreds of statements a second to a
 * database that recovers, and pools keep the statements of attempts that timed out.
 *
 * A write that fails goes to the end of the queue, so that a write that can never succeed does not stop the others.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'

interface UnconfirmedWrite {
	readonly run: () => Promise<boolean>
	/** No attempt starts after this time. */
	readonly until: number
	readonly resolve: (isWritten: boolean) => void
	readonly reject: (error: unknown) => void
	error: unknown
}

/** Short, because another process can claim the key at the end of the lease and would run the request again. */
const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 500
const MAX_CONCURRENT = 16

export class UnconfirmedWrites {
	readonly #runtime: Runtime
	readonly #queue: UnconfirmedWrite[] = []
	readonly #promises = new Set<Promise<boolean>>()
	#running = 0
	#maxRunning = 1
	/** The number of failures since the last success. */
	#failures = 0
	#isPaused = false

	constructor(runtime: Runtime) {
		this.#runtime = runtime
	}

	/** Repeats a write that failed with `error`. Rejects with the latest error when the time is over. */
	repeat(run: () => Promise<boolean>, until: number, error: unknown): Promise<boolean> {
		const written = new Promise<boolean>((resolve, reject) => {
			this.#queue.push({ run, until, resolve, reject, error })
		})
		const remove = (): void => void this.#promises.delete(written)
		this.#promises.add(written)
		written.then(remove, remove)
		if (!this.#isPaused && this.#running === 0) this.#pause()
		return written
	}

	/** Resolves when no write is left. */
	async settled(): Promise<void> {
		while (this.#promises.size > 0) await Promise.allSettled(this.#promises)
	}

	/** The pause has jitter, because all processes of a service lose their database at the same moment. */
	#pause(): void {
		this.#isPaused = true
		const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
		this.#runtime.setTimer(pauseMs * (0.5 + this.#runtime.random() / 2), () => {
			this.#isPaused = false
			this.#runNext()
		})
	}

	#runNext(): void {
		while (!this.#isPaused && this.#running < this.#maxRunning) {
			const write = this.#queue.shift()
			if (!write) return
			if (this.#runtime.now() < write.until) void this.#attempt(write)
			else write.reject(write.error)
		}
	}

	async #attempt(write: UnconfirmedWrite): Promise<void> {
		this.#running++
		try {
			const isWritten = await write.run()
			this.#failures = 0
			this.#maxRunning = Math.min(2 * this.#maxRunning, MAX_CONCURRENT)
			write.resolve(isWritten)
		} catch (error) {
			write.error = error
			this.#queue.push(write)
			this.#maxRunning = 1
			this.#failures++
			if (!this.#isPaused) this.#pause()
		}
		this.#running--
		this.#runNext()
	}
}
