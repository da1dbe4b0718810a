/**
 * The level of every event, in one table that the guide shows. What every successful call emits is not
 * logged: metrics count that.
 */
import type { EventBase, YaokiEvent } from '../../core/events/events.ts'
import type { IdempotencyEvent } from '../../idempotency/engine/events.ts'
import type { OutboxEvent } from '../../outbox/events/outbox-events.ts'
import type { RelayEvent } from '../../outbox/events/relay-events.ts'
import type { InboxEvent } from '../../outbox/inbox/events.ts'
import type { WebhookEvent } from '../../outbox/webhooks/events.ts'

/** The levels of log lines, from the least to the most severe. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** The type of every event of the package. */
export type EventType = (
	| YaokiEvent
	| RelayEvent
	| OutboxEvent
	| InboxEvent
	| WebhookEvent
	| IdempotencyEvent
)['type']

/** The level of an event depends on one of its fields. */
interface LevelByField {
	readonly field: string
	readonly levels: Readonly<Record<string, LogLevel>>
	/** The level for all other values. */
	readonly otherwise: LogLevel
}

type LevelRule = LogLevel | LevelByField | 'not logged'

const CIRCUIT: LevelByField = { field: 'to', levels: { open: 'warn', isolated: 'warn' }, otherwise: 'info' }

export const LEVELS: Readonly<Record<EventType, LevelRule>> = {
	retry_attempt: 'debug',
	retry_success: 'debug',
	retry_failure: {
		field: 'stop',
		levels: {
			'retries-exhausted': 'warn',
			'elapsed-limit': 'warn',
			deadline: 'warn',
			timeout: 'warn',
			budget: 'warn',
			'retry-after': 'warn',
		},
		// The caller gets the error of a call that retries could not help.
		otherwise: 'debug',
	},
	state_change: CIRCUIT,
	rejected: {
		field: 'reason',
		// The state change is logged as a warning. Without these lines a bulkhead or a limit would reject calls
		// unnoticed.
		levels: { 'circuit-open': 'debug', isolated: 'debug' },
		otherwise: 'warn',
	},
	// The caller does not see the failure, so the log must show it.
	fallback: 'warn',
	timeout: 'debug',
	hedge: 'debug',
	limit_change: 'debug',
	call: 'not logged',
	success: 'not logged',
	failure: 'not logged',
	download_progress: 'not logged',
	relay_state_change: CIRCUIT,
	relay_dead_letter: 'error',
	relay_retry_scheduled: 'debug',
	relay_released: 'debug',
	relay_lease_lost: 'warn',
	relay_handlers_hung: 'warn',
	relay_store_error: 'warn',
	relay_store_recovered: 'info',
	relay_paused: 'info',
	relay_resumed: 'info',
	relay_started: 'info',
	relay_stopping: 'info',
	relay_stopped: 'info',
	relay_sent: 'not logged',
	outbox_enqueued: 'not logged',
	outbox_replayed: 'info',
	outbox_discarded: 'info',
	outbox_retried: 'info',
	outbox_expired: 'info',
	inbox_processed: 'not logged',
	inbox_duplicate: 'debug',
	inbox_conflict: 'debug',
	inbox_failed: 'warn',
	outbox_resent: 'info',
	// One failure says little. The operator knows what the operator has disabled.
	webhook_endpoint_failing: 'info',
	webhook_endpoint_recovered: 'info',
	webhook_endpoint_disabled: { field: 'reason', levels: { operator: 'info' }, otherwise: 'warn' },
	webhook_endpoint_enabled: 'info',
	idempotency_claimed: 'not logged',
	idempotency_replayed: 'debug',
	idempotency_conflict: { field: 'reason', levels: { 'in-progress': 'debug' }, otherwise: 'warn' },
	idempotency_mismatch: 'warn',
	idempotency_lease_lost: 'warn',
	idempotency_fenced: 'warn',
	idempotency_store_error: 'warn',
	idempotency_stored_late: 'info',
	idempotency_response_lost: 'error',
}

/** Returns the level of an event; undefined if it is not logged. An event of an unknown type is `info`. */
export function levelOf(event: EventBase): LogLevel | undefined {
	const { type } = event
	if (!Object.hasOwn(LEVELS, type)) return 'info'
	const rule = LEVELS[type as EventType]
	if (rule === 'not logged') return undefined
	// A call that succeeded at its first attempt was not retried.
	if (type === 'retry_success' && Reflect.get(event, 'attempts') === 1) return undefined
	if (typeof rule === 'string') return rule
	const value = String(Reflect.get(event, rule.field))
	return (Object.hasOwn(rule.levels, value) ? rule.levels[value] : undefined) ?? rule.otherwise
}
