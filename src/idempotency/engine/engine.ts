/**
 * Decides what happens to a request with an idempotency key. It knows no framework: adapters translate a request into an identity and a
 * fingerprint, run the handler if the engine says so, and send what it returns.
 */
import { circuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { notify } from '../../core/engine/hooks.ts'
import type { CircuitState } from '../../core/events/events.ts'
import { INSPECT, type Inspectable, type Inspection } from '../../core/inspect/inspect.ts'
import { OBSERVE, type Observable, type Observation } from '../../core/observe/observe.ts'
import { checkRange, MAX_NUMBER } from '../../core/options/schema.ts'
import { randomUuid } from '../../core/runtime/random-uuid.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { type Identity, identityHash } from '../key/identity.ts'
import { isStoredByDefault } from '../response/status-rules.ts'
import type { ClaimResult, IdempotencyStore, StoredKey, StoredResponse } from '../store/store.ts'
import type { BeginResult } from './begin-result.ts'
import { Claim, type ClaimWrites } from './claim.ts'
import { EventReports } from './event-reports.ts'
import type { FencedEvent, IdempotencyListener, StoreOperation } from './events.ts'
import { GuardedStore } from './guarded-store.ts'
import { lintFindings } from './lint-findings.ts'
import { type IdempotencyOptions, type IdempotencySettings, readIdempotencyOptions } from './options.ts'

/** The first wait of a repeated request until it asks the store again. Each wait is twice as long as the one before. */
const FIRST_WAIT_MS = 25
const MAX_WAIT_MS = 500

export interface BeginOptions {
	/** Aborted when the client has left: a request that waits for another one stops. */
	readonly signal?: AbortSignal | undefined
}

export interface PurgeOptions {
	/** How many keys one statement deletes. Default 1,000. */
	readonly batchSize?: number | undefined
	readonly signal?: AbortSignal | undefined
}

const PURGE_BATCH_SIZE = 1_000

/** A snapshot of an engine. */
export interface IdempotencyStats {
	/** Requests of this process whose handler runs. */
	readonly running: number
	/** The circuit breaker of the store. */
	readonly storeCircuit: CircuitState
}

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: declares [INSPECT] and [OBSERVE], whose computed names isolatedDeclarations cannot emit.
export class IdempotencyEngine<Tx = unknown> {
	/** @internal */
	readonly settings: IdempotencySettings<Tx>
	readonly #store: GuardedStore
	readonly #runtime: Runtime
	readonly #reports: EventReports
	/** Unique across processes. A number follows, because a random token for each request costs more than the rest of a replay. */
	readonly #tokenPrefix = `${randomUuid()}.`
	#claims = 0
	/** Claims of this process whose lease is extended. */
	readonly #running = new Set<Claim>()
	readonly #writes: ClaimWrites = {
		heartbeat: (claim) => this.heartbeat(claim),
		saveStep: (claim, name, value) =>
			this.#write('step', claim, (store) => store.saveStep(claim.ref, name, value)),
		onLost: (claim) => {
			this.#running.delete(claim)
			this.#reports.leaseLost(claim.identity)
		},
	}

	constructor(options: IdempotencyOptions<Tx>) {
		this.settings = readIdempotencyOptions(options)
		this.#runtime = options.runtime ?? systemRuntime
		this.#store = new GuardedStore(this.settings)
		this.#reports = new EventReports(this.settings.name, this.#runtime)
	}

	/**
	 * Claims the key of a request. Returns `run` for exactly one of several concurrent requests; it must be followed by `complete` or `release`.
	 * The others get `conflict`, or wait up to `waitMs` and get `replay`. Rejects if the store fails, and with the reason of `signal` if that is aborted
	 * before the request may run.
	 */
	async begin(identity: Identity, fingerprint: string, { signal }: BeginOptions = {}): Promise<BeginResult> {
		const { name, waitMs } = this.settings
		const hash = identityHash(name, identity)
		const id = typeof hash === 'string' ? hash : await hash
		const startedAt = this.#runtime.now()
		for (let pauseMs = FIRST_WAIT_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_WAIT_MS)) {
			signal?.throwIfAborted()
			const result = await this.#claim(id, identity, fingerprint)
			const mayWait = result.kind === 'conflict' && result.retryAfterMs !== undefined
			const leftMs = mayWait ? startedAt + waitMs - this.#runtime.now() : 0
			if (leftMs <= 0) {
				this.#reports.begun(identity, result)
				return result
			}
			await sleep(this.#runtime, Math.min(pauseMs, leftMs), signal)
		}
	}

	/** Stores the response of a request, or marks the key as processed without one. Returns false if the lease was lost: nothing is stored. */
	complete(claim: Claim, response: StoredResponse | undefined): Promise<boolean> {
		this.#end(claim)
		return this.#write('complete', claim, (store) =>
			store.complete(claim.ref, response, this.settings.retentionMs),
		)
	}

	/** Lets the next request with this key run. Returns false if the lease was lost. */
	release(claim: Claim): Promise<boolean> {
		this.#end(claim)
		return this.#write('release', claim, (store) => store.release(claim.ref))
	}

	/** Extends the lease. A running claim does it by itself. */
	heartbeat(claim: Claim): Promise<boolean> {
		return this.#guarded('heartbeat', claim.identity, () =>
			this.#store.write((store) => store.heartbeat(claim.ref, this.settings.leaseMs)),
		)
	}

	/** @internal Like `complete`, for adapters: the response is sent even if the store fails, which an event has reported. */
	tryComplete(claim: Claim, response: StoredResponse | undefined): Promise<unknown> {
		return this.complete(claim, response).catch(ignore)
	}

	/** @internal Like `release`, for adapters. If the store fails, the lease ends by itself. */
	tryRelease(claim: Claim): Promise<unknown> {
		return this.release(claim).catch(ignore)
	}

	/** @internal Like `complete`, as a part of a transaction. */
	async completeInTransaction(claim: Claim, complete: () => boolean | Promise<boolean>): Promise<boolean> {
		const isWritten = await this.#checked('complete', claim, async () => complete())
		if (isWritten) this.#end(claim)
		return isWritten
	}

	/** @internal The transaction of a completion has not committed. */
	resume(claim: Claim): void {
		claim.resume()
		this.#running.add(claim)
	}

	/** @internal The effect has happened: if `shouldStore` throws, the default decides, and a console warning reports the error. */
	shouldStore(status: number, method: string, path: string): boolean {
		const { shouldStore } = this.settings
		let isStored = isStoredByDefault(status)
		if (shouldStore)
			notify('shouldStore', () => {
				isStored = shouldStore({ status, method, path })
			})
		return isStored
	}

	/** Returns what is stored for a key, without its response. */
	async find(identity: Identity): Promise<StoredKey | undefined> {
		return this.settings.store.find(await identityHash(this.settings.name, identity))
	}

	/**
	 * Decides about a key whose request ended without a response, which `abandoned: 'reject'` leaves to an operator: `'rerun'` lets the next
	 * request run, a response is what repeated requests get. Returns false if the key is not in that state.
	 */
	async resolve(identity: Identity, decision: 'rerun' | StoredResponse): Promise<boolean> {
		const { store, name, retentionMs } = this.settings
		return store.resolve(
			await identityHash(name, identity),
			decision === 'rerun' ? undefined : decision,
			retentionMs,
		)
	}

	/** Deletes all keys whose retention is over, in batches. Returns how many. Aborted, it stops after the current batch. */
	async purge({ batchSize = PURGE_BATCH_SIZE, signal }: PurgeOptions = {}): Promise<number> {
		checkRange('batchSize', batchSize, 1, MAX_NUMBER, 'integer')
		for (let purged = 0; ; ) {
			const count = await this.settings.store.purge(batchSize)
			purged += count
			if (count < batchSize || signal?.aborted) return purged
		}
	}

	get stats(): IdempotencyStats {
		return { running: this.#running.size, storeCircuit: this.#store.breaker.currentState }
	}

	/** @internal */
	[INSPECT](): Inspection {
		const { name, storeTimeoutMs } = this.settings
		return {
			name,
			sample: () => ({
				policies: [circuitBreaker()],
				totalTimeoutMs: Infinity,
				timeoutMs: storeTimeoutMs,
			}),
			findings: () => lintFindings(this.settings),
			policies: () => [['store', this.#store.policy]],
			stats: () => this.stats,
		}
	}

	/** @internal */
	[OBSERVE](): Observation {
		return {
			kind: 'idempotency',
			emitter: this.#reports.emitter,
			policies: () => [['store', this.#store.policy]],
			stats: () => this.stats,
		}
	}

	/** Subscribes to every event. Returns a function that unsubscribes. */
	subscribe(listener: IdempotencyListener): () => void {
		return this.#reports.subscribe(listener)
	}

	#end(claim: Claim): void {
		claim.end()
		this.#running.delete(claim)
	}

	async #claim(id: string, identity: Identity, fingerprint: string): Promise<BeginResult> {
		const { leaseMs, retentionMs, abandoned } = this.settings
		const claimedAt = this.#runtime.now()
		const token = `${this.#tokenPrefix}${++this.#claims}`
		let result: ClaimResult
		try {
			result = await this.#store.claim({ id, token, fingerprint, leaseMs, retentionMs, abandoned })
		} catch (error) {
			this.#reports.storeError(identity, 'claim', error)
			throw error
		}
		if (result.kind !== 'claimed') return toBegin(result)
		const claim = new Claim(
			{ id, token },
			identity,
			result.steps,
			this.#writes,
			this.#runtime,
			this.settings,
			claimedAt,
		)
		this.#running.add(claim)
		return { kind: 'run', claim }
	}

	/** Runs a write of a claim. A write that the store rejects, because another request has claimed the key, is reported. */
	#write(operation: FencedEvent['operation'], claim: Claim, write: StoreWrite): Promise<boolean> {
		return this.#checked(operation, claim, () => this.#store.write(write))
	}

	async #checked(
		operation: FencedEvent['operation'],
		claim: Claim,
		run: () => Promise<boolean>,
	): Promise<boolean> {
		const { identity } = claim
		const isWritten = await this.#guarded(operation, identity, run)
		if (!isWritten) this.#reports.fenced(identity, operation)
		return isWritten
	}

	async #guarded<T>(operation: StoreOperation, identity: Identity, run: () => Promise<T>): Promise<T> {
		try {
			return await run()
		} catch (error) {
			this.#reports.storeError(identity, operation, error)
			throw error
		}
	}
}

// biome-ignore lint/correctness/noUnusedVariables: a merged declaration has the same type parameters.
export interface IdempotencyEngine<Tx> extends Inspectable, Observable {}

const ignore = (): void => {}

type StoreWrite = (store: IdempotencyStore) => boolean | Promise<boolean>

function toBegin(result: Exclude<ClaimResult, { kind: 'claimed' }>): BeginResult {
	if (result.kind === 'completed') return { kind: 'replay', response: result.response }
	if (result.kind === 'mismatch') return result
	if (result.kind === 'running') return { kind: 'conflict', reason: 'running', retryAfterMs: result.leaseMs }
	return { kind: 'conflict', reason: result.kind }
}

/**
 * Creates an engine for idempotency keys: `new IdempotencyEngine(options)`.
 *
 * @example
 * const engine = idempotency({ store: memoryIdempotencyStore(), principal: ({ raw }) => userOf(raw)?.id })
 */
export function idempotency<Tx>(options: IdempotencyOptions<Tx>): IdempotencyEngine<Tx> {
	return new IdempotencyEngine(options)
}
