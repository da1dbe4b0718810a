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
