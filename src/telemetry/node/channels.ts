/** Publishes events to `node:diagnostics_channel`, for the agents of monitoring products. */
import { type Channel, channel } from 'node:diagnostics_channel'
import type { EventBase } from '../../core/events/events.ts'
import type { ObservedKind } from '../../core/observe/observation.ts'
import type { CallEnd } from '../../core/observe/observer.ts'
import type { Exporter } from '../observe/exporter.ts'

/**
 * The message that `diagnosticsChannels()` publishes to `yaoki:call` when a call has ended. Use it as the
 * type in a subscriber of `node:diagnostics_channel`; `error` is set if the call failed or was rejected.
 */
export type PublishedCallEnd = { readonly service: string } & Omit<CallEnd, 'info'>

/**
 * The message that `diagnosticsChannels()` publishes for an event, to `yaoki:call`, `yaoki:circuit`,
 * `yaoki:outbox` or `yaoki:idempotency`. Use it as the type in a subscriber of `node:diagnostics_channel`.
 */
export type PublishedEvent = { readonly service: string } & EventBase

const CHANNEL_OF: Readonly<Record<ObservedKind, string>> = {
	policy: 'yaoki:call',
	http: 'yaoki:call',
	relay: 'yaoki:outbox',
	outbox: 'yaoki:outbox',
	inbox: 'yaoki:outbox',
	webhooks: 'yaoki:outbox',
	idempotency: 'yaoki:idempotency',
}

const CIRCUIT_CHANGES: ReadonlySet<string> = /* @__PURE__ */ new Set(['state_change', 'relay_state_change'])

/**
 * Creates an exporter for `observe` that publishes to the channels of `node:diagnostics_channel`: the end of
 * every call and the events of calls to `yaoki:call`, changes of circuits to `yaoki:circuit`, events of
 * outboxes, inboxes, relays and webhooks to `yaoki:outbox`, and events of idempotency engines to `yaoki:idempotency`. A channel
 * without subscribers gets nothing.
 *
 * @example
 * import { subscribe } from 'node:diagnostics_channel'
 * observe({ payments, client, relay }, [diagnosticsChannels()])
 * subscribe('yaoki:circuit', (event) => console.log(event))
 */
export function diagnosticsChannels(): Exporter {
	const call = channel('yaoki:call')
	const circuit = channel('yaoki:circuit')
	return {
		name: 'diagnosticsChannels',
		attach({ kind, serviceOf }) {
			const own: Channel = channel(CHANNEL_OF[kind])
			return {
				onEvent(event) {
					if (!own.hasSubscribers && !circuit.hasSubscribers) return
					const target = CIRCUIT_CHANGES.has(event.type) ? circuit : own
					// A `call` event has the facts that `onCallEnd` publishes.
					if (target.hasSubscribers && event.type !== 'call')
						target.publish({ service: serviceOf(event), ...event } satisfies PublishedEvent)
				},
				onCallEnd(end) {
					if (!call.hasSubscribers) return
					const { info, ...facts } = end
					call.publish({ service: serviceOf(end), ...facts } satisfies PublishedCallEnd)
				},
			}
		},
	}
}
