/** The message of a log line, for people. The facts are in the fields. */
import type { EventBase } from '../../core/events/events.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import type { EventType } from './levels.ts'

/** A name in braces is replaced by that field of the event. */
const MESSAGES: Readonly<Record<EventType, string>> = {
	retry_attempt: 'attempt {attempt} failed, retry in {delayMs} ms',
	retry_success: 'call succeeded after {attempts} attempts',
	retry_failure: 'call failed after {attempts} attempts, stopped: {stop}',
	state_change: 'circuit {to}, was {from}',
	rejected: 'call rejected: {reason}',
	fallback: 'call failed, fallback used',
	timeout: 'operation took longer than {timeoutMs} ms',
	hedge: 'hedge {outcome}',
	limit_change: 'concurrency limit {to}, was {from}',
	call: 'call ended: {outcome}',
	success: 'call succeeded',
	failure: 'call failed',
	download_progress: '{receivedBytes} bytes received',
	relay_state_change: 'circuit {to}, was {from}',
	relay_dead_letter: 'message is a dead letter: {cause}',
	relay_retry_scheduled: 'delivery failed, retry in {delayMs} ms',
	relay_released: 'message released: {reason}',
	relay_lease_lost: 'lease of a message lost',
	relay_handlers_hung: 'hung handlers occupy all slots of {destination}',
	relay_store_error: 'store operation {operation} failed',
	relay_store_recovered: 'store operation {operation} succeeds again',
	relay_paused: '{destination} paused: {reason}',
	relay_resumed: '{destination} resumed',
	relay_started: 'relay started',
	relay_stopping: 'relay is stopping',
	relay_stopped: 'relay stopped',
	relay_sent: 'message sent',
	outbox_enqueued: '{count} messages enqueued',
	outbox_replayed: '{count} dead letters replayed',
	outbox_discarded: '{count} dead letters discarded',
	outbox_retried: '{count} messages made due',
	outbox_expired: '{count} messages expired',
	inbox_processed: 'message processed',
	inbox_duplicate: 'duplicate message skipped',
	inbox_conflict: 'message rejected: an earlier delivery is in flight',
	inbox_failed: 'message not processed',
	outbox_resent: '{count} sent messages queued again',
	webhook_endpoint_failing: 'webhook endpoint {endpointId} fails',
	webhook_endpoint_recovered: 'webhook endpoint {endpointId} recovered after {failures} failures',
	webhook_endpoint_disabled: 'webhook endpoint {endpointId} disabled: {reason}',
	webhook_endpoint_enabled: 'webhook endpoint {endpointId} enabled',
	idempotency_claimed: 'request runs',
	idempotency_replayed: 'stored response repeated',
	idempotency_conflict: 'repeated request rejected: {reason}',
	idempotency_mismatch: 'key used for two different requests',
	idempotency_lease_lost: 'request ran longer than its lease',
	idempotency_fenced: 'write of a request that lost its lease rejected: {operation}',
	idempotency_store_error: 'store operation {operation} failed',
	idempotency_stored_late: 'response stored after {durationMs} ms',
	idempotency_response_lost: 'response not stored after {durationMs} ms',
}

/** Longer messages are truncated. */
const MAX_LENGTH = 500

/** A delay with jitter has many decimals, which are noise to a reader. */
const toText = (value: unknown): string =>
	typeof value === 'number' ? String(Math.round(value)) : String(value ?? '?')

/** Returns the message on one line. */
export function messageOf(service: string, event: EventBase): string {
	const { type } = event
	const template = Object.hasOwn(MESSAGES, type) ? MESSAGES[type as EventType] : type
	const text = template.replaceAll(/\{(\w+)\}/g, (_, field: string) => toText(Reflect.get(event, field)))
	return sanitizeLine(`${service}: ${text}`.slice(0, MAX_LENGTH))
}
