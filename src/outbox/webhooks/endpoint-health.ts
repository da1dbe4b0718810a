/**
 * Records what attempts say about an endpoint, and disables it: after 410 immediately, after failures of
 * `disableAfterMs`. The messages of a disabled endpoint stay queued. All times are those of the database, so that
 * a relay whose clock is wrong disables nothing.
 */
import type { Emitter } from '../../core/observe/emitter.ts'
import type { CancelTimer } from '../../core/runtime/runtime.ts'
import { destinationOf } from '../../webhooks/endpoint-names.ts'
import type { RelayRetryOptions } from '../destinations/destination.ts'
import { factsForEvents } from '../message/stored-error.ts'
import type { Outbox } from '../outbox.ts'
import type { EndpointDisabledReason, EndpointRow, EndpointStore } from '../store/endpoint-store.ts'
import type { EndpointCache } from './endpoint-cache.ts'
import type { WebhookEvent } from './events.ts'
import { maxAttemptsWithin } from './outage-attempts.ts'
import type { WebhooksSettings } from './webhooks-options.ts'

/** One message that fails a few times in a quiet week says too little. */
const MIN_FAILURES = 10

export interface HealthParts {
	readonly outbox: Outbox
	readonly endpoints: EndpointStore
	readonly cache: EndpointCache
	readonly emitter: Emitter<WebhookEvent>
	readonly settings: WebhooksSettings
	/** The delays of messages. */
	readonly retry: RelayRetryOptions
	/** No attempt lasts longer. */
	readonly timeoutMs: number
}

/** An attempt that ends by its timeout is recorded a moment later. */
const RECORDED_WITHIN_MS = 5_000

/** A second release of an endpoint's messages, which is planned. */
interface LateRelease {
	maxAttempts: number
	readonly cancel: CancelTimer
}

export class EndpointHealth {
	readonly #parts: HealthParts
	readonly #lateReleases = new Map<string, LateRelease>()

	constructor(parts: HealthParts) {
		this.#parts = parts
	}

	/** `row` is what this process knows of the endpoint: without failures nothing is written. */
	async recordSuccess({ id, failingSince: known }: EndpointRow): Promise<void> {
		if (known === null) return
		const { outbox, endpoints, cache, emitter } = this.#parts
		const before = await endpoints.recordSuccess(id)
		cache.forget(id)
		// Another success was the first one.
		if (!before) return
		const { tenant, failures, failingSince } = before
		const now = await outbox.store.now()
		const failedForMs = Math.max(0, now - (failingSince ?? now))
		emitter.emit({
			type: 'webhook_endpoint_recovered',
			endpointId: id,
			tenant: tenant || undefined,
			failedForMs,
			failures,
		})
		await this.#releaseMessages(id, failedForMs)
	}

	/** Their next retry may be a day away, and the endpoint has just shown that it is back. */
	async #releaseMessages(id: string, outageMs: number): Promise<void> {
		const { outbox, retry, timeoutMs, settings } = this.#parts
		const maxAttempts = maxAttemptsWithin(outageMs, retry)
		const planned = this.#lateReleases.get(id)
		if (planned) planned.maxAttempts = Math.max(planned.maxAttempts, maxAttempts)
		else {
			// Attempts of all relays that began in the outage, and still hang, fail later than this success.
			const release = (): void => {
				const { maxAttempts: max = 0 } = this.#lateReleases.get(id) ?? {}
				this.#lateReleases.delete(id)
				outbox.retryAfterOutage(destinationOf(id), max).catch(() => {})
			}
			const cancel = settings.runtime.setTimer(timeoutMs + RECORDED_WITHIN_MS, release, 'housekeeping')
			this.#lateReleases.set(id, { maxAttempts, cancel })
		}
		await outbox.retryAfterOutage(destinationOf(id), maxAttempts)
	}

	close(): void {
		for (const { cancel } of this.#lateReleases.values()) cancel()
		this.#lateReleases.clear()
	}

	async recordFailure(id: string, error: unknown): Promise<void> {
		const { outbox, endpoints, cache, emitter, settings } = this.#parts
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
		if ((await outbox.store.now()) - row.failingSince >= settings.disableAfterMs)
			await this.disable(row, 'failing')
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
