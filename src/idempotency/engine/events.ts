import type { ErrorFacts, EventBase } from '../../core/events/events.ts'

/** What all events of an engine have. No event contains a key, a principal or a body. */
interface IdempotencyEventBase extends EventBase {
	readonly method: string
	readonly route: string
}

/** A request runs. */
interface ClaimedEvent extends IdempotencyEventBase {
	readonly type: 'idempotency_claimed'
	/** True if an earlier run of the key stored steps and did not complete. */
	readonly isRerun: boolean
}

/** A repeated request got the stored response. */
interface ReplayedEvent extends IdempotencyEventBase {
	readonly type: 'idempotency_replayed'
	readonly statusCode: number
}

/** A repeated request was rejected. */
interface ConflictEvent extends IdempotencyEventBase {
	readonly type: 'idempotency_conflict'
	readonly reason: ConflictReason
}

/** A key was used for two different requests. */
interface MismatchEvent extends IdempotencyEventBase {
	readonly type: 'idempotency_mismatch'
}

/** A request ran longer than its lease: another request may run with the same key. */
interface LeaseLostEvent extends IdempotencyEventBase {
	readonly type: 'idempotency_lease_lost'
}

/** A write of a request that had lost its lease was rejected by the store. */
export interface FencedEvent extends IdempotencyEventBase {
	readonly type: 'idempotency_fenced'
	readonly operation: 'complete' | 'release' | 'step'
}

/** An operation of the store failed, or was rejected because of earlier failures. */
interface StoreErrorEvent extends IdempotencyEventBase, ErrorFacts {
	readonly type: 'idempotency_store_error'
	readonly operation: StoreOperation
}

/** The store was away when a handler ended, and has confirmed the response since. */
interface StoredLateEvent extends IdempotencyEventBase, LateStoring {
	readonly type: 'idempotency_stored_late'
}

/** A response could not be stored before `maxRunMs` was over: a repeated request runs again. */
interface ResponseLostEvent extends IdempotencyEventBase, LateStoring {
	readonly type: 'idempotency_response_lost'
}

interface LateStoring {
	/** Since the end of the handler. */
	readonly durationMs: number
	readonly attempts: number
}

/**
 * `in-progress`: the first request has not ended. `outcome-unknown`: its process crashed, and an operator
 * decides. `not-stored`: its response was too large to store, or the result of its function is not JSON.
 */
export type ConflictReason = 'in-progress' | 'outcome-unknown' | 'not-stored'

export type StoreOperation = 'claim' | 'heartbeat' | 'step' | 'complete' | 'release'

/** Every event of an idempotency engine, discriminated by `type`. Listeners of `engine.subscribe` get it. */
export type IdempotencyEvent =
	| ClaimedEvent
	| ReplayedEvent
	| ConflictEvent
	| MismatchEvent
	| LeaseLostEvent
	| FencedEvent
	| StoreErrorEvent
	| StoredLateEvent
	| ResponseLostEvent

export type IdempotencyListener = (event: IdempotencyEvent) => void
