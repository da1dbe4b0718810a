/**
 * Repeated requests that wait for the first one. All waits for one key share one timer and one question to
 * the store: a thousand waiting clients cost a few statements a second, and no connection of the pool while
 * they wait. When the first request has run in the same process, its end wakes them.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { BeginResult } from './claim.ts'

type RunResult = Extract<BeginResult, { kind: 'run' }>
type ConflictResult = Extract<BeginResult, { kind: 'conflict' }>

interface Waiter {
	resolve(result: BeginResult | undefined): void
	reject(error: unknown): void
}

interface SharedWait {
	readonly waiters: Set<Waiter>
	readonly ask: () => Promise<BeginResult>
	pauseMs: number
	latest: ConflictResult
	/** Undefined while the store is asked. */
	cancel: (() => void) | undefined
}

/** The first pause until the store is asked again. Each is twice as long as the one before. */
const FIRST_PAUSE_MS = 25
const MAX_PAUSE_MS = 500

export const isRunning = (result: BeginResult): result is ConflictResult =>
	result.kind === 'conflict' && result.reason === 'in-progress'

export class SharedWaits {
	readonly #runtime: Runtime
	readonly #release: (result: RunResult) => void
	readonly #byKey = new Map<string, SharedWait>()

	/** `release` gets a claim that no request has waited for to the end. */
	constructor(runtime: Runtime, release: (result: RunResult) => void) {
		this.#runtime = runtime
		this.#release = release
	}

	/** What the store said last about a key that requests wait for. */
	latest(key: string): ConflictResult | undefined {
		return this.#byKey.get(key)?.latest
	}

	/** Returns what the request gets; undefined if the time is over or the client has left. */
	wait(
		key: string,
		latest: ConflictResult,
		ask: () => Promise<BeginResult>,
		maxMs: number,
		signal: AbortSignal | undefined,
	): Promise<BeginResult | undefined> {
		let shared = this.#byKey.get(key)
		if (!shared) {
			shared = { waiters: new Set(), ask, pauseMs: FIRST_PAUSE_MS, latest, cancel: undefined }
			this.#byKey.set(key, shared)
			this.#schedule(key, shared)
		}
		const { waiters } = shared
		return new Promise((resolve, reject) => {
			const end = (): void => {
				cancel()
				signal?.removeEventListener('abort', leave)
				waiters.delete(waiter)
				if (waiters.size === 0) this.#stop(key)
			}
			const leave = (): void => waiter.resolve(undefined)
			const waiter: Waiter = {
				resolve: (result) => {
					end()
					resolve(result)
				},
				reject: (error) => {
					end()
					reject(error)
				},
			}
			const cancel = this.#runtime.setTimer(maxMs, leave)
			signal?.addEventListener('abort', leave)
			waiters.add(waiter)
		})
	}

	/** The request that ran in this process has ended. */
	wake(key: string): void {
		const shared = this.#byKey.get(key)
		if (!shared?.cancel) return
		shared.cancel()
		void this.#ask(key, shared)
	}

	#stop(key: string): void {
		this.#byKey.get(key)?.cancel?.()
		this.#byKey.delete(key)
	}

	#schedule(key: string, shared: SharedWait): void {
		shared.cancel = this.#runtime.setTimer(shared.pauseMs, () => void this.#ask(key, shared))
		shared.pauseMs = Math.min(2 * shared.pauseMs, MAX_PAUSE_MS)
	}

	async #ask(key: string, shared: SharedWait): Promise<void> {
		shared.cancel = undefined
		let result: BeginResult
		try {
			result = await shared.ask()
		} catch (error) {
			for (const waiter of [...shared.waiters]) waiter.reject(error)
			return
		}
		if (result.kind === 'run') {
			const [first] = shared.waiters
			if (first) first.resolve(result)
			else this.#release(result)
		} else if (isRunning(result)) shared.latest = result
		else for (const waiter of [...shared.waiters]) waiter.resolve(result)
		if (shared.waiters.size > 0) this.#schedule(key, shared)
	}
}
