/** Errors of webhooks. */
import { YaokiError } from '../../core/errors/errors.ts'

/**
 * A method of `webhooks.endpoints` got an id that no endpoint has: `code` is `YAOKI_WEBHOOK_ENDPOINT`. A message of
 * an endpoint that was deleted becomes a dead letter with this error.
 */
export class WebhookEndpointError extends YaokiError {
	override readonly name = 'WebhookEndpointError'
	readonly endpointId: string

	constructor(endpointId: string) {
		super(
			'YAOKI_WEBHOOK_ENDPOINT',
			`There is no webhook endpoint ${endpointId}: it was deleted, or never created. webhooks.endpoints.list() returns all`,
		)
		this.endpointId = endpointId
	}
}
