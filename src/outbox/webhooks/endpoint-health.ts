/**
 * Records what attempts say about an endpoint, and disables it: after 410 immediately, after failures of
 * `disableAfterMs`. The messages of a disabled endpoint stay queued. All times are those of the database, so that
 * a relay whose clock is wrong disables nothing.
 */
import type { Emitter } from '../../core/observe/emitter.ts'
import { factsForEvents } from '../message/stored-error.ts'
import type { EndpointDisabledReason, EndpointRow, EndpointStore } from '../store/endpoint-store.ts'
import type { OutboxStore } from '../store/store.ts'
import type { EndpointCache } from './endpoint-cache.ts'
import type { WebhookEvent } from './events.ts'
import type { WebhooksSettings } from './webhooks-options.ts'

/** One message that fails a few times in a quiet week says too little. */
const MIN_FAILURES = 10

export interface HealthParts {
	readonly store: OutboxStore
	readonly endpoints: EndpointStore
	readonly cache: EndpointCache
	readonly emitter: Emitter<WebhookEvent>
	readonly settings: WebhooksSettings
}

export class EndpointHealth {
	readonly #parts: HealthParts

	constructor(parts: HealthParts) {
		this.#parts = parts
	}

	/** `row` is what this process knows of the endpoint: without failures nothing is written. */
	async recordSuccess({ id, tenant, failingSince, failures }: EndpointRow): Promise<void> {
		if (failingSince === null) return
		const { store, endpoints, cache, emitter } = this.#parts
		const hadFailures = await endpoints.recordSuccess(id)
		cache.forget(id)
		// Another delivery in flight, or another relay, was first.
		if (!hadFailures) return
		const failedForMs = Math.max(0, (await store.now()) - failingSince)
		emitter.emit({
			type: 'webhook_endpoint_recovered',
			endpointId: id,
			tenant: tenant || undefined,
			failedForMs,
			failures,
		})
	}

	async recordFailure(id: string, error: unknown): Promise<void> {
		const { store, endpoints, cache, emitter, settings } = this.#parts
		const row = await endpoints.recordFailure(id)
		if (!row || row.disabledReason !== null || row.failingSince === null) return
		if (row.failures === 1) {
			// The success that follows has to know of this failure.
			cache.forget(id)
			const { tenant } = row
			const subject = { endpointId: id, tenant: tenant || undefined }
			// Without the body of the response, as in events of a relay: a receiver may repeat the payload in it.
			emitter.emit({ type: 'webhook_endpoint_failing', ...subject, ...factsForEvents(error) })
		}
		if (row.failures < MIN_FAILURES || settings.disableAfterMs === Infinity) return
		if ((await store.now()) - row.failingSince >= settings.disableAfterMs) await this.disable(row, 'failing')
	}

	/** Relays that disable an endpoint at the same time emit one event. */
	async disable(row: EndpointRow, reason: Exclude<EndpointDisabledReason, 'operator'>): Promise<void> {
		const { endpoints, cache, emitter, settings } = this.#parts
		const { id, tenant, version, failingSince, failures } = row
		const change = { action: 'disable-endpoint', disabledReason: reason, ifVersion: version } as const
		const note = reason === 'gone' ? 'it returned 410' : `all of ${failures} attempts failed`
		const changed = await endpoints.change(id, change, { by: settings.name, reason: note })
		cache.forget(id)
		if (!changed) return
		emitter.emit({
			type: 'webhook_endpoint_disabled',
			endpointId: id,
			tenant: tenant || undefined,
			reason,
			failingSince: failingSince ?? undefined,
			failures,
		})
	}
}
