/**
 * Shared by all parts of a running relay: store, clock, listeners, counters, and retries of database
 * operations. A relay retries an operation with growing delays until it succeeds, and keeps its data in memory.
 */
import { computeDelayMs } from '../../core/backoff/formula.ts'
import { readBackoff } from '../../core/backoff/options.ts'
import { presets } from '../../core/backoff/presets.ts'
import { TimeoutError } from '../../core/errors/errors.ts'
import { errorFacts } from '../../core/events/error-facts.ts'
import type { Emitter } from '../../core/observe/emitter.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { RelayEvent, StoreErrorEvent } from '../events/relay-events.ts'
import { CANDIDATE_AFTER } from '../store/decisions/poison.ts'
import type { ClaimResult, ClaimTarget } from '../store/rows.ts'
import type { OutboxStore } from '../store/store.ts'
import { RelayStoppedError } from './handler-signal.ts'
import type { RelaySettings } from './options.ts'

/** Longer than a store waits for locks, so that an operation is not repeated while it runs. */
const MIN_STORE_TIMEOUT_MS = 15_000

/** How long a cancelled operation may take to end before it is repeated. */
const CANCEL_MS = 1_000

/** A clock that is synchronized slowly differs by less, within a lease. */
const MAX_CLOCK_DRIFT_MS = 1_000

type ErrorDetails = Pick<StoreErrorEvent, 'claimLimit'>

const STORE_BACKOFF = readBackoff({ ...presets.database, baseDelayMs: 100, maxDelayMs: 5_000 })

export class RelayContext {
	readonly store: OutboxStore
	readonly settings: RelaySettings
	readonly runtime: Runtime
	/** The owner of this run's claims; different for every start. */
	readonly owner: string
	readonly keepsHistory: boolean
	sent = 0
	failed = 0
	dead = 0
	isStopping = false
	/** True from a failed database operation until the next successful one. */
	isStoreDown = false
	readonly emitter: Emitter<RelayEvent>
	/** Called with the targets of a claim whose outcome stays unknown. */
	onUnknownClaim: (targets: readonly ClaimTarget[]) => void = () => {}
	/** The database's time minus this process's monotonic clock. */
	#databaseOffset = 0
	#hasAbandonedStore = false
	readonly #storeWaits = new Set<() => void>()

	constructor(
		store: OutboxStore,
		settings: RelaySettings,
		owner: string,
		keepsHistory: boolean,
		emitter: Emitter<RelayEvent>,
	) {
		this.store = store
		this.settings = settings
		this.runtime = settings.runtime
		this.owner = owner
		this.keepsHistory = keepsHistory
		this.emitter = emitter
	}

	/** Returns the wall clock minus the monotonic clock, which stands still while the host sleeps. */
	clockOffset(): number {
		return this.runtime.wallNow() - this.runtime.now()
	}

	/** Returns true if the host has slept, or its clock was set, since this offset. Leases may have ended. */
	hasSlept(since: number | undefined): boolean {
		return since !== undefined && Math.abs(this.clockOffset() - since) > MAX_CLOCK_DRIFT_MS
	}

	/** Returns the database's time, estimated without a query. */
	databaseNow(): number {
		return this.runtime.now() + this.#databaseOffset
	}

	/** Claims messages, or only poison candidates. Run it by `callStore`. */
	async claim(
		targets: readonly ClaimTarget[],
		poisonCandidates: boolean,
		signal: AbortSignal,
	): Promise<ClaimResult> {
		const { owner } = this
		const { leaseMs } = this.settings
		const onUnknown = () => this.onUnknownClaim(targets)
		// The relay abandons the claim, and ignores a later response.
		signal.addEventListener('abort', onUnknown)
		const clockOffset = this.clockOffset()
		try {
			const request = { owner, leaseMs, targets, poisonCandidates, poisonAfter: CANDIDATE_AFTER, signal }
			const result = await this.store.claim(request)
			if (this.hasSlept(clockOffset))
				throw new Error('the host slept during the claim: its leases may be over')
			this.#databaseOffset = result.now - this.runtime.now()
			return result
		} catch (error) {
			// A claim that the database itself timed out is undone.
			if (!(error instanceof TimeoutError)) onUnknown()
			throw error
		} finally {
			signal.removeEventListener('abort', onUnknown)
		}
	}

	/**
	 * Runs a database operation until it succeeds. `run` receives a signal, which is aborted when the operation
	 * takes too long, and the number of earlier failures. Rejects only after `abandonStore`.
	 */
	async callStore<T>(
		operation: string,
		run: (signal: AbortSignal, failures: number) => Promise<T>,
		details: () => ErrorDetails = () => ({}),
	): Promise<T> {
		for (let failures = 0; ; failures++) {
			// An operation that starts later would wait for a timeout of its own.
			if (this.#hasAbandonedStore) throw new RelayStoppedError()
			try {
				const result = await this.callStoreOnce((signal) => run(signal, failures))
				this.isStoreDown = false
				if (failures > 0) this.emitter.emit({ type: 'relay_store_recovered', operation })
				return result
			} catch (error) {
				if (this.#hasAbandonedStore) throw error
				this.isStoreDown = true
				const retryInMs = Math.round(computeDelayMs(STORE_BACKOFF, failures, 0, this.runtime))
				this.emitStoreError(operation, error, retryInMs, details())
				await new Promise<void>((resolve) => {
					this.#waitForStore(retryInMs, () => resolve())
				})
			}
		}
	}

	emitStoreError(operation: string, error: unknown, retryInMs: number, details: ErrorDetails = {}): void {
		if (!this.emitter.hasListeners) return
		this.emitter.emit({ type: 'relay_store_error', operation, retryInMs, ...details, ...errorFacts(error) })
	}

	/**
	 * Runs a database operation once, with a timeout: over a half-open TCP connection no response ever arrives.
	 * After the timeout its end is awaited for a moment, so that it is not repeated while the database cancels it.
	 */
	callStoreOnce<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
		const timeoutMs = Math.max(MIN_STORE_TIMEOUT_MS, this.settings.leaseMs / 2)
		const given = new AbortController()
		return new Promise((resolve, reject) => {
			let cancel = this.#waitForStore(timeoutMs, (isTimeout) => {
				const error = isTimeout ? new TimeoutError('store', timeoutMs) : new RelayStoppedError()
				given.abort(error)
				if (!isTimeout) reject(error)
				else cancel = this.#waitForStore(CANCEL_MS, () => reject(error))
			})
			new Promise<T>((start) => start(run(given.signal))).then(
				(result) => {
					cancel()
					resolve(result)
				},
				(error: unknown) => {
					cancel()
					reject(given.signal.aborted ? given.signal.reason : error)
				},
			)
		})
	}

	abandonStore(): void {
		this.#hasAbandonedStore = true
		for (const abandon of [...this.#storeWaits]) abandon()
	}

	/** Calls `onEnd` after `ms` or when the store is abandoned; returns a function that cancels both. */
	#waitForStore(ms: number, onEnd: (isTimeout: boolean) => void): () => void {
		const cancel = () => {
			cancelTimer()
			this.#storeWaits.delete(abandon)
		}
		const end = (isTimeout: boolean) => {
			cancel()
			onEnd(isTimeout)
		}
		const abandon = () => end(false)
		const cancelTimer = this.runtime.setTimer(ms, () => end(true))
		this.#storeWaits.add(abandon)
		return cancel
	}
}
