/** The endpoints of webhooks: create, list, rotate, disable, enable, test, and deliver again. */
import { InvalidOptionError, YaokiError } from '../../core/errors/errors.ts'
import type { Emitter } from '../../core/observe/emitter.ts'
import { checkNames, invalidArgument, invalidOption, isObject } from '../../core/options/schema.ts'
import { createWebhookSecret } from '../../webhooks/create-secrets.ts'
import { destinationOf } from '../../webhooks/endpoint-names.ts'
import { checkSecret } from '../../webhooks/secrets.ts'
import { type PageOptions, readPage } from '../dead-letters/options.ts'
import { uuidGenerator } from '../enqueue/uuid.ts'
import { isMessageId } from '../message/filter.ts'
import { OPERATOR_SCHEMA, type OperatorOptions, readOperator } from '../operator/operator.ts'
import type { Outbox } from '../outbox.ts'
import type { EndpointRow, EndpointRowChange, EndpointStore } from '../store/endpoint-store.ts'
import type { NewRow, OperatorNote } from '../store/rows.ts'
import { WEBHOOK_ID } from './delivery.ts'
import { toEndpoint, type WebhookEndpoint } from './endpoint.ts'
import type { EndpointCache } from './endpoint-cache.ts'
import {
	CHANGE,
	NEW_ENDPOINT,
	type NewWebhookEndpoint,
	REPLAY,
	type ReplayOptions,
	type ResendOptions,
	ROTATION,
	type RotateSecretOptions,
	readDescription,
	readFilter,
	readKeepFor,
	readResend,
	readTenant,
	type WebhookEndpointChange,
	type WebhookEndpointFilter,
} from './endpoint-options.ts'
import { WebhookEndpointError } from './errors.ts'
import type { WebhookEvent } from './events.ts'
import { replayEvents, resendMessages } from './resend.ts'
import { hasEncryptedSecret, storeSecret, toText, withNewSecret } from './stored-secrets.ts'
import { readTopicPatterns } from './topics.ts'
import { checkWebhookUrl, readUrlRules } from './transport/check-url.ts'
import type { WebhooksSettings } from './webhooks-options.ts'

export interface EndpointsParts {
	readonly outbox: Outbox
	readonly store: EndpointStore
	readonly cache: EndpointCache
	readonly emitter: Emitter<WebhookEvent>
	readonly settings: WebhooksSettings
}

/** The topic of the message that `test` sends. */
const TEST_TOPIC = 'webhook.test'

/**
 * The endpoints of a `Webhooks` object, as `webhooks.endpoints`. Every change is written into the audit, with who did
 * it and why.
 */
export class WebhookEndpoints {
	readonly #parts: EndpointsParts
	readonly #newId: () => string

	/** @internal */
	constructor(parts: EndpointsParts) {
		this.#parts = parts
		this.#newId = uuidGenerator(parts.settings.runtime)
	}

	/**
	 * Creates an endpoint, which gets events from now on. Returns it with its secret: show it to the customer now,
	 * because no method returns it again.
	 *
	 * @example
	 * const { endpoint, secret } = await webhooks.endpoints.create({
	 * 	url: 'https://customer.example.com/hooks',
	 * 	topics: ['order.*'],
	 * 	tenant: 'customer-7',
	 * })
	 */
	async create(
		given: NewWebhookEndpoint,
	): Promise<{ readonly endpoint: WebhookEndpoint; readonly secret: string }> {
		if (!isObject(given)) invalidArgument('endpoint', given, 'an object with url and topics')
		checkNames(given, NEW_ENDPOINT, 'endpoints.create')
		const { settings, store } = this.#parts
		const secret = readSecret(given.secret)
		const row = {
			id: this.#newId(),
			tenant: readTenant(given.tenant),
			url: this.#readUrl(given.url),
			topics: readTopicPatterns(given.topics),
			description: readDescription(given.description),
		}
		const operator = readOperator(given)
		const secrets = toText([await storeSecret(secret, settings.secretEncryption)])
		return { endpoint: toEndpoint(await store.insert({ ...row, secrets }, operator)), secret }
	}

	/** Returns an endpoint; undefined if there is none with this id. */
	async find(id: string): Promise<WebhookEndpoint | undefined> {
		const row = isMessageId(id) ? await this.#parts.store.find(id.toLowerCase()) : undefined
		return row && toEndpoint(row)
	}

	/** Returns a page of the endpoints that meet all conditions, the oldest first. */
	async list(
		filter: WebhookEndpointFilter = {},
		options: PageOptions = {},
	): Promise<readonly WebhookEndpoint[]> {
		const { limit, after } = readPage(options)
		return (await this.#parts.store.list(readFilter(filter), limit, after)).map(toEndpoint)
	}

	/** Changes url, topics or description. Messages that are queued go to the new URL. */
	async update(id: string, change: WebhookEndpointChange): Promise<WebhookEndpoint> {
		if (!isObject(change)) invalidArgument('change', change, 'an object with url, topics or description')
		checkNames(change, CHANGE, 'endpoints.update')
		const { url, topics, description } = change
		const endpoint = await this.#change(id, change, {
			action: 'change-endpoint',
			...(url !== undefined && { url: this.#readUrl(url) }),
			...(topics !== undefined && { topics: readTopicPatterns(topics) }),
			...(description !== undefined && { description: readDescription(description) }),
		})
		// The circuit was that of the former URL.
		const { by, reason } = change
		if (url !== undefined && endpoint.isEnabled)
			await this.#parts.outbox.closeCircuit(endpoint.destination, { by, reason })
		return endpoint
	}

	/**
	 * Replaces the secret. Requests are signed with the new one and, for `keepForMs`, with the former ones too, so that
	 * the customer can change the secret of the receiver meanwhile. Returns the new secret.
	 *
	 * @example
	 * const { secret } = await webhooks.endpoints.rotateSecret(id, { keepForMs: 3_600_000, reason: 'leaked' })
	 */
	async rotateSecret(id: string, options: RotateSecretOptions = {}): Promise<{ readonly secret: string }> {
		checkNames(options, ROTATION, 'endpoints.rotateSecret')
		const { settings, store } = this.#parts
		const secret = readSecret(options.secret)
		const keepForMs = readKeepFor(options.keepForMs)
		const added = await storeSecret(secret, settings.secretEncryption)
		const now = settings.runtime.wallNow()
		for (;;) {
			const row = await this.#require(id)
			if (!settings.secretEncryption && hasEncryptedSecret(row.secrets))
				throw new YaokiError(
					'YAOKI_WEBHOOK_SECRET',
					'The secrets of this endpoint are encrypted. Rotate them in a program that passes secretEncryption to new Webhooks',
				)
			const secrets = withNewSecret(row.secrets, added, now + keepForMs, now)
			const change: EndpointRowChange = { action: 'rotate-secret', secrets, ifVersion: row.version }
			// Another process may have changed it in between.
			if (await store.change(row.id, change, readOperator(options))) {
				this.#parts.cache.forget(row.id)
				return { secret }
			}
		}
	}

	/** Disables an endpoint: new events are not written for it, and its queued messages wait. */
	async disable(id: string, options: OperatorOptions = {}): Promise<WebhookEndpoint> {
		checkNames(options, OPERATOR_SCHEMA, 'endpoints.disable')
		const { isEnabled } = toEndpoint(await this.#require(id))
		const change = { action: 'disable-endpoint', disabledReason: 'operator' } as const
		const endpoint = await this.#change(id, options, change)
		const { failingSince, failures, tenant } = endpoint
		if (isEnabled)
			this.#parts.emitter.emit({
				type: 'webhook_endpoint_disabled',
				endpointId: endpoint.id,
				tenant,
				reason: 'operator',
				failingSince: failingSince?.getTime(),
				failures,
			})
		return endpoint
	}

	/** Enables an endpoint again: its queued messages are sent, and it gets new events. */
	async enable(id: string, options: OperatorOptions = {}): Promise<WebhookEndpoint> {
		checkNames(options, OPERATOR_SCHEMA, 'endpoints.enable')
		const { isEnabled } = toEndpoint(await this.#require(id))
		const endpoint = await this.#change(id, options, { action: 'enable-endpoint', disabledReason: null })
		// Relays of other processes may still have the disabled one for a few seconds, and open the circuit again.
		const { outbox } = this.#parts
		await outbox.closeCircuit(endpoint.destination, options)
		// Those that failed before it was disabled may wait for a day.
		await outbox.retry({ destination: endpoint.destination }, options)
		if (!isEnabled)
			this.#parts.emitter.emit({
				type: 'webhook_endpoint_enabled',
				endpointId: endpoint.id,
				tenant: endpoint.tenant,
			})
		return endpoint
	}

	/** Deletes an endpoint. Its queued messages become dead letters. Returns false if there was none. */
	async delete(id: string, options: OperatorOptions = {}): Promise<boolean> {
		checkNames(options, OPERATOR_SCHEMA, 'endpoints.delete')
		if (!isMessageId(id)) return false
		const isDeleted = await this.#parts.store.delete(id.toLowerCase(), readOperator(options))
		this.#parts.cache.forget(id.toLowerCase())
		return isDeleted
	}

	/**
	 * Sends a message with the topic `webhook.test` to the endpoint, through the queue and a relay. Returns its id:
	 * `outbox.attempts(id)` shows what became of it.
	 */
	async test(id: string): Promise<{ readonly id: string }> {
		const row = await this.#require(id)
		const messageId = this.#newId()
		const payload = JSON.stringify({ type: TEST_TOPIC, data: { endpointId: row.id } })
		const message: NewRow = {
			id: messageId,
			topic: TEST_TOPIC,
			destination: destinationOf(row.id),
			key: null,
			payload,
			headers: JSON.stringify({ [WEBHOOK_ID]: messageId }),
			dedupeKey: null,
			notBefore: null,
			expiresAt: null,
			maxRetries: 0,
		}
		await this.#parts.outbox.enqueuer.insert([message], { withoutTransaction: true })
		return { id: messageId }
	}

	/**
	 * Delivers messages of the endpoint again: those that became dead letters since a time, and those that were sent, if
	 * the outbox has `historyForMs`. They have the same `webhook-id`. With `ratePerSecond` the call lasts as long as it
	 * takes. Returns their number.
	 *
	 * @example
	 * await webhooks.endpoints.resend(id, { since: new Date(Date.now() - 3_600_000), ratePerSecond: 10 })
	 */
	async resend(id: string, options: ResendOptions): Promise<{ readonly resent: number }> {
		const { outbox, settings } = this.#parts
		const read = readResend(options, 'endpoints.resend')
		const row = await this.#require(id)
		const { runtime } = settings
		const resent = await resendMessages(outbox.store, runtime, row.id, read, readOperator(options))
		outbox.wake()
		return { resent }
	}

	/**
	 * Writes the events since a time that match the endpoint, whether or not it existed then. They have the same
	 * `webhook-id` as for other endpoints, and as before. Needs `keepEventsForMs`. Returns their number.
	 *
	 * @example
	 * await webhooks.endpoints.replay(id, { since: new Date('2026-11-01'), ratePerSecond: 10 })
	 */
	async replay(id: string, options: ReplayOptions): Promise<{ readonly written: number }> {
		const { outbox, settings, store } = this.#parts
		const { runtime, keepEventsForMs } = settings
		const read = readResend(options, 'endpoints.replay', REPLAY)
		if (keepEventsForMs === 0)
			throw new InvalidOptionError(
				'keepEventsForMs',
				keepEventsForMs,
				'a time for which events are kept, so that they can be replayed, as an option of new Webhooks',
			)
		const row = await this.#require(id)
		const { enqueuer } = outbox
		const parts = { store: outbox.store, endpoints: store, enqueuer, runtime }
		return { written: await replayEvents(parts, row, read) }
	}

	async #change(id: string, operator: OperatorOptions, change: EndpointRowChange): Promise<WebhookEndpoint> {
		const note: OperatorNote = readOperator(operator)
		const row = isMessageId(id) ? await this.#parts.store.change(id.toLowerCase(), change, note) : undefined
		if (!row) throw new WebhookEndpointError(String(id))
		this.#parts.cache.forget(row.id)
		return toEndpoint(row)
	}

	async #require(id: string): Promise<EndpointRow> {
		const row = isMessageId(id) ? await this.#parts.store.find(id.toLowerCase()) : undefined
		if (!row) throw new WebhookEndpointError(String(id))
		return row
	}

	#readUrl(url: unknown): string {
		const { ssrfProtection } = this.#parts.settings
		if (ssrfProtection !== false) {
			const { lookup: _, ...urls } = ssrfProtection
			return checkWebhookUrl(url, readUrlRules(urls)).href
		}
		const text = String(url)
		if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
			invalidOption('url', url, 'an http or https URL')
		return new URL(text).href
	}
}

function readSecret(given: unknown): string {
	if (given === undefined) return createWebhookSecret()
	checkSecret('secret', given)
	return given as string
}
