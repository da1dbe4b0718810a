/** What `stats()` of webhooks returns. Telemetry reads it, and runs where webhooks do not. */
import type { EndpointCounts } from '../store/endpoint-store.ts'

/** Counts of endpoints. `webhooks.stats()` returns it. */
export interface WebhookStats extends EndpointCounts {
	/** How long the endpoint that has failed for longest has failed; null if none of the enabled ones fails. */
	readonly failingForMs: number | null
}
