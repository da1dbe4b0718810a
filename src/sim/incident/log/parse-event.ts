/**
 * Parses one line of a log as an event. Log files are shared with other writers and get cut off, so an
 * unreadable line is skipped. A line that is used must have every field that is needed later, or a NaN would
 * surface far from its cause.
 */
import type { DroppedEvents, EventBase, YaokiEvent } from '../../../core/events/events.ts'
import { isAmount } from '../../../core/options/schema.ts'

export type UnreadableReason = 'not JSON' | 'not an event' | 'an event without all required fields'

/** The required fields of the events that are used: numbers, and at most one string. */
interface RequiredFields {
	readonly numbers?: readonly string[]
	readonly string?: string
}

/** Undefined for events that say nothing about a call, or nothing that another event does not say too. */
const REQUIRED: Readonly<Record<YaokiEvent['type'], RequiredFields | undefined>> = {
	retry_attempt: { numbers: ['attempt', 'delayMs'], string: 'outcome' },
	retry_success: { numbers: ['attempts', 'durationMs'] },
	retry_failure: { numbers: ['attempts', 'durationMs'], string: 'stop' },
	success: { numbers: ['durationMs'] },
	failure: { numbers: ['durationMs'] },
	rejected: { string: 'reason' },
	timeout: undefined,
	state_change: undefined,
	fallback: undefined,
	hedge: undefined,
	limit_change: undefined,
	download_progress: undefined,
	call: undefined,
}

const requiredOf = (type: string): RequiredFields | undefined =>
	Object.hasOwn(REQUIRED, type) ? REQUIRED[type as YaokiEvent['type']] : undefined

export const isUsed = (event: EventBase): event is YaokiEvent => requiredOf(event.type) !== undefined

const MAX_TIME = 8.64e15

export function parseEvent(line: string): EventBase | UnreadableReason {
	const value = parse(line)
	if (value === undefined) return 'not JSON'
	if (!isRecord(value)) return 'not an event'
	const type = String(value['type'])
	if (!Object.hasOwn(REQUIRED, type) && !OTHER_TYPES.has(type)) return 'not an event'
	return isEvent(value) ? value : 'an event without all required fields'
}

function parse(line: string): unknown {
	// Most lines of other writers end here, which is cheaper than an exception.
	if (!line.includes('{')) return undefined
	try {
		return JSON.parse(line)
	} catch {
		return undefined
	}
}

type JsonObject = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null

const isTime = (value: unknown): boolean => isAmount(value) && value <= MAX_TIME

function isEvent(value: JsonObject | EventBase): value is EventBase {
	const event = value as JsonObject
	const required = requiredOf(String(event['type']))
	const { pipeline, callId, emitter, timestamp } = event
	return (
		typeof emitter === 'string' &&
		isTime(timestamp) &&
		(pipeline === undefined || typeof pipeline === 'string') &&
		(required === undefined ||
			((callId === undefined || typeof callId === 'string') &&
				(required.numbers ?? []).every((name) => isTime(event[name])) &&
				(required.string === undefined || typeof event[required.string] === 'string')))
	)
}

/** The events of outboxes, inboxes, webhooks, relays, idempotency engines and the event log. A test compares the list with their types. */
export const OTHER_TYPES: ReadonlySet<string> = new Set([
	...[
		'relay_sent',
		'relay_retry_scheduled',
		'relay_dead_letter',
		'relay_released',
		'relay_lease_lost',
		'relay_paused',
		'relay_resumed',
		'relay_state_change',
		'relay_handlers_hung',
	],
	...['relay_store_error', 'relay_store_recovered', 'relay_started', 'relay_stopping', 'relay_stopped'],
	...[
		'outbox_enqueued',
		'outbox_replayed',
		'outbox_discarded',
		'outbox_retried',
		'outbox_expired',
		'outbox_resent',
	],
	...['inbox_processed', 'inbox_duplicate', 'inbox_conflict', 'inbox_failed'],
	...[
		'webhook_endpoint_failing',
		'webhook_endpoint_recovered',
		'webhook_endpoint_disabled',
		'webhook_endpoint_enabled',
	],
	...['idempotency_claimed', 'idempotency_replayed', 'idempotency_conflict', 'idempotency_mismatch'],
	...['idempotency_lease_lost', 'idempotency_fenced', 'idempotency_store_error', 'telemetry_events_dropped'],
	...['idempotency_stored_late', 'idempotency_response_lost'],
])

export function droppedCount(event: EventBase): number {
	const { type, count } = event as Partial<DroppedEvents>
	return type === 'telemetry_events_dropped' && isAmount(count) ? count : 0
}
