import { YaokiError } from '../../core/errors/errors.ts'

/** The lease of a request ended while its handler ran: another request may run with the same key. */
export class LeaseLostError extends YaokiError {
	override readonly name = 'LeaseLostError'

	constructor() {
		super(
			'YAOKI_IDEMPOTENCY_LEASE_LOST',
			'The lease of this idempotency key has ended: another request may run with it. Increase leaseMs or maxRunMs',
		)
	}
}
