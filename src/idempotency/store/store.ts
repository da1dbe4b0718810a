/**
 * The contract between the engine and a database. Every method is one round trip. Only the store's clock
 * decides about time: callers pass durations. A store contains hashes of principals, keys and requests, never
 * the values. `yaoki/idempotency/testing` has the cases that every store passes.
 *
 * A key is running (claimed by one request, until its lease ends), completed (with a response), or released
 * (its request failed and the next one may run). A key that the store does not contain was never used, or its
 * retention is over.
 */
import type { Queryable } from '../../sql/clients.ts'

/**
 * The key of a request, and for how long the request claims it. For authors of stores:
 * `IdempotencyStore.claim` gets it.
 */
export interface IdempotencyClaimRequest {
	/** Hash of the engine's name, principal, method, route and key. */
	readonly id: string
	/** Hash of the request. */
	readonly fingerprint: string
	/** Unique for each claim. Later writes of the claim carry it, and have no effect after another claim. */
	readonly token: string
	readonly leaseMs: number
	/** How long the key is kept after the end of the lease, if it never completes. */
	readonly retentionMs: number
	/** What happens with a claim whose lease ended: the next request takes it over, or is rejected. */
	readonly abandoned: 'rerun' | 'reject'
	/** The token of a claim whose process has ended, or that failed. Its lease counts as ended too. */
	readonly endedToken?: string | undefined
}

/**
 * Whether a request may run, gets a stored response, or conflicts with another request. For authors of
 * stores: `IdempotencyStore.claim` returns it.
 */
export type IdempotencyClaimResult =
	/** `steps` of an earlier run of the key, by name; values are JSON. */
	| { readonly kind: 'claimed'; readonly steps: StoredSteps }
	| { readonly kind: 'completed'; readonly response: StoredResponse }
	/** The key has completed without a response, which was too large or, for a function, not JSON. */
	| { readonly kind: 'unstored' }
	/** `leaseLeftMs` is what remains of the lease. `token` is the token of the claim that holds the key. */
	| { readonly kind: 'running'; readonly leaseLeftMs: number; readonly token: string }
	/** The lease of an earlier claim ended, and `abandoned` is `'reject'`. */
	| { readonly kind: 'abandoned' }
	/** The key was used for another request. */
	| { readonly kind: 'mismatch' }

/**
 * The results of finished steps of one key: the step's name and its result as JSON. For authors of stores:
 * `IdempotencyStore.claim` returns it, so that a repeated run skips these steps.
 */
export type StoredSteps = Readonly<Record<string, string>>

/**
 * A response as it is stored and replayed. `engine.resolve` takes it. For authors of stores:
 * `IdempotencyStore.complete` gets it, and `IdempotencyStore.claim` returns it.
 */
export interface StoredResponse {
	readonly status: number
	/** In the order in which they were sent. A name may occur several times. */
	readonly headers: readonly (readonly [name: string, value: string])[]
	readonly body: Uint8Array
}

/**
 * Identifies a claim by the `id` and the `token` of its request. For authors of stores: `heartbeat`,
 * `saveStep`, `complete` and `release` of an `IdempotencyStore` get it.
 */
export interface IdempotencyClaimRef {
	readonly id: string
	readonly token: string
}

/**
 * What is stored for one key, without headers and body of its response: state, lease, times and names of
 * steps. `engine.find()` returns it, for example to see why a request was rejected.
 */
export interface StoredKey {
	/** The token of the last claim. */
	readonly token: string
	readonly state: 'running' | 'released' | 'completed' | 'unstored'
	/** What remains of the lease; negative if it ended. Null if the key is not running. */
	readonly leaseLeftMs: number | null
	readonly createdAt: number
	readonly completedAt: number | null
	readonly expiresAt: number
	readonly status: number | null
	readonly bodyBytes: number | null
	readonly steps: readonly string[]
}

/** What a store and its caller know about a running claim. A store may ignore it. */
export interface StoreCall {
	/**
	 * Set by the store while the claim waits for something of this process, such as a free connection of the
	 * user's pool or a lock that another transaction holds. That is no failure of the database.
	 */
	isWaiting: boolean
	/** Set by the caller at its timeout: a claim that still waits must not be made. */
	isAbandoned: boolean
}

/**
 * A database that holds idempotency keys: the option `store` of `idempotency`. For authors of stores: writes
 * of a claim return false if another request has claimed the key since, or the key is gone; then nothing was
 * written. `idempotencyStoreConformance` tests a store.
 */
export interface IdempotencyStore<Tx = unknown> {
	/** False if no other process can use the store, so that its engine needs no `name`. Default true. */
	readonly isShared?: boolean | undefined
	/**
	 * Claims a key, unless it is running or completed. Concurrent claims of one key: exactly one is
	 * `'claimed'`. A claim that is repeated with its token, because a connection was lost before the reply, is
	 * `'claimed'` again while it holds the key.
	 */
	claim(
		request: IdempotencyClaimRequest,
		call?: StoreCall,
	): IdempotencyClaimResult | Promise<IdempotencyClaimResult>
	/** Extends the lease of a claim to `leaseMs` from now. */
	heartbeat(claim: IdempotencyClaimRef, leaseMs: number): boolean | Promise<boolean>
	/** Keeps the result of a step for later runs of the key. */
	saveStep(claim: IdempotencyClaimRef, name: string, value: string): boolean | Promise<boolean>
	/** Stores the response, or marks the key as completed without one, for `retentionMs`. */
	complete(
		claim: IdempotencyClaimRef,
		response: StoredResponse | undefined,
		retentionMs: number,
	): boolean | Promise<boolean>
	/** Lets the next request run. A key without steps is forgotten, a key with steps is kept. */
	release(claim: IdempotencyClaimRef): boolean | Promise<boolean>
	/**
	 * Ends a claim whose lease has ended without a response, by the decision of an operator: with the response
	 * that repeated requests get, or, if it is undefined, so that the next request runs with the stored steps.
	 * Returns false if the key is not in that state.
	 */
	resolve(id: string, response: StoredResponse | undefined, retentionMs: number): boolean | Promise<boolean>
	/**
	 * Forgets a key by the decision of an operator: the next request with it runs like a first one, whatever it
	 * contains. A key whose request runs, which is one whose lease has not ended, is deleted only if
	 * `isForced`; the store rejects later writes of that request. Returns false if nothing was deleted.
	 */
	delete(id: string, isForced?: boolean): boolean | Promise<boolean>
	/**
	 * Runs a function in a transaction of the store's database: commits if it resolves, rolls back if it
	 * rejects. `complete` is part of the transaction. Missing if the store has no transactions.
	 */
	transaction?<T>(run: (tx: Tx, complete: IdempotencyStore['complete']) => Promise<T>): Promise<T>
	/**
	 * Like `complete`, in a transaction that the user has opened on the store's database: the user's commit
	 * decides. Rejects with the error of the user's client, which may be one that the user repeats the
	 * transaction for. Missing if the store has no transactions.
	 */
	completeIn?(
		tx: Queryable,
		claim: IdempotencyClaimRef,
		response: StoredResponse | undefined,
		retentionMs: number,
	): boolean | Promise<boolean>
	/**
	 * Deletes at most `limit` keys whose retention is over. Returns how many. With `isExclusive`, it deletes
	 * nothing and returns 0 while another process deletes keys exclusively.
	 */
	purge(limit: number, isExclusive?: boolean): number | Promise<number>
	find(id: string): StoredKey | undefined | Promise<StoredKey | undefined>
	close?(): Promise<void>
}
