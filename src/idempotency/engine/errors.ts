import { YaokiError } from '../../core/errors/errors.ts'

/** The lease of a request ended while its handler ran: another request may run with the same key. */
export class LeaseLostError extends YaokiError {
	override readonly name = 'LeaseLostError'

	/** For frameworks that send an error with its status: the other request decides, and a repetition gets its response. */
	readonly statusCode = 409
	readonly status = 409

	constructor() {
		super(
			'YAOKI_IDEMPOTENCY_LEASE_LOST',
			'The lease of this idempotency key has ended: another request may run with it. Increase leaseMs or maxRunMs',
		)
	}
}

/** Thrown by readers of a request's body. The adapter responds with 413. */
export class RequestBodyTooLargeError extends YaokiError {
	override readonly name = 'RequestBodyTooLargeError'

	constructor(maxBytes: number) {
		super('YAOKI_IDEMPOTENCY_REQUEST_TOO_LARGE', `The body of the request is larger than ${maxBytes} bytes`)
	}
}

/** The body was read before the adapter, and is not available as a value either: two different requests would look the same. */
export const bodyConsumedError = (): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_BODY_CONSUMED',
		'The body of the request was read before, and its value is not in `body`. Register the idempotency adapter before what reads the body',
	)

/** On SQLite the step would wait for the transaction that waits for it, and everywhere it would stay stored if the transaction rolls back. */
export const stepInTransactionError = (name: string): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_STEP_IN_TRANSACTION',
		`The step "${name}" runs inside of a transaction, but its result is stored outside. Run it before context.transaction`,
	)

export const noContextError = (): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_NO_CONTEXT',
		'This request has no context of this idempotency engine. Register expressIdempotency(engine), fastifyIdempotency(engine) or honoIdempotency(engine) before its handler',
	)
