/**
 * The claims of this process, until the store has confirmed how each ended: extends their leases, stores
 * their steps and responses, and releases them. A response that the store does not confirm is kept and
 * stored later.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { withTimeout } from '../../core/runtime/sleep.ts'
import type { Queryable } from '../../sql/clients.ts'
import type { IdempotencyIdentity } from '../key/identity.ts'
import { type UnstoredResponse, UnstoredResponses } from '../response/unstored-responses.ts'
import type {
	IdempotencyClaimRef,
	IdempotencyStore,
	StoredKey,
	StoredResponse,
	StoredSteps,
} from '../store/store.ts'
import { type BeginOptions, type BeginResult, type ClaimWrites, IdempotencyClaim } from './claim.ts'
import type { EventReports } from './event-reports.ts'
import type { FencedEvent, StoreOperation } from './events.ts'
import type { GuardedStore } from './guarded-store.ts'
import type { IdempotencySettings } from './options.ts'
import { UnconfirmedWrites } from './unconfirmed-writes.ts'

/** What contexts, transactions and functions use of an engine. `IdempotencyEngine` imports them. */
export interface EngineParts<Tx = unknown> {
	readonly settings: IdempotencySettings<Tx, never>
	readonly claims: RunningClaims
	begin(identity: IdempotencyIdentity, fingerprint: string, options?: BeginOptions): Promise<BeginResult>
}

export class RunningClaims implements ClaimWrites {
	readonly #settings: IdempotencySettings<unknown, never>
	readonly #store: GuardedStore
	readonly #reports: EventReports
	readonly #onStop: (claim: IdempotencyClaim) => void
	readonly #runtime: Runtime
	/** Claims whose lease is extended. */
	readonly #running = new Set<IdempotencyClaim>()
	readonly #stopWaiters: (() => void)[] = []
	readonly #unconfirmed: UnconfirmedWrites
	/** Responses that the store has not confirmed. */
	readonly unstored: UnstoredResponses = new UnstoredResponses()

	/** `onStop` is called when the handler of a claim has ended, or the lease is lost. */
	constructor(
		settings: IdempotencySettings<unknown, never>,
		store: GuardedStore,
		reports: EventReports,
		onStop: (claim: IdempotencyClaim) => void,
	) {
		this.#settings = settings
		this.#store = store
		this.#reports = reports
		this.#onStop = onStop
		this.#runtime = settings.runtime
		this.#unconfirmed = new UnconfirmedWrites(settings.runtime)
	}

	get size(): number {
		return this.#running.size
	}

	/** Adds a claim that the store has confirmed. `claimedAt` is the time before the store was asked. */
	add(
		ref: IdempotencyClaimRef,
		identity: IdempotencyIdentity,
		fingerprint: string,
		steps: StoredSteps,
		claimedAt: number,
	): IdempotencyClaim {
		const claim = new IdempotencyClaim(ref, identity, fingerprint, steps, this, this.#settings, claimedAt)
		this.#running.add(claim)
		return claim
	}

	/** Resolves when no handler runs and every response has been stored, or `maxRunMs` is over. */
	async settled(): Promise<void> {
		while (this.#running.size > 0) await new Promise<void>((resolve) => this.#stopWaiters.push(resolve))
		await this.#unconfirmed.settled()
	}

	heartbeat(claim: IdempotencyClaim): Promise<boolean> {
		return this.#guarded('heartbeat', claim, () =>
			this.#store.write((store) => store.heartbeat(claim.ref, this.#settings.leaseMs)),
		)
	}

	saveStep(claim: IdempotencyClaim, name: string, value: string): Promise<boolean> {
		return this.#write('step', claim, (store) => store.saveStep(claim.ref, name, value))
	}

	isCompleted(claim: IdempotencyClaim): Promise<boolean> {
		return this.#store.write((store) => isCompletedIn(store, claim))
	}

	onCommitted(claim: IdempotencyClaim): void {
		this.#stop(claim)
	}

	onLost(claim: IdempotencyClaim): void {
		this.#stop(claim)
		this.#reports.emit(claim.identity, { type: 'idempotency_lease_lost' })
	}

	/** See `IdempotencyEngine.complete`. */
	async complete(claim: IdempotencyClaim, response: StoredResponse | undefined): Promise<boolean> {
		const result = await this.#storeResponse(claim, response)
		return typeof result === 'boolean' ? result : result.stored
	}

	/** See `IdempotencyEngine.release`. */
	async release(claim: IdempotencyClaim): Promise<boolean> {
		const result = await this.#release(claim)
		return typeof result === 'boolean' ? result : result.released
	}

	/**
	 * Like `complete`, for adapters: the response is sent when it has been stored, or when
	 * `storeTimeoutMs` has passed. `waitUntil` keeps platforms alive that end everything with the response.
	 */
	async tryComplete(
		claim: IdempotencyClaim,
		response: StoredResponse | undefined,
		waitUntil?: (promise: Promise<unknown>) => void,
	): Promise<void> {
		const result = await this.#storeResponse(claim, response)
		if (typeof result === 'boolean') return
		waitUntil?.(result.stored.catch(ignore))
		await result.waited
	}

	/** Like `release`, for adapters: waits for one attempt. A transaction may have ended the claim before. */
	async tryRelease(claim: IdempotencyClaim, waitUntil?: (promise: Promise<unknown>) => void): Promise<void> {
		if (claim.hasEnded) return
		const result = await this.#release(claim)
		if (typeof result !== 'boolean') waitUntil?.(result.released.catch(ignore))
	}

	/** Like `complete`, as a part of a transaction. */
	async completeInTransaction(
		claim: IdempotencyClaim,
		complete: () => boolean | Promise<boolean>,
	): Promise<boolean> {
		const isWritten = await this.#checked('complete', claim, async () => complete())
		if (isWritten) {
			claim.end()
			this.#stop(claim)
		}
		return isWritten
	}

	/** Like `complete`, in a transaction of the user, which may be committed later or not. */
	async completeIn(
		claim: IdempotencyClaim,
		tx: Queryable,
		response: StoredResponse | undefined,
	): Promise<boolean> {
		const { store, retentionMs } = this.#settings
		const undo = claim.awaitCommit()
		let isWritten: boolean | undefined
		try {
			isWritten = await store.completeIn?.(tx, claim.ref, response, retentionMs)
		} finally {
			if (!isWritten) undo()
		}
		if (isWritten) return true
		this.#reports.emit(claim.identity, { type: 'idempotency_fenced', operation: 'complete' })
		return false
	}

	/** The transaction of a completion has not committed. */
	resume(claim: IdempotencyClaim): void {
		claim.resume()
		this.#running.add(claim)
	}

	/** Returns whether the response is stored; if the store has failed, what is known about it. */
	async #storeResponse(
		claim: IdempotencyClaim,
		response: StoredResponse | undefined,
	): Promise<boolean | UnstoredResponse> {
		const startedAt = this.#runtime.now()
		claim.end()
		try {
			return await this.#write('complete', claim, (store) => this.#completeIn(store, claim, response))
		} catch (error) {
			return this.#storeLater(claim, this.unstored.fitting(response), startedAt, error)
		} finally {
			this.#stop(claim)
		}
	}

	#storeLater(
		claim: IdempotencyClaim,
		response: StoredResponse | undefined,
		startedAt: number,
		error: unknown,
	): UnstoredResponse {
		const { identity, fingerprint, ref } = claim
		let attempts = 1
		claim.resume(true)
		const write = (): Promise<boolean> => {
			attempts++
			return this.#write('complete', claim, (store) => this.#completeIn(store, claim, response))
		}
		const report = (isStored: boolean): void => {
			const type = isStored ? 'idempotency_stored_late' : 'idempotency_response_lost'
			this.#reports.emit(identity, { type, durationMs: this.#runtime.now() - startedAt, attempts })
		}
		const stored = this.#unconfirmed.repeat(write, claim.runUntil, error).finally(() => claim.end())
		stored.then(
			(isStored) => {
				if (isStored) report(true)
			},
			() => report(false),
		)
		const leftMs = Math.max(0, startedAt + this.#settings.storeTimeoutMs - this.#runtime.now())
		const waited = withTimeout(this.#runtime, leftMs, stored).catch(ignore)
		const unstored: UnstoredResponse = { fingerprint, response, stored, waited }
		this.unstored.add(ref.id, unstored)
		return unstored
	}

	/** A completion may be sent twice, because its reply was lost. The store rejects the second. */
	async #completeIn(
		store: IdempotencyStore,
		claim: IdempotencyClaim,
		response: StoredResponse | undefined,
	): Promise<boolean> {
		const { ref } = claim
		const isStored = await unlessCommitted(store, claim, () =>
			store.complete(ref, response, this.#settings.retentionMs),
		)
		return isStored || isResponseOf(await store.find(ref.id), ref, response)
	}

	/** Returns whether the key is released; if the store has failed, a promise of it. */
	async #release(claim: IdempotencyClaim): Promise<boolean | { readonly released: Promise<boolean> }> {
		const until = this.#runtime.now() + this.#settings.leaseMs
		const release = (store: IdempotencyStore) => unlessCommitted(store, claim, () => store.release(claim.ref))
		claim.end()
		try {
			return await this.#write('release', claim, release)
		} catch (error) {
			const again = async (): Promise<boolean> => {
				await this.#guarded('release', claim, () => this.#store.write(release))
				// If nothing is left to release, an attempt that timed out has done it.
				return true
			}
			const released = this.#unconfirmed.repeat(again, until, error)
			released.catch(ignore)
			return { released }
		} finally {
			this.#stop(claim)
		}
	}

	#stop(claim: IdempotencyClaim): void {
		this.#running.delete(claim)
		for (const resolve of this.#stopWaiters.splice(0)) resolve()
		this.#onStop(claim)
	}

	/** Runs a write of a claim, and reports it if the store rejects it because another request has the key. */
	#write(operation: FencedEvent['operation'], claim: IdempotencyClaim, write: StoreWrite): Promise<boolean> {
		return this.#checked(operation, claim, () => this.#store.write(write))
	}

	async #checked(
		operation: FencedEvent['operation'],
		claim: IdempotencyClaim,
		run: () => Promise<boolean>,
	): Promise<boolean> {
		const isWritten = await this.#guarded(operation, claim, run)
		if (!isWritten) this.#reports.emit(claim.identity, { type: 'idempotency_fenced', operation })
		return isWritten
	}

	async #guarded<T>(
		operation: StoreOperation,
		{ identity }: IdempotencyClaim,
		run: () => Promise<T>,
	): Promise<T> {
		try {
			return await run()
		} catch (error) {
			this.#reports.storeError(identity, operation, error)
			throw error
		}
	}
}

const ignore = (): void => {}

type StoreWrite = (store: IdempotencyStore) => boolean | Promise<boolean>

/** Whether a claim has completed its key, with this response if there is one. */
function isResponseOf(
	found: StoredKey | undefined,
	{ token }: IdempotencyClaimRef,
	response: StoredResponse | undefined,
): boolean {
	if (found?.token !== token) return false
	if (response) return found.status === response.status && found.bodyBytes === response.body.length
	return found.state === 'unstored' || found.state === 'completed'
}

const isCompletedIn = async (store: IdempotencyStore, { ref }: IdempotencyClaim): Promise<boolean> =>
	isResponseOf(await store.find(ref.id), ref, undefined)

/**
 * Ends a claim, unless a transaction of the user has completed the key. A transaction that is still open is
 * waited for by the write, which returns false if it was committed.
 */
function unlessCommitted(
	store: IdempotencyStore,
	claim: IdempotencyClaim,
	write: () => boolean | Promise<boolean>,
): boolean | Promise<boolean> {
	if (!claim.isAwaitingCommit) return write()
	const isCompleted = (): Promise<boolean> => isCompletedIn(store, claim)
	return isCompleted().then(async (isDone) => isDone || (await write()) || isCompleted())
}
