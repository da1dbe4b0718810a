import { YaokiError } from '../../core/errors/errors.ts'
import type { StoredKey } from '../store/store.ts'
import type { ConflictReason } from './events.ts'

/**
 * The lease of a request ended while its handler ran: another request may run with the same key. It is the
 * reason of `context.signal`, and `context.step`, `context.transaction` and `context.complete` reject with
 * it. Let your transaction roll back; raise `leaseMs` or `maxRunMs` if it happens often.
 */
export class IdempotencyLeaseLostError extends YaokiError {
	override readonly name = 'IdempotencyLeaseLostError'

	/** For frameworks that send an error with its status. A repetition gets the other request's response. */
	readonly statusCode = 409
	readonly status = 409

	constructor() {
		super(
			'YAOKI_IDEMPOTENCY_LEASE_LOST',
			'The lease of this idempotency key has ended: another request may run with it. Increase leaseMs or maxRunMs',
		)
	}
}

/**
 * `context.complete` rejects with it for a response that is not stored, such as one with status 500. Let the
 * transaction roll back, then send `response`.
 */
export class IdempotencyResponseNotStoredError extends YaokiError {
	override readonly name = 'IdempotencyResponseNotStoredError'
	readonly response: Response
	/** For frameworks that send an error with its status. */
	readonly statusCode: number
	readonly status: number

	constructor(response: Response) {
		const { status } = response
		super(
			'YAOKI_IDEMPOTENCY_RESPONSE_NOT_STORED',
			`A response with status ${status} is not stored, so the transaction must be rolled back: a repeated request would write a second time. Let it roll back and send the response afterwards, or change shouldStore`,
		)
		this.response = response
		this.statusCode = status
		this.status = status
	}
}

/** `key-reused`: the key was used with another input. */
type RunConflict = ConflictReason | 'key-reused'

const CONFLICTS: Readonly<Record<RunConflict, string>> = {
	'in-progress': 'Another run with this idempotency key is in progress. Repeat the call after retryAfterMs',
	'key-reused': 'This idempotency key was used with another input. Use a new key for a new operation',
	'outcome-unknown':
		'An earlier run with this idempotency key ended without a result. An operator decides with engine.resolve',
	'not-stored':
		'An earlier run with this idempotency key has completed, but its result is not stored: it was larger than maxBodyBytes, or JSON cannot hold it',
}

/**
 * `engine.run` rejects with it if it did not run the function and has no result of an earlier run. Decide by
 * `reason`; if `retryAfterMs` is set, repeat the call after it.
 */
export class IdempotencyConflictError extends YaokiError {
	override readonly name = 'IdempotencyConflictError'
	readonly reason: RunConflict
	/** Only if a repetition helps. `retry` waits for it. */
	readonly retryAfterMs: number | undefined
	/** What an adapter would respond with. */
	readonly statusCode: 409 | 422
	readonly status: 409 | 422

	constructor(reason: RunConflict, retryAfterMs?: number) {
		super('YAOKI_IDEMPOTENCY_CONFLICT', CONFLICTS[reason])
		this.reason = reason
		this.retryAfterMs = retryAfterMs
		this.statusCode = reason === 'key-reused' ? 422 : 409
		this.status = this.statusCode
	}
}

/** Thrown by readers of a request's body. The adapter responds with 413. */
export class IdempotencyRequestTooLargeError extends YaokiError {
	override readonly name = 'IdempotencyRequestTooLargeError'

	constructor(maxBytes: number) {
		super('YAOKI_IDEMPOTENCY_REQUEST_TOO_LARGE', `The body of the request is larger than ${maxBytes} bytes`)
	}
}

/** The body was read before, and its value is unknown: two different requests would look the same. */
export const bodyConsumedError = (): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_BODY_CONSUMED',
		'The body of the request was read before, and its value is not in `body`. Register the idempotency adapter before what reads the body',
	)

/** The step would stay stored after a rollback. On SQLite the step and the transaction would deadlock. */
export const stepInTransactionError = (name: string): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_STEP_IN_TRANSACTION',
		`The step "${name}" runs inside of a transaction, but its result is stored outside. Run it before context.transaction or context.complete`,
	)

/** A bigint, or an object that contains itself. The effect of the step has happened. */
export const stepNotJsonError = (name: string): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_STEP_NOT_JSON',
		`The step "${name}" has run, but JSON cannot hold its result, so it cannot be returned to a repeated request. Return only what JSON can hold, such as the id of a charge`,
	)

/** Thrown after the function has run, and inside of a transaction, which is rolled back. */
export const resultNotJsonError = (cause: unknown): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_RESULT_NOT_JSON',
		'The function of engine.run has run, but JSON cannot hold its result, so it cannot be returned to a repeated call. Return only what JSON can hold, such as the id of a charge',
		{ cause },
	)

/** The transaction would store its own response, and find that the key is completed. */
export const completeInTransactionError = (): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_STEP_IN_TRANSACTION',
		'context.complete was called inside of context.transaction, which stores the response by itself. Return the response instead',
	)

/** `resolve` or `delete` changed nothing. */
export const keyUnchangedError = (key: StoredKey | undefined, advice: string): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_KEY_UNCHANGED',
		key
			? `The idempotency key is ${key.state}. ${advice}`
			: 'Nothing is stored for this principal, method, route and key. Check all four',
	)

export const noTransactionError = (): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_NO_TRANSACTION',
		'The store has no transactions: use postgresIdempotencyStore or sqliteIdempotencyStore, or steps',
	)

export const noContextError = (): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_NO_CONTEXT',
		'This request has no context of this idempotency engine. Register expressIdempotency(engine), fastifyIdempotency(engine) or honoIdempotency(engine) before its handler',
	)
