/** Events of webhooks. `emitter` is the name of the `Webhooks` object. */
import type { ErrorFacts, EventBase } from '../../core/events/events.ts'
import type { EndpointDisabledReason } from '../store/endpoint-store.ts'

interface EndpointEventBase extends EventBase {
	readonly endpointId: string
	readonly tenant: string | undefined
}

/** An attempt failed, after the last one had succeeded. Later failures emit nothing until an attempt succeeds. */
interface EndpointFailingEvent extends EndpointEventBase, ErrorFacts {
	readonly type: 'webhook_endpoint_failing'
}

/** An attempt succeeded, after the last one had failed. */
interface EndpointRecoveredEvent extends EndpointEventBase {
	readonly type: 'webhook_endpoint_recovered'
	/** How long it failed. */
	readonly failedForMs: number
	readonly failures: number
}

/** An endpoint was disabled. Its messages stay queued, and new events are not written for it. */
interface EndpointDisabledEvent extends EndpointEventBase {
	readonly type: 'webhook_endpoint_disabled'
	readonly reason: EndpointDisabledReason
	/** When it began to fail, in milliseconds since 1970; undefined if its last attempt succeeded. */
	readonly failingSince: number | undefined
	readonly failures: number
}

/** An endpoint was enabled. */
interface EndpointEnabledEvent extends EndpointEventBase {
	readonly type: 'webhook_endpoint_enabled'
}

/** Every event of webhooks, discriminated by `type`. Listeners of `webhooks.subscribe` get it. */
export type WebhookEvent =
	| EndpointFailingEvent
	| EndpointRecoveredEvent
	| EndpointDisabledEvent
	| EndpointEnabledEvent

/**
 * Receives every event synchronously. An exception is reported as a console warning and has no other effect.
 */
export type WebhookListener = (event: WebhookEvent) => void
