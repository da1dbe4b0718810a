/**
 * Decides what happens to a request with an idempotency key. It knows no framework: adapters translate a request into an identity and a
 * fingerprint, run the handler if the engine says so, and send what it returns.
 */
import { notify } from '../../core/engine/hooks.ts'
import type { CircuitState } from '../../core/events/events.ts'
import { INSPECT, type Inspectable, type Inspection } from '../../core/inspect/inspect.ts'
import type { Jsonified } from '../../core/json/jsonified.ts'
import { OBSERVE, type Observable, type Observation } from '../../core/observe/observe.ts'
import { checkRange, MAX_NUMBER } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { withTimeout } from '../../core/runtime/sleep.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import type { Queryable } from '../../sql/clients.ts'
import { type IdempotencyIdentity, identityHash } from '../key/identity.ts'
import { isStoredByDefault } from '../response/status-rules.ts'
import { type UnstoredResponse, UnstoredResponses } from '../response/unstored-responses.ts'
import type {
	IdempotencyClaimRef,
	IdempotencyClaimResult,
	IdempotencyStore,
	StoredKey,
	StoredResponse,
} from '../store/store.ts'
import type { BeginOptions, BeginResult } from './begin-result.ts'
import { type ClaimWrites, IdempotencyClaim } from './claim.ts'
import { ClaimTokens } from './claim-tokens.ts'
import { keyUnchangedError, noContextError } from './errors.ts'
import { EventReports } from './event-reports.ts'
import type { FencedEvent, IdempotencyListener, StoreOperation } from './events.ts'
import { GuardedStore } from './guarded-store.ts'
import { lintFindings } from './lint-findings.ts'
import { type IdempotencyOptions, type IdempotencySettings, readIdempotencyOptions } from './options.ts'
import { PurgeSchedule } from './purge-schedule.ts'
import type { IdempotencyContext, IdempotencyRunContext } from './request-context.ts'
import { keptContext } from './request-context.ts'
import { type IdempotencyRunOptions, runFunction } from './run-function.ts'
import { isRunning, SharedWaits } from './shared-waits.ts'
import { UnconfirmedWrites } from './unconfirmed-writes.ts'

/** A repeated request waits in the server, so a client that comes back soon costs little. */
const MAX_RETRY_AFTER_MS = 5_000

export interface PurgeOptions {
	/** How many keys one statement deletes. Default 1,000. */
	readonly batchSize?: number | undefined
	readonly signal?: AbortSignal | undefined
}

export interface DeleteOptions {
	/** Deletes the key also if its request runs. Default false. */
	readonly force?: boolean | undefined
}

const PURGE_BATCH_SIZE = 1_000

/** How many requests of this process run, and the state of the store's circuit breaker. Read it from `engine.stats`. */
export interface IdempotencyStats {
	/** Requests of this process whose handler runs. */
	readonly running: number
	/** Responses that the store has not confirmed. */
	readonly unstored: number
	/** The circuit breaker of the store; always `'closed'` without one. */
	readonly storeCircuit: CircuitState
}

/**
 * Runs each request, or each function, with the same idempotency key once. `idempotency()` creates it; pass it to an adapter such as
 * `expressIdempotency`, or call `engine.run`.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: declares [INSPECT] and [OBSERVE], whose computed names isolatedDeclarations cannot emit.
export class IdempotencyEngine<Tx = unknown, Raw = unknown> {
	/** The option of this name. Its parameter says which framework's requests the engine accepts. */
	readonly principal: IdempotencyOptions<Tx, Raw>['principal']
	/** @internal */
	readonly settings: IdempotencySettings<Tx, Raw>
	readonly #guardedStore: GuardedStore
	readonly #runtime: Runtime
	readonly #reports: EventReports
	readonly #purges: PurgeSchedule
	readonly #tokens = new ClaimTokens()
	/** Claims of this process whose lease is extended. */
	readonly #running = new Set<IdempotencyClaim>()
	readonly #stopWaiters: (() => void)[] = []
	readonly #unconfirmed: UnconfirmedWrites
	readonly #unstored = new UnstoredResponses()
	readonly #waits: SharedWaits
	readonly #writes: ClaimWrites = {
		heartbeat: (claim) => this.heartbeat(claim),
		saveStep: (claim, name, value) =>
			this.#write('step', claim, (store) => store.saveStep(claim.ref, name, value)),
		onLost: (claim) => {
			this.#stop(claim)
			this.#reports.leaseLost(claim.identity)
		},
		isCompleted: (claim) => this.#guardedStore.write((store) => isCompletedIn(store, claim)),
		onCommitted: (claim) => this.#stop(claim),
	}

	constructor(options: IdempotencyOptions<Tx, Raw>) {
		this.settings = readIdempotencyOptions(options)
		this.principal = this.settings.principal
		this.#runtime = options.runtime ?? systemRuntime
		this.#guardedStore = new GuardedStore(this.settings)
		this.#reports = new EventReports(this.settings.name, this.#runtime)
		const { name, purgeEveryMs, store } = this.settings
		this.#purges = new PurgeSchedule(this.#runtime, {
			...{ name, purgeEveryMs },
			isWorking: () => this.stats.storeCircuit === 'closed',
			purge: (limit) => store.purge(limit, true),
		})
		this.#unconfirmed = new UnconfirmedWrites(this.#runtime)
		this.#waits = new SharedWaits(this.#runtime, ({ claim }) => void this.tryRelease(claim))
	}

	/**
	 * Claims the key of a request. Returns `run` for exactly one of several concurrent requests; it must be followed by `complete` or `release`.
	 * The others get `conflict`, or wait up to `waitMs` and get `replay`. Rejects if the store fails, and with the reason of `signal` if that is aborted
	 * before the request may run.
	 */
	async begin(
		identity: IdempotencyIdentity,
		fingerprint: string,
		{ signal }: BeginOptions = {},
	): Promise<BeginResult> {
		const hash = identityHash(this.settings.name, identity)
		const id = typeof hash === 'string' ? hash : await hash
		signal?.throwIfAborted()
		const result = await this.#beginWaiting(id, identity, fingerprint, signal)
		this.#reports.begun(identity, result)
		return result
	}

	async #beginWaiting(
		id: string,
		identity: IdempotencyIdentity,
		fingerprint: string,
		signal: AbortSignal | undefined,
	): Promise<BeginResult> {
		const { waitMs } = this.settings
		const startedAt = this.#runtime.now()
		const ask = (): Promise<BeginResult> => this.#ask(id, identity, fingerprint)
		const key = waitKey(id, fingerprint)
		const result = (waitMs > 0 ? this.#waits.latest(key) : undefined) ?? (await ask())
		const leftMs = startedAt + waitMs - this.#runtime.now()
		if (!isRunning(result) || leftMs <= 0) return result
		signal?.throwIfAborted()
		const ended = await this.#waits.wait(key, result, ask, leftMs, signal)
		if (ended) return ended
		signal?.throwIfAborted()
		return { ...result, retryAfterMs: this.#retryAfterMs() }
	}

	/** With jitter, because the clients of many keys may have been cut off by one crash. */
	#retryAfterMs(leaseLeftMs = MAX_RETRY_AFTER_MS): number {
		return Math.min(leaseLeftMs, MAX_RETRY_AFTER_MS) * (0.5 + this.#runtime.random() / 2)
	}

	/** A response that the store has not confirmed is asked for here. */
	async #ask(id: string, identity: IdempotencyIdentity, fingerprint: string): Promise<BeginResult> {
		const unstored = this.#unstored.get(id)
		await unstored?.waited
		if (unstored && unstored === this.#unstored.get(id)) return fromMemory(unstored, fingerprint)
		return this.#claim(id, identity, fingerprint)
	}

	/**
	 * Stores the response of a request, or marks the key as processed without one. If the store fails, the claim is kept, and the response is stored
	 * as soon as the store is back. Resolves when it is stored, with false if the lease was lost and nothing is stored. Rejects with the store's error if
	 * `maxRunMs` is over before.
	 */
	async complete(claim: IdempotencyClaim, response: StoredResponse | undefined): Promise<boolean> {
		const result = await this.#store(claim, response)
		return typeof result === 'boolean' ? result : result.stored
	}

	/**
	 * Lets the next request with this key run. Returns false if the lease was lost. If the store fails, it is repeated until the lease has ended by
	 * itself.
	 */
	async release(claim: IdempotencyClaim): Promise<boolean> {
		const result = await this.#release(claim)
		return typeof result === 'boolean' ? result : result.released
	}

	/**
	 * Runs a function once per key and principal, for what is not an HTTP request: consumers of queues, tRPC, GraphQL, Lambda. A repeated call with the same key and
	 * input returns the stored result, as JSON, without calling `fn`. `fn` gets steps, the signal of the lease and transactions. While another run is in progress, a call
	 * waits `waitMs`, then rejects with an `IdempotencyConflictError`, whose `retryAfterMs` `retry` waits for. An error of `fn` releases the key and is rethrown.
	 * A result that JSON cannot hold completes the key, because `fn` has run: this call and repeated ones reject.
	 *
	 * @example
	 * const receipt = await engine.run(message.id, message.body, ({ step }) =>
	 *   step('charge', ({ idempotencyKey }) => stripe.charge(message.body, { idempotencyKey })),
	 * { principal: message.body.accountId, route: 'charge' })
	 */
	run<T>(
		key: string,
		input: unknown,
		fn: (context: IdempotencyRunContext<Tx>) => T | Promise<T>,
		options: IdempotencyRunOptions,
	): Promise<Jsonified<T>> {
		return runFunction(this, key, input, fn, options)
	}

	/** Extends the lease. A running claim does it by itself. */
	heartbeat(claim: IdempotencyClaim): Promise<boolean> {
		return this.#guarded('heartbeat', claim.identity, () =>
			this.#guardedStore.write((store) => store.heartbeat(claim.ref, this.settings.leaseMs)),
		)
	}

	/**
	 * @internal Like `complete`, for adapters: the response is sent when it has been stored, or when `storeTimeoutMs` has passed. `waitUntil` keeps
	 * platforms alive that end everything with the response.
	 */
	async tryComplete(
		claim: IdempotencyClaim,
		response: StoredResponse | undefined,
		waitUntil?: (promise: Promise<unknown>) => void,
	): Promise<void> {
		const result = await this.#store(claim, response)
		if (typeof result === 'boolean') return
		waitUntil?.(result.stored.catch(ignore))
		await result.waited
	}

	/** @internal Like `release`, for adapters: the response is sent after one attempt. Nothing is left to release after a transaction. */
	async tryRelease(claim: IdempotencyClaim, waitUntil?: (promise: Promise<unknown>) => void): Promise<void> {
		if (claim.hasEnded) return
		const result = await this.#release(claim)
		if (typeof result !== 'boolean') waitUntil?.(result.released.catch(ignore))
	}

	/**
	 * Resolves when no handler runs and every response has been stored, or `maxRunMs` is over, and closes the store. Call it before the process ends,
	 * after the server has closed.
	 *
	 * @example
	 * process.once('SIGTERM', () => server.close(async () => {
	 *   await engine.close()
	 *   await pool.end()
	 * }))
	 */
	async close(): Promise<void> {
		while (this.#running.size > 0) await new Promise<void>((resolve) => this.#stopWaiters.push(resolve))
		await this.#unconfirmed.settled()
		await this.#purges.stop()
		await this.settings.store.close?.()
	}

	/** @internal Like `complete`, as a part of a transaction. */
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

	/** @internal Like `complete`, in a transaction of the user. Whether that was committed is found out when the handler has ended. */
	async completeIn(
		claim: IdempotencyClaim,
		tx: Queryable,
		response: StoredResponse | undefined,
	): Promise<boolean> {
		const { store, retentionMs } = this.settings
		const undo = claim.awaitCommit()
		let isWritten: boolean | undefined
		try {
			isWritten = await store.completeIn?.(tx, claim.ref, response, retentionMs)
		} finally {
			if (!isWritten) undo()
		}
		if (isWritten) return true
		this.#reports.fenced(claim.identity, 'complete')
		return false
	}

	/** @internal The transaction of a completion has not committed. */
	resume(claim: IdempotencyClaim): void {
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

	/**
	 * Returns the context of a request: pass Express's `req`, Fastify's `request` or Hono's `c`. Throws if no adapter of this engine ran for it, because a
	 * handler without its protection must not go unnoticed.
	 *
	 * @example
	 * app.post('/charges', expressIdempotency(engine), async (req, res) => {
	 *   const charge = await engine.context(req).step('charge', ({ idempotencyKey }) => stripe.charge(req.body, { idempotencyKey }))
	 *   res.status(201).json(charge)
	 * })
	 */
	context(request: object): IdempotencyContext<Tx> {
		const context = keptContext<Tx>(request, this)
		if (!context) throw noContextError()
		return context
	}

	/** Returns what is stored for a key, without its response. */
	async find(identity: IdempotencyIdentity): Promise<StoredKey | undefined> {
		return this.settings.store.find(await identityHash(this.settings.name, identity))
	}

	/**
	 * Decides about a key whose request ended without a response, which `abandoned: 'reject'` leaves to an operator: `'rerun'` lets the next
	 * request run, a response is what repeated requests get. Throws if the key is unknown or not in that state.
	 */
	async resolve(identity: IdempotencyIdentity, decision: 'rerun' | StoredResponse): Promise<void> {
		const { store, name, retentionMs } = this.settings
		const id = await identityHash(name, identity)
		const isResolved = await store.resolve(id, decision === 'rerun' ? undefined : decision, retentionMs)
		if (!isResolved)
			throw keyUnchangedError(
				await store.find(id),
				'Only a key whose request ended without a response can be resolved',
			)
	}

	/**
	 * Forgets a key: the next request with it runs like a first one, so its effects may happen again. A key whose request runs is deleted only with `force`;
	 * then nothing of that request is stored. Throws if nothing was deleted.
	 */
	async delete(identity: IdempotencyIdentity, { force = false }: DeleteOptions = {}): Promise<void> {
		const { store, name } = this.settings
		const id = await identityHash(name, identity)
		if (!(await store.delete(id, force)))
			throw keyUnchangedError(
				await store.find(id),
				'Wait until its request has ended, or pass { force: true }',
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
		return {
			running: this.#running.size,
			unstored: this.#unstored.size,
			storeCircuit: this.#guardedStore.breaker?.currentState ?? 'closed',
		}
	}

	/** @internal */
	[INSPECT](): Inspection {
		const { name, storeTimeoutMs } = this.settings
		return {
			name,
			sample: () => ({
				policies: this.#guardedStore.breaker ? [this.#guardedStore.breaker] : [],
				totalTimeoutMs: Infinity,
				timeoutMs: storeTimeoutMs,
			}),
			findings: () => lintFindings(this.settings),
			policies: () => [['store', this.#guardedStore.policy]],
			stats: () => this.stats,
		}
	}

	/** @internal */
	[OBSERVE](): Observation {
		return {
			kind: 'idempotency',
			emitter: this.#reports.emitter,
			policies: () => [['store', this.#guardedStore.policy]],
			stats: () => this.stats,
		}
	}

	/** Subscribes to every event. Returns a function that unsubscribes. */
	subscribe(listener: IdempotencyListener): () => void {
		return this.#reports.subscribe(listener)
	}

	/** Returns whether the response is stored; if the store has failed, what is known about it. */
	async #store(
		claim: IdempotencyClaim,
		response: StoredResponse | undefined,
	): Promise<boolean | UnstoredResponse> {
		const startedAt = this.#runtime.now()
		claim.end()
		try {
			return await this.#write('complete', claim, (store) => this.#completeIn(store, claim, response))
		} catch (error) {
			return this.#storeLater(claim, this.#unstored.fitting(response), startedAt, error)
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
			const durationMs = this.#runtime.now() - startedAt
			this.#reports.storedLate(identity, isStored, { durationMs, attempts })
		}
		const stored = this.#unconfirmed.repeat(write, claim.runUntil, error).finally(() => claim.end())
		stored.then(
			(isStored) => {
				if (isStored) report(true)
			},
			() => report(false),
		)
		const leftMs = Math.max(0, startedAt + this.settings.storeTimeoutMs - this.#runtime.now())
		const waited = withTimeout(this.#runtime, leftMs, stored).catch(ignore)
		const unstored: UnstoredResponse = { fingerprint, response, stored, waited }
		this.#unstored.add(ref.id, unstored)
		return unstored
	}

	/** A completion may be sent twice, because it timed out or a connection was lost before the reply: the store rejects the second, but the response is stored. */
	async #completeIn(
		store: IdempotencyStore,
		claim: IdempotencyClaim,
		response: StoredResponse | undefined,
	): Promise<boolean> {
		const { ref } = claim
		const isStored = await unlessCommitted(store, claim, () =>
			store.complete(ref, response, this.settings.retentionMs),
		)
		return isStored || isResponseOf(await store.find(ref.id), ref, response)
	}

	/** Returns whether the key is released; if the store has failed, a promise of it. */
	async #release(claim: IdempotencyClaim): Promise<boolean | { readonly released: Promise<boolean> }> {
		const until = this.#runtime.now() + this.settings.leaseMs
		const release = (store: IdempotencyStore) => unlessCommitted(store, claim, () => store.release(claim.ref))
		claim.end()
		try {
			return await this.#write('release', claim, release)
		} catch (error) {
			const again = async (): Promise<boolean> => {
				await this.#guarded('release', claim.identity, () => this.#guardedStore.write(release))
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
		this.#waits.wake(waitKey(claim.ref.id, claim.fingerprint))
	}

	async #claim(id: string, identity: IdempotencyIdentity, fingerprint: string): Promise<BeginResult> {
		const { leaseMs, retentionMs, abandoned } = this.settings
		const claimedAt = this.#runtime.now()
		const token = this.#tokens.next()
		const request = { id, token, fingerprint, leaseMs, retentionMs, abandoned }
		let result: IdempotencyClaimResult
		try {
			result = await this.#guardedStore.claim(request)
			if (result.kind === 'running' && this.#tokens.hasEnded(result.token))
				result = await this.#guardedStore.claim({ ...request, endedToken: result.token })
		} catch (error) {
			this.#tokens.recordFailure(token, error)
			this.#reports.storeError(identity, 'claim', error)
			throw error
		}
		this.#purges.start()
		if (result.kind === 'running')
			return { kind: 'conflict', reason: 'in-progress', retryAfterMs: this.#retryAfterMs(result.leaseLeftMs) }
		if (result.kind !== 'claimed') return toBegin(result)
		const claim = new IdempotencyClaim(
			{ id, token },
			identity,
			fingerprint,
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
	#write(operation: FencedEvent['operation'], claim: IdempotencyClaim, write: StoreWrite): Promise<boolean> {
		return this.#checked(operation, claim, () => this.#guardedStore.write(write))
	}

	async #checked(
		operation: FencedEvent['operation'],
		claim: IdempotencyClaim,
		run: () => Promise<boolean>,
	): Promise<boolean> {
		const { identity } = claim
		const isWritten = await this.#guarded(operation, identity, run)
		if (!isWritten) this.#reports.fenced(identity, operation)
		return isWritten
	}

	async #guarded<T>(
		operation: StoreOperation,
		identity: IdempotencyIdentity,
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

// biome-ignore lint/correctness/noUnusedVariables: a merged declaration has the same type parameters.
export interface IdempotencyEngine<Tx, Raw> extends Inspectable, Observable {}

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
 * Ends a claim, unless a transaction of the user has completed the key. A transaction that is still open is waited for by the write, which returns
 * false if it was committed.
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

/** What a repeated request gets while the store has not confirmed the response. */
function fromMemory({ response, ...unstored }: UnstoredResponse, fingerprint: string): BeginResult {
	if (unstored.fingerprint !== fingerprint) return { kind: 'mismatch' }
	return response ? { kind: 'replay', response } : { kind: 'conflict', reason: 'not-stored' }
}

const waitKey = (id: string, fingerprint: string): string => `${id} ${fingerprint}`

function toBegin(result: Exclude<IdempotencyClaimResult, { kind: 'claimed' | 'running' }>): BeginResult {
	if (result.kind === 'completed') return { kind: 'replay', response: result.response }
	if (result.kind === 'mismatch') return result
	return { kind: 'conflict', reason: result.kind === 'unstored' ? 'not-stored' : 'outcome-unknown' }
}

/**
 * Creates an engine for idempotency keys: requests with the same key run once, and repeated ones get the stored response.
 *
 * @example
 * const engine = idempotency({ store: memoryIdempotencyStore(), principal: ({ raw }) => userOf(raw)?.id })
 */
export function idempotency<Tx, Raw = unknown>(
	options: IdempotencyOptions<Tx, Raw>,
): IdempotencyEngine<Tx, Raw> {
	return new IdempotencyEngine(options)
}
