/**
 * Spans and metrics of an outbox by the semantic conventions for messaging. The topic is the destination, a
 * relay's destination its subscription.
 */
import type { ErrorFacts, EventBase } from '../../core/events/events.ts'
import type { DeliveryInfo, EnqueueInfo } from '../../core/observe/observer.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
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
	/** Functions by message id that end a delivery before its handler does. */
	readonly #running = new Map<string, (ended: Ended) => void>()

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
		const { topic, destination } = info
		const labels = {
			...commonAttributes(DELIVER, topic),
			'messaging.destination.subscription.name': destination,
		}
		const attributes = {
			...labels,
			'messaging.operation.type': 'process',
			'messaging.message.id': info.messageId,
			'yaoki.attempt': info.attempt,
		}
		const started = this.#startDelivery(info, attributes)
		const record: Recorder = (error, seconds) => {
			const key = `${topic}\n${destination}\n${error?.type}`
			const failure = error && { 'error.type': error.type }
			this.#metrics?.record('messaging.process.duration', seconds, key, () => ({ ...labels, ...failure }))
		}
		return this.#watch(started, next, record, info.messageId)
	}

	/** Ends the span of a delivery whose handler still runs: it timed out, or the relay lost the message. */
	onEvent(event: EventBase): void {
		if (this.#running.size === 0 || !ENDS_DELIVERY.has(event.type)) return
		const { messageId, errorType, errorMessage, errorCode } = event as EventBase & Partial<MessageFailure>
		const error = { name: errorType ?? LEASE_LOST, message: errorMessage ?? '', code: errorCode }
		this.#running.get(String(messageId))?.({ error })
	}

	/** The parent is not the active context, which belongs to the code that started the relay. */
	#startDelivery(info: DeliveryInfo, attributes: Attributes): StartedSpan | undefined {
		const tracing = this.#tracing
		const { api } = tracing
		if (!tracing.isOn) return undefined
		const name = spanName(DELIVER, info.topic)
		const kind = api.SpanKind.CONSUMER
		let parent = api.ROOT_CONTEXT
		tracing.guard('extract', 'the trace context of a message could not be read', () => {
			parent = api.propagation.extract(api.ROOT_CONTEXT, lowerCased(info.headers))
		})
		if (!this.#isLinked) return tracing.start(name, { kind, attributes }, parent)
		const links: { context: NonNullable<ReturnType<typeof api.trace.getSpanContext>> }[] = []
		tracing.guard('link', 'the trace context of a message could not be read', () => {
			const context = api.trace.getSpanContext(parent)
			if (context) links.push({ context })
		})
		return tracing.start(name, { kind, attributes, links, root: true }, parent)
	}

	#watch(
		started: StartedSpan | undefined,
		next: () => unknown,
		record: Recorder,
		messageId?: string,
	): unknown {
		const isMeasured = this.#metrics?.isActive === true
		if (!started && !isMeasured) return next()
		const startedAt = systemRuntime.now()
		let hasEnded = false
		const end = (ended: Ended): void => {
			if (messageId !== undefined && this.#running.get(messageId) === end) this.#running.delete(messageId)
			if (hasEnded) return
			hasEnded = true
			const error = 'error' in ended ? { type: errorTypeOf(ended.error) } : undefined
			if (isMeasured) record(error, (systemRuntime.now() - startedAt) / 1_000)
			if (started) this.#end(started, ended)
		}
		if (messageId !== undefined) this.#running.set(messageId, end)
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

type Recorder = (error: { readonly type: string } | undefined, seconds: number) => void

interface MessageFailure extends ErrorFacts {
	readonly messageId: string
}

type Attributes = { [name: string]: string | number }

const spanName = (operation: string, topic: string | undefined): string =>
	topic === undefined ? operation : `${operation} ${topic}`

const commonAttributes = (operation: string, topic: string | undefined): Attributes => ({
	'messaging.system': SYSTEM,
	'messaging.operation.name': operation,
	...(topic !== undefined && { 'messaging.destination.name': topic }),
})

/** Propagators read names in lower case; users may have stored others. */
const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
	Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
