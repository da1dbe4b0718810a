/**
 * Delivers a message to its endpoint: signs it, sends it, and decides what the response says. Everything but a 2xx
 * is a failure that is retried, because a customer may deploy a bug for an hour; only 410 says that the endpoint is
 * gone.
 */
import type { Classification } from '../../core/classify/classification.ts'
import { permanent } from '../../core/classify/permanent.ts'
import { HttpError } from '../../core/errors/errors.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { parseRetryAfter } from '../../http/headers/retry-headers.ts'
import { endpointIdOf } from '../../webhooks/endpoint-names.ts'
import { AttemptRecorder } from '../destinations/attempt-recorder.ts'
import { type MessageHandler, OutboxDestinationDisabledError } from '../destinations/destination.ts'
import { encodeHeaderValue } from '../destinations/message-headers.ts'
import type { Message } from '../message/message.ts'
import { OutboxLeaseLostError, RelayStoppedError } from '../relay/handler-signal.ts'
import type { EndpointCache, ReadyEndpoint } from './endpoint-cache.ts'
import type { EndpointHealth } from './endpoint-health.ts'
import { WebhookEndpointError } from './errors.ts'
import { WebhookUrlError } from './transport/webhook-url-error.ts'
import type { WebhookResponse, WebhookSender } from './webhook-sender.ts'

/** The id of an event, the same for all endpoints that get it, and after a replay. */
export const WEBHOOK_ID = 'webhook-id'

/** Trace headers are for services of your own; the others belong to the connection. */
const NOT_SENT: ReadonlySet<string> = new Set([
	...['traceparent', 'tracestate', 'baggage'],
	...[
		'host',
		'content-length',
		'transfer-encoding',
		'connection',
		'keep-alive',
		'upgrade',
		'expect',
		'te',
		'trailer',
	],
])

const isSent = (name: string): boolean => !NOT_SENT.has(name) && !name.startsWith('proxy-')

const GONE = 410

const isSuccess = (status: number): boolean => status >= 200 && status < 300

interface DeliveryParts {
	readonly cache: EndpointCache
	readonly health: EndpointHealth
	readonly sender: WebhookSender
	readonly runtime: Runtime
}

export function createDelivery({ cache, health, sender, runtime }: DeliveryParts): MessageHandler {
	return async (message, { signal, attemptLog }) => {
		const id = endpointIdOf(message.destination)
		const endpoint = await cache.get(id)
		if (!endpoint) throw permanent(new WebhookEndpointError(id))
		const { row } = endpoint
		if (row.disabledReason !== null) throw new OutboxDestinationDisabledError(`The webhook endpoint ${id}`)
		let response: WebhookResponse
		try {
			// The event has arrived: a timeout while the body is read must not send it again.
			const onStatus = (code: number): void => {
				if (isSuccess(code) && attemptLog instanceof AttemptRecorder) attemptLog.isAccepted = true
			}
			const request = await signed(message, endpoint, runtime)
			response = await sender.send({ url: row.url, ...request, signal, onStatus })
		} catch (error) {
			if (!isAbortedByRelay(signal)) await ignoringErrors(health.recordFailure(id, error))
			throw error
		}
		const { status, retryAfter, excerpt } = response
		attemptLog?.record({ statusCode: status, response: excerpt })
		if (isSuccess(status)) {
			await ignoringErrors(health.recordSuccess(row))
			return
		}
		const retryAfterMs = parseRetryAfter(retryAfter, runtime.wallNow())
		const error = new HttpError(status, excerpt, { retryAfterMs })
		if (status === GONE) {
			await health.disable(row, 'gone')
			throw new OutboxDestinationDisabledError(`The webhook endpoint ${id}`, { cause: error })
		}
		await ignoringErrors(health.recordFailure(id, error))
		throw error
	}
}

/** Signs and sends the same bytes, with the time of this attempt, so that a receiver can reject old requests. */
async function signed(message: Message, { sign }: ReadyEndpoint, runtime: Runtime) {
	const body = new TextEncoder().encode(JSON.stringify(message.payload))
	const { [WEBHOOK_ID]: webhookId = message.id, ...others } = message.headers
	const seconds = Math.floor(runtime.wallNow() / 1_000)
	const own = Object.entries(others).filter(([name]) => isSent(name.toLowerCase()))
	const headers = {
		'content-type': 'application/json',
		'user-agent': 'yaoki-webhooks',
		...Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), encodeHeaderValue(value)])),
		[WEBHOOK_ID]: webhookId,
		'webhook-timestamp': String(seconds),
		'webhook-signature': await sign(webhookId, seconds, body),
	}
	return { headers, body }
}

/** The relay ended the attempt: that says nothing about the endpoint, unlike the timeout of the attempt. */
const isAbortedByRelay = ({ reason }: AbortSignal): boolean =>
	reason instanceof RelayStoppedError || reason instanceof OutboxLeaseLostError

/** The result of the attempt is known. If the database cannot be reached, the next attempt records it. */
const ignoringErrors = (recorded: Promise<void>): Promise<void> => recorded.catch(() => {})

/** A URL that the protection rejects, and a deleted endpoint, stay so; everything else may pass. */
export function classifyDelivery(error: unknown, next: (error: unknown) => Classification): Classification {
	if (isFinal(error)) return { kind: 'permanent', isKnown: true }
	const found = next(error)
	return found.kind === 'throttled' ? found : { ...found, kind: 'transient' }
}

/** True if the message becomes a dead letter, and the endpoint's circuit does not count it. */
export const isFinal = (error: unknown): boolean =>
	error instanceof WebhookEndpointError || error instanceof WebhookUrlError
