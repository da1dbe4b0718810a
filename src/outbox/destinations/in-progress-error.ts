import { YaokiError } from '../../core/errors/errors.ts'
import type { HttpStatusError } from '../../http/request/status-error.ts'

/**
 * The receiver is still processing an earlier attempt of the same message, which it signals by a 409 with Retry-After. Unlike other 409s it is
 * transient. It has no `cause`, because the status of the cause would be classified as permanent.
 */
export class OutboxInProgressError extends YaokiError {
	override readonly name = 'OutboxInProgressError'
	readonly retryAfterMs: number | undefined

	constructor({ statusCode, retryAfterMs }: HttpStatusError) {
		super(
			'YAOKI_OUTBOX_IN_PROGRESS',
			`the receiver is still processing an earlier attempt (HTTP ${statusCode})`,
		)
		this.retryAfterMs = retryAfterMs
	}
}
