/**
 * Webhooks: events for endpoints that are rows, such as the URLs of customers. An event becomes a message for each
 * endpoint that wants it, in the transaction of the change that it announces; a relay signs and delivers them. Each
 * endpoint is a destination with a circuit of its own, so none delays another.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import { Emitter } from '../../core/observe/emitter.ts'
import type { Observable, Observation } from '../../core/observe/observation.ts'
import { checkNames, invalidArgument, invalidOption, isObject } from '../../core/options/schema.ts'
import { destinationOf, ENDPOINT_PATTERN, endpointIdOf } from '../../webhooks/endpoint-names.ts'
import type { Destination, DestinationOptions, RelayRetryOptions } from '../destinations/destination.ts'
import { COMMON_SCHEMA } from '../destinations/destination-schema.ts'
import type { EnqueueOptions, EnqueueSyncOptions } from '../enqueue/transaction-check.ts'
import { uuidGenerator } from '../enqueue/uuid.ts'
import { InvalidMessageError, invalidField } from '../message/errors.ts'
import type { FanOutResult, MessageFor, Topics } from '../message/message.ts'
import type { Outbox } from '../outbox.ts'
import { DEFAULT_TIMEOUT_MS } from '../relay/defaults.ts'
import type { EndpointStore } from '../store/endpoint-store.ts'
import type { NewRow } from '../store/rows.ts'
import { classifyDelivery, createDelivery, isFinal, WEBHOOK_ID } from './delivery.ts'
import { EndpointCache } from './endpoint-cache.ts'
import { EndpointHealth } from './endpoint-health.ts'
import { readTenant } from './endpoint-options.ts'
import { WebhookEndpoints } from './endpoints.ts'
import type { WebhookEvent, WebhookListener } from './events.ts'
import { patternsFor } from './topics.ts'
import { createSender, type WebhookSender } from './webhook-sender.ts'
import type { WebhookStats } from './webhook-stats.ts'
import { readWebhooksOptions, type WebhooksOptions, type WebhooksSettings } from './webhooks-options.ts'

/** An event, the argument of `webhooks.enqueue`: a message without a destination, of a tenant. */
export type WebhookMessage<T extends Topics = Topics> = OfTenant<MessageFor<T>>

/** A conditional type is applied to each topic of a union. */
type OfTenant<M> = M extends unknown
	? Omit<M, 'destination'> & {
			/** Whose event it is: only endpoints of this tenant get it. Default: endpoints without a tenant. */
			readonly tenant?: string | undefined
		}
	: never

/** What `webhooks.enqueue` returns. */
export interface WebhookEnqueueResult {
	/**
	 * The `webhook-id` that every endpoint gets. If all messages are duplicates, nothing was written, and endpoints have
	 * got the id of the first event.
	 */
	readonly eventId: string
	/** The message of each endpoint that gets the event. */
	readonly messages: readonly {
		/** The id of the message, for `outbox.attempts`, `outbox.why` and `outbox.resend`. */
		readonly id: string
		readonly endpointId: string
		/** True if it was not written because of its `dedupeKey`. */
		readonly isDuplicate: boolean
	}[]
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** The delays that the Standard Webhooks specification proposes: with jitter, 3.1 to 4.1 days. */
const RETRY_DELAYS_MS: readonly number[] = [
	5 * SECOND_MS,
	5 * MINUTE_MS,
	30 * MINUTE_MS,
	...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
]

/**
 * A Retry-After pauses the endpoint, which delays its messages for at least that time. It does not replace the
 * delays above: a server that asks for a second with every response would end a message within ten seconds.
 */
const scheduleOnly = (): undefined => undefined

/** Many endpoints share a relay, and a customer's server is often small. */
const MAX_CONCURRENT = 8

/**
 * Sends events of an `Outbox` to endpoints, signed by the Standard Webhooks specification. A `Relay` delivers them.
 *
 * @example
 * const webhooks = new Webhooks(outbox)
 * await webhooks.endpoints.create({ url: 'https://customer.example.com/hooks', topics: ['order.*'] })
 * await webhooks.enqueue({ topic: 'order.placed', payload: order }, { tx })
 *
 * const relay = new Relay(outbox, { destinations: { ...webhooks.destinations() } })
 */
export class Webhooks<T extends Topics = Topics> implements Observable {
	/** Creates, lists and changes endpoints. */
	readonly endpoints: WebhookEndpoints
	readonly #outbox: Outbox
	readonly #store: EndpointStore
	readonly #settings: WebhooksSettings
	readonly #emitter: Emitter<WebhookEvent>
	readonly #cache: EndpointCache
	readonly #newId: () => string
	/** One for each call of `destinations`. */
	readonly #health: EndpointHealth[] = []
	#sender: WebhookSender | undefined

	constructor(outbox: Outbox<T>, options: WebhooksOptions = {}) {
		if (typeof outbox?.attach !== 'function') invalidArgument('outbox', outbox, 'an Outbox')
		const store = outbox.store.endpoints
		if (!store)
			invalidArgument(
				'outbox',
				outbox,
				`an outbox whose store has endpoints; the store ${outbox.store.kind} has none`,
			)
		const settings = readWebhooksOptions(options)
		// A handler accepts messages of any topic.
		this.#outbox = outbox as unknown as Outbox
		this.#store = store
		this.#settings = settings
		this.#emitter = new Emitter(settings.name, settings.runtime)
		if (settings.onEvent) this.#emitter.subscribe(settings.onEvent)
		this.#cache = new EndpointCache(store, settings.secretEncryption, settings.runtime)
		this.#newId = uuidGenerator(settings.runtime)
		this.endpoints = new WebhookEndpoints({
			outbox: this.#outbox,
			store,
			cache: this.#cache,
			emitter: this.#emitter,
			settings,
		})
	}

	/**
	 * Writes a message for each enabled endpoint of the tenant whose topics match, in the transaction `tx`. An endpoint
	 * that is created later does not get the event, except by `endpoints.replay`. Await it before COMMIT.
	 *
	 * @example
	 * await webhooks.enqueue({ topic: 'order.placed', tenant: 'customer-7', payload: order }, { tx })
	 */
	async enqueue(event: WebhookMessage<T>, options: EnqueueOptions = {}): Promise<WebhookEnqueueResult> {
		const { eventId, tenant, message } = this.#prepare(event)
		const { enqueuer } = this.#outbox
		let template: NewRow | undefined
		const destinationsFor = async (row: NewRow): Promise<readonly string[]> => {
			template = row
			return (await this.#store.matching(tenant, patternsFor(row.topic), options.tx)).map(destinationOf)
		}
		const written = await enqueuer.fanOut(message, destinationsFor, options)
		if (template && this.#keepsEvent(written))
			await this.#store.insertEvent(this.#toEvent(eventId, tenant, template), options.tx)
		return toResult(eventId, written)
	}

	/** As `enqueue`, within the call: the way to enqueue in a transaction of SQLite. */
	enqueueSync(event: WebhookMessage<T>, options: EnqueueSyncOptions): WebhookEnqueueResult {
		const { eventId, tenant, message } = this.#prepare(event)
		let template: NewRow | undefined
		const destinationsFor = (row: NewRow): readonly string[] => {
			template = row
			// A store with `insertSync` returns the ids themselves.
			const ids = this.#store.matching(tenant, patternsFor(row.topic), options.tx) as readonly string[]
			return ids.map(destinationOf)
		}
		const written = this.#outbox.enqueuer.fanOutSync(message, destinationsFor, options)
		// Within the call too.
		if (template && this.#keepsEvent(written))
			void this.#store.insertEvent(this.#toEvent(eventId, tenant, template), options.tx)
		return toResult(eventId, written)
	}

	/**
	 * Returns the destinations of a `Relay` that serves all endpoints, by the name `webhook:*`. The options are those of
	 * a destination, for each endpoint. By default an attempt log is kept, at most 8 requests of an endpoint are in
	 * flight, and failed messages are retried 9 times within three to four days.
	 */
	destinations(options: DestinationOptions = {}): { readonly [ENDPOINT_PATTERN]: Destination } {
		checkNames(options, COMMON_SCHEMA, 'webhooks.destinations')
		const { retry, circuitBreaker, ...others } = options
		if (circuitBreaker === false)
			invalidOption(
				'circuitBreaker',
				false,
				'an object, because messages wait for a disabled endpoint by its circuit',
			)
		const { isFailure } = circuitBreaker ?? {}
		this.#sender ??= createSender(this.#settings)
		const delays: RelayRetryOptions = {
			// A base delay of the user would have no effect beside a list.
			growth: retry?.baseDelayMs === undefined ? RETRY_DELAYS_MS : 'exponential',
			maxDelayMs: Math.max(...RETRY_DELAYS_MS),
			maxRetries: RETRY_DELAYS_MS.length,
			jitterStrategy: 'proportional',
			classify: classifyDelivery,
			delayFor: scheduleOnly,
			...retry,
		}
		const { runtime } = this.#settings
		const health = new EndpointHealth({
			outbox: this.#outbox,
			endpoints: this.#store,
			cache: this.#cache,
			emitter: this.#emitter,
			settings: this.#settings,
			retry: delays,
			timeoutMs: others.timeoutMs ?? DEFAULT_TIMEOUT_MS,
		})
		this.#health.push(health)
		return {
			[ENDPOINT_PATTERN]: {
				maxConcurrent: MAX_CONCURRENT,
				attemptLog: true,
				...others,
				retry: delays,
				circuitBreaker: {
					...circuitBreaker,
					isFailure: (error) => !isFinal(error) && (isFailure?.(error) ?? true),
				},
				deliver: createDelivery({ cache: this.#cache, health, sender: this.#sender, runtime }),
			},
		}
	}

	/** Counts the endpoints by state. */
	async stats(): Promise<WebhookStats> {
		const [counts, now] = await Promise.all([this.#store.stats(), this.#outbox.store.now()])
		const { failingSince } = counts
		return { ...counts, failingForMs: failingSince === null ? null : Math.max(0, now - failingSince) }
	}

	/** Calls the listener with every event; returns a function that unsubscribes it. */
	subscribe(listener: WebhookListener): () => void {
		return this.#emitter.subscribe(listener)
	}

	'~observable'(): object {
		const observation: Observation = { kind: 'webhooks', events: this.#emitter, stats: () => this.stats() }
		return observation
	}

	/** Closes idle connections. Stop the relays before. */
	async close(): Promise<void> {
		for (const health of this.#health) health.close()
		this.#sender?.close()
	}

	#prepare(event: WebhookMessage<T>) {
		if (!isObject(event)) throw new InvalidMessageError({}, [{ field: 'message', message: EXPECTED }])
		// With the fields of any topic.
		const { tenant, ...message } = event as unknown as WebhookMessage
		const { headers } = message
		const own = Object.keys(headers ?? {}).find((name) => name.toLowerCase().startsWith('webhook-'))
		if (own !== undefined)
			throw new InvalidMessageError({ topic: message.topic }, [
				{
					field: `headers["${own}"]`,
					message: 'headers that begin with "webhook-" are those of the signature',
				},
			])
		const destination = safeGet(message, 'destination')
		if (destination !== undefined)
			invalidField(
				{ topic: message.topic },
				'destination',
				destination,
				'no destination, because endpoints have them',
			)
		const eventId = this.#newId()
		// Headers of another type are rejected as those of any message.
		const isPlain = headers === undefined || isObject(headers)
		const withId = isPlain ? { ...message, headers: { ...headers, [WEBHOOK_ID]: eventId } } : message
		return { eventId, tenant: readTenant(tenant), message: withId }
	}

	/** A duplicate is the event that was written before. */
	#keepsEvent(written: readonly FanOutResult[]): boolean {
		const isNew = written.length === 0 || written.some(({ isDuplicate }) => !isDuplicate)
		return isNew && this.#settings.keepEventsForMs > 0
	}

	#toEvent(id: string, tenant: string, { topic, key, payload, headers }: NewRow) {
		return { id, tenant, topic, key, payload, headers, keepForMs: this.#settings.keepEventsForMs }
	}
}

const EXPECTED = 'expected an object with topic and payload'

const toResult = (eventId: string, written: readonly FanOutResult[]): WebhookEnqueueResult => ({
	eventId,
	messages: written.map(({ id, destination, isDuplicate }) => ({
		id,
		endpointId: endpointIdOf(destination),
		isDuplicate,
	})),
})
