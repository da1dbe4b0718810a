/**
 * Decides what happens to a request with an idempotency key. It knows no framework: adapters translate a
 * request into an identity and a fingerprint, run the handler if the engine returns `run`, and send the
 * response.
 */
import type { CircuitState } from '../../core/events/events.ts'
import type { Jsonified } from '../../core/json/jsonified.ts'
import type { Inspectable, InspectableObservation } from '../../core/observe/inspection.ts'
import { checkRange, MAX_NUMBER } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { PurgeSchedule } from '../../sql/purge-schedule.ts'
import { type IdempotencyIdentity, identityHash } from '../key/identity.ts'
import type { UnstoredResponse } from '../response/unstored-responses.ts'
import type { IdempotencyClaimResult, StoredKey, StoredResponse } from '../store/store.ts'
import type { BeginOptions, BeginResult, IdempotencyClaim } from './claim.ts'
import { ClaimTokens } from './claim-tokens.ts'
import { type IdempotencyContext, type IdempotencyRunContext, keptContext } from './context.ts'
import { keyUnchangedError, noContextError } from './errors.ts'
import { EventReports } from './event-reports.ts'
import type { IdempotencyListener } from './events.ts'
import { GuardedStore } from './guarded-store.ts'
import { lintFindings } from './lint-findings.ts'
import { type IdempotencyOptions, type IdempotencySettings, readIdempotencyOptions } from './options.ts'
import { type IdempotencyRunOptions, runFunction } from './run-function.ts'
import { RunningClaims } from './running-claims.ts'
import { isRunning, SharedWaits } from './shared-waits.ts'

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

/** How many requests run, and the state of the store's circuit breaker. Read it from `engine.stats`. */
export interface IdempotencyStats {
	/** Requests of this process whose handler runs. */
	readonly running: number
	/** Responses that the store has not confirmed. */
	readonly unstored: number
	/** The circuit breaker of the store; always `'closed'` without one. */
	readonly storeCircuit: CircuitState
}

/**
 * Runs each request, or each function, with the same idempotency key once. `idempotency()` creates it; pass
 * it to an adapter such as `expressIdempotency`, or call `engine.run`.
 */
export class IdempotencyEngine<Tx = unknown, Raw = unknown> implements Inspectable {
	/** The option of this name. Its parameter says which framework's requests the engine accepts. */
	readonly principal: IdempotencyOptions<Tx, Raw>['principal']
	/** @internal */
	readonly settings: IdempotencySettings<Tx, Raw>
	readonly #guardedStore: GuardedStore
	readonly #runtime: Runtime
	readonly #reports: EventReports
	readonly #purges: PurgeSchedule
	readonly #tokens = new ClaimTokens()
	readonly #waits: SharedWaits
	/** @internal */
	readonly claims: RunningClaims

	constructor(options: IdempotencyOptions<Tx, Raw>) {
		this.settings = readIdempotencyOptions(options)
		this.principal = this.settings.principal
		this.#runtime = this.settings.runtime
		this.#guardedStore = new GuardedStore(this.settings)
		this.#reports = new EventReports(this.settings.name, this.#runtime)
		const { name, store, purgeEveryMs: everyMs, runtime } = this.settings
		this.#purges = new PurgeSchedule({
			everyMs,
			runtime,
			purge: (limit) => store.purge(limit, true),
			mayRun: () => this.stats.storeCircuit === 'closed',
			problem: `idempotency engine "${name}" could not delete expired keys`,
		})
		this.#waits = new SharedWaits(this.#runtime, ({ claim }) => void this.claims.tryRelease(claim))
		this.claims = new RunningClaims(this.settings, this.#guardedStore, this.#reports, (claim) =>
			this.#waits.wake(waitKey(claim.ref.id, claim.fingerprint)),
		)
	}

	/**
	 * Claims the key of a request. Returns `run` for exactly one of several concurrent requests; it must be
	 * followed by `complete` or `release`. The others get `conflict`, or wait up to `waitMs` and get `replay`.
	 * Rejects if the store fails, and with the reason of `signal` if that is aborted before the request may
	 * run.
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

	/** The wait has jitter, because one crash may have cut off the clients of many keys. */
	#retryAfterMs(leaseLeftMs = MAX_RETRY_AFTER_MS): number {
		return Math.min(leaseLeftMs, MAX_RETRY_AFTER_MS) * (0.5 + this.#runtime.random() / 2)
	}

	/** Claims the key, unless this process has a response that the store has not confirmed. */
	async #ask(id: string, identity: IdempotencyIdentity, fingerprint: string): Promise<BeginResult> {
		const unstored = this.claims.unstored.get(id)
		await unstored?.waited
		if (unstored && unstored === this.claims.unstored.get(id)) return fromMemory(unstored, fingerprint)
		return this.#claim(id, identity, fingerprint)
	}

	/**
	 * Stores the response of a request, or marks the key as processed without one. If the store fails, the
	 * claim is kept, and the response is stored as soon as the store is back. Resolves when it is stored, with
	 * false if the lease was lost and nothing is stored. Rejects with the store's error if `maxRunMs` is over
	 * before.
	 */
	complete(claim: IdempotencyClaim, response: StoredResponse | undefined): Promise<boolean> {
		return this.claims.complete(claim, response)
	}

	/**
	 * Lets the next request with this key run. Returns false if the lease was lost. If the store fails, it is
	 * repeated until the lease has ended by itself.
	 */
	release(claim: IdempotencyClaim): Promise<boolean> {
		return this.claims.release(claim)
	}

	/** Extends the lease. A running claim does it by itself. */
	heartbeat(claim: IdempotencyClaim): Promise<boolean> {
		return this.claims.heartbeat(claim)
	}

	/**
	 * Runs a function once per key and principal, for what is not an HTTP request: consumers of queues, tRPC,
	 * GraphQL, Lambda. A repeated call with the same key and input returns the stored result, as JSON, without
	 * calling `fn`. `fn` gets steps, the signal of the lease and transactions. While another run is in
	 * progress, a call waits `waitMs`, then rejects with an `IdempotencyConflictError`, whose `retryAfterMs`
	 * `retry` waits for. An error of `fn` releases the key and is rethrown. A result that JSON cannot hold
	 * completes the key, because `fn` has run: this call and repeated ones reject.
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

	/**
	 * Resolves when no handler runs and every response has been stored, or `maxRunMs` is over, and closes the
	 * store. Call it before the process ends, after the server has closed.
	 *
	 * @example
	 * process.once('SIGTERM', () => server.close(async () => {
	 *   await engine.close()
	 *   await pool.end()
	 * }))
	 */
	async close(): Promise<void> {
		await this.claims.settled()
		await this.#purges.stop()
		await this.settings.store.close?.()
	}

	/**
	 * Returns the context of a request: pass Express's `req`, Fastify's `request` or Hono's `c`. Throws if no
	 * adapter of this engine ran for it, because a handler without its protection must not go unnoticed.
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
	 * Decides about a key whose request ended without a response, which `abandoned: 'reject'` leaves to an
	 * operator: `'rerun'` lets the next request run, a response is what repeated requests get. Throws if the
	 * key is unknown or not in that state.
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
	 * Forgets a key: the next request with it runs like a first one, so its effects may happen again. A key
	 * whose request runs is deleted only with `force`; then nothing of that request is stored. Throws if
	 * nothing was deleted.
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

	/** Deletes keys whose retention is over, in batches. Returns how many. Aborted, it stops after a batch. */
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
			running: this.claims.size,
			unstored: this.claims.unstored.size,
			storeCircuit: this.#guardedStore.breaker?.currentState ?? 'closed',
		}
	}

	'~observable'(): { readonly inspection: object } {
		const { name, storeTimeoutMs } = this.settings
		const observation: InspectableObservation = {
			kind: 'idempotency',
			events: this.#reports.emitter,
			members: () => [['store', this.#guardedStore.policy]],
			stats: () => this.stats,
			inspection: {
				name,
				sample: () => ({
					policies: this.#guardedStore.breaker ? [this.#guardedStore.breaker] : [],
					totalTimeoutMs: Infinity,
					timeoutMs: storeTimeoutMs,
				}),
				findings: () => lintFindings(this.settings),
			},
		}
		return observation
	}

	/** Subscribes to every event. Returns a function that unsubscribes. */
	subscribe(listener: IdempotencyListener): () => void {
		return this.#reports.emitter.subscribe(listener)
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
		return {
			kind: 'run',
			claim: this.claims.add({ id, token }, identity, fingerprint, result.steps, claimedAt),
		}
	}
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
 * Creates an engine for idempotency keys: requests with the same key run once, and repeated ones get the
 * stored response.
 *
 * @example
 * const engine = idempotency({ store: memoryIdempotencyStore(), principal: ({ raw }) => userOf(raw)?.id })
 */
export function idempotency<Tx, Raw = unknown>(
	options: IdempotencyOptions<Tx, Raw>,
): IdempotencyEngine<Tx, Raw> {
	return new IdempotencyEngine(options)
}
