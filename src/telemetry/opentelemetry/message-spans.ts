/**
 * Spans and metrics of an outbox by the semantic conventions for messaging. The topic is the destination, a
 * relay's destination its subscription.
 */
import type { ErrorFacts, EventBase } from '../../core/events/events.ts'
import type { BatchInfo, DeliveryInfo, EnqueueInfo } from '../../core/observe/observer.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { destinationLabel } from '../metrics/destination-label.ts'
import { errorTypeOf } from './errors.ts'
import type { OtelMetrics } from './metrics.ts'
import type { OpenTelemetrySettings } from './options.ts'
import type { StartedSpan, Tracing } from './tracing.ts'
import { type Ended, watchResult } from './watch-result.ts'

const SYSTEM = 'yaoki'
const ENQUEUE = 'enqueue'
const DELIVER = 'deliver'
const ENDS_DELIVERY: ReadonlySet<string> = /* @__PURE__ */ new Set([
	'relay_retry_scheduled',
	'relay_dead_letter',
	'relay_lease_lost',
])
/** The name of the abort reason of such a delivery, whose event has no error. */
const LEASE_LOST = 'OutboxLeaseLostError'
/** Longer topics are truncated: a message that is not valid may have any. */
const MAX_TOPIC_LENGTH = 200

export class MessageSpans {
	readonly #tracing: Tracing
	readonly #metrics: OtelMetrics | undefined
	readonly #isLinked: boolean
	/** Calls by the ids of their messages, to end a span before its handler does. */
	readonly #running = new Map<string, RunningCall>()

	constructor(tracing: Tracing, metrics: OtelMetrics | undefined, settings: OpenTelemetrySettings) {
		this.#tracing = tracing
		this.#metrics = metrics
		this.#isLinked = settings.delivery === 'link'
	}

	/** A span of kind PRODUCER, whose context is stored with the messages. */
	enqueue(info: EnqueueInfo, next: () => unknown): unknown {
		const { topics, count } = info
		const topic = topics.length === 1 ? topics[0]?.slice(0, MAX_TOPIC_LENGTH) : undefined
		const attributes = { ...commonAttributes(ENQUEUE, topic), 'messaging.operation.type': 'send' }
		const batch = count > 1 ? { 'messaging.batch.message_count': count } : {}
		const tracing = this.#tracing
		const kind = tracing.api.SpanKind.PRODUCER
		const started = tracing.start(spanName(ENQUEUE, topic), { kind, attributes: { ...attributes, ...batch } })
		if (started)
			tracing.guard('inject', 'the trace context could not be added to a message', () => {
				const headers = tracing.headersOf(started.context)
				if (Object.keys(headers).length > 0) info.addHeaders(headers)
			})
		return this.#watch(started, next, (error, seconds) => {
			const failure = error && { 'error.type': error.type }
			const key = `${topic}\n${error?.type}`
			this.#metrics?.record('messaging.client.operation.duration', seconds, key, () => ({
				...attributes,
				...failure,
			}))
			this.#metrics?.record('messaging.client.sent.messages', count, key, () => ({
				...commonAttributes(ENQUEUE, topic),
				...failure,
			}))
		})
	}

	/** A span of kind CONSUMER, in the trace that enqueued the message or with a link to it. */
	deliver(info: DeliveryInfo, next: () => unknown): unknown {
		const labels = deliveryLabels(info.topic, info.destination)
		const attributes = {
			...labels,
			'messaging.operation.type': 'process',
			'messaging.message.id': info.messageId,
			'yaoki.attempt': info.attempt,
		}
		const started = this.#startDelivery(info, attributes)
		return this.#watch(started, next, this.#recorder(info.topic, info.destination, labels), [info.messageId])
	}

	/** A span of kind CONSUMER in a trace of its own, with a link to the trace of each message. */
	deliverBatch({ destination, deliveries }: BatchInfo, next: () => unknown): unknown {
		const topics = new Set(deliveries.map((one) => one.topic))
		const topic = topics.size === 1 ? deliveries[0]?.topic : undefined
		const labels = deliveryLabels(topic, destination)
		const attributes = {
			...labels,
			'messaging.operation.type': 'process',
			'messaging.batch.message_count': deliveries.length,
		}
		const tracing = this.#tracing
		const { api } = tracing
		const links = tracing.isOn ? deliveries.flatMap(({ headers }) => this.#link(this.#extract(headers))) : []
		const options = { kind: api.SpanKind.CONSUMER, attributes, links, root: true }
		const started = tracing.isOn && tracing.start(spanName(DELIVER, topic), options, api.ROOT_CONTEXT)
		const ids = deliveries.map(({ messageId }) => messageId)
		return this.#watch(started || undefined, next, this.#recorder(topic, destination, labels), ids)
	}

	/**
	 * Ends the span of a call whose handler still runs: it timed out, or the relay lost its messages. A batch
	 * goes on until its last message.
	 */
	onEvent(event: EventBase): void {
		if (this.#running.size === 0 || !ENDS_DELIVERY.has(event.type)) return
		const { messageId, errorType, errorMessage, errorCode } = event as EventBase & Partial<MessageFailure>
		const call = this.#running.get(String(messageId))
		call?.messageIds.delete(String(messageId))
		if (!call || call.messageIds.size > 0) return
		const error = { name: errorType ?? LEASE_LOST, message: errorMessage ?? '', code: errorCode }
		call.end({ error })
	}

	#recorder(topic: string | undefined, destination: string, labels: Attributes): Recorder {
		const subscription = destinationLabel(destination)
		return (error, seconds) => {
			const key = `${topic}\n${subscription}\n${error?.type}`
			const failure = error && { 'error.type': error.type }
			this.#metrics?.record('messaging.process.duration', seconds, key, () => ({
				...labels,
				[SUBSCRIPTION]: subscription,
				...failure,
			}))
		}
	}

	/** The parent is not the active context, which belongs to the code that started the relay. */
	#startDelivery(info: DeliveryInfo, attributes: Attributes): StartedSpan | undefined {
		const tracing = this.#tracing
		const { api } = tracing
		if (!tracing.isOn) return undefined
		const name = spanName(DELIVER, info.topic)
		const kind = api.SpanKind.CONSUMER
		const parent = this.#extract(info.headers)
		if (!this.#isLinked) return tracing.start(name, { kind, attributes }, parent)
		return tracing.start(name, { kind, attributes, links: this.#link(parent), root: true }, parent)
	}

	/** Returns the context that was stored with a message. */
	#extract(headers: DeliveryInfo['headers']): Context {
		const { api } = this.#tracing
		let context = api.ROOT_CONTEXT
		this.#tracing.guard('extract', 'the trace context of a message could not be read', () => {
			context = api.propagation.extract(api.ROOT_CONTEXT, lowerCased(headers))
		})
		return context
	}

	#link(parent: Context): Link[] {
		const links: Link[] = []
		this.#tracing.guard('link', 'the trace context of a message could not be read', () => {
			const context = this.#tracing.api.trace.getSpanContext(parent)
			if (context) links.push({ context })
		})
		return links
	}

	#watch(
		started: StartedSpan | undefined,
		next: () => unknown,
		record: Recorder,
		messageIds: readonly string[] = [],
	): unknown {
		const isMeasured = this.#metrics?.isActive === true
		if (!started && !isMeasured) return next()
		const startedAt = systemRuntime.now()
		let hasEnded = false
		const end = (ended: Ended): void => {
			for (const id of messageIds) if (this.#running.get(id) === call) this.#running.delete(id)
			if (hasEnded) return
			hasEnded = true
			const error = 'error' in ended ? { type: errorTypeOf(ended.error) } : undefined
			if (isMeasured) record(error, (systemRuntime.now() - startedAt) / 1_000)
			if (started) this.#end(started, ended)
		}
		const call: RunningCall = { messageIds: new Set(messageIds), end }
		for (const id of messageIds) this.#running.set(id, call)
		return watchResult(() => this.#tracing.run(started, next), end)
	}

	#end(started: StartedSpan, ended: Ended): void {
		const tracing = this.#tracing
		tracing.end(started, (span) => {
			if (!('error' in ended)) return
			tracing.fail(span, ended.error)
			tracing.recordException(span, ended.error)
		})
	}
}

/** A call with the messages that it has not lost. */
interface RunningCall {
	readonly messageIds: Set<string>
	end(ended: Ended): void
}

type Context = Tracing['api']['ROOT_CONTEXT']

interface Link {
	readonly context: NonNullable<ReturnType<Tracing['api']['trace']['getSpanContext']>>
}

type Recorder = (error: { readonly type: string } | undefined, seconds: number) => void

interface MessageFailure extends ErrorFacts {
	readonly messageId: string
}

type Attributes = { [name: string]: string | number }

const spanName = (operation: string, topic: string | undefined): string =>
	topic === undefined ? operation : `${operation} ${topic}`

const SUBSCRIPTION = 'messaging.destination.subscription.name'

const deliveryLabels = (topic: string | undefined, destination: string): Attributes => ({
	...commonAttributes(DELIVER, topic),
	[SUBSCRIPTION]: destination,
})

const commonAttributes = (operation: string, topic: string | undefined): Attributes => ({
	'messaging.system': SYSTEM,
	'messaging.operation.name': operation,
	...(topic !== undefined && { 'messaging.destination.name': topic }),
})

/** Propagators read names in lower case; users may have stored others. */
const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
	Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
