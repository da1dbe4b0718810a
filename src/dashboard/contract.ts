/**
 * What the page, `yaoki top` and the server exchange, as JSON. Facts only: the sentences are made where they are
 * shown, in the language of the reader. Times are milliseconds since 1970 by the clock of the server, durations
 * are milliseconds. `null` stands for what is unknown.
 */

import type { OVERVIEW_FORMAT } from './protocol/names.ts'

export { API_SEGMENT, OVERVIEW_FORMAT, TOKEN_HEADER } from './protocol/names.ts'

/** What a request may do. */
export type Access = 'all' | 'read'

export type Severity = 'error' | 'warning'

/** What is wrong now. `source` is the name in `observe`. Sorted by severity, then by `sinceMs`. */
export type Problem = {
	readonly severity: Severity
	readonly source: string
	/** How long it has been so; null if it began before this process looked. */
	readonly sinceMs: number | null
} & (
	| {
			readonly kind: 'circuit-open' | 'circuit-isolated' | 'circuit-half-open'
			readonly circuit: string
			readonly key: string | null
			readonly rejectedPerSecond: number
			readonly lastError: string | null
			/** The time until the next probe; null while isolated. */
			readonly probeInMs: number | null
	  }
	| { readonly kind: 'calls-failing'; readonly failuresPerSecond: number; readonly lastError: string | null }
	| { readonly kind: 'calls-rejected'; readonly reason: string; readonly rejectedPerSecond: number }
	| {
			readonly kind: 'destination-open' | 'destination-paused' | 'destination-retry-after'
			readonly destination: string
			readonly due: Count
			/** The time until the next probe, or until the pause ends; null without an end. */
			readonly endsInMs: number | null
			readonly by: string | null
			readonly reason: string | null
	  }
	| {
			readonly kind: 'messages-late'
			readonly destination: string
			readonly lagMs: number
			readonly due: Count
	  }
	| { readonly kind: 'no-relay'; readonly due: Count }
	| { readonly kind: 'relay-ended'; readonly relay: string }
	| { readonly kind: 'dead-letters'; readonly destination: string; readonly dead: Count }
	| { readonly kind: 'endpoints-disabled' | 'endpoints-failing'; readonly endpoints: number }
	| { readonly kind: 'clock-behind'; readonly behindMs: number }
	/** The state of the source cannot be read, for example because its database does not answer. */
	| { readonly kind: 'unreadable'; readonly error: string }
)

/** A count that stops at a limit. */
export interface Count {
	readonly count: number
	readonly isCapped: boolean
}

/**
 * The circuit of a policy or a client. Circuits that are not closed come first, because an open circuit soon has no
 * calls in its window; then by errors, then by volume. At most 1,000.
 */
export interface CircuitRow {
	/** Identifies the circuit in actions, in this process. */
	readonly id: string
	readonly source: string
	readonly name: string
	readonly key: string | null
	readonly state: 'closed' | 'open' | 'half-open' | 'isolated'
	/** True if the breaker is in shadow mode: it rejects no call. */
	readonly isShadow: boolean
	/** Calls of the breaker's window, and those of them that failed. */
	readonly calls: number
	readonly failures: number
	readonly errorRate: number | null
	readonly rejectedPerSecond: number
	/** How long it has been closed or, through probes that failed, not closed; null if it began before this process looked. */
	readonly sinceMs: number | null
	readonly probeInMs: number | null
	readonly lastError: string | null
	/** True if this dashboard has isolated the circuit, so that it can release it. */
	readonly isIsolatedHere: boolean
}

/** Retries of one source, over the last minute. */
export interface RetryRow {
	readonly source: string
	readonly retriesPerSecond: number
	/** The share of retried calls that succeeded; null if none was retried. */
	readonly successRate: number | null
	/** Retries per call that was retried: a call that succeeds at its first attempt is not counted by the dashboard. */
	readonly meanRetries: number | null
	readonly failuresPerSecond: number
	readonly rejectedPerSecond: number
	/** Failures of the last ten minutes in steps of ten seconds, oldest first. */
	readonly failures: readonly number[]
	/** Retries, in the same steps. */
	readonly retries: readonly number[]
}

/** A bulkhead, a rate limiter, a retry budget or an adaptive throttle. */
export interface LimitRow {
	readonly source: string
	readonly name: string
	readonly key: string | null
	readonly kind: 'bulkhead' | 'rate-limiter' | 'budget' | 'throttle'
	/** Calls in progress, or what has been used. */
	readonly used: number | null
	readonly limit: number | null
	readonly queued: number | null
	/** What is left: tokens or retries. */
	readonly available: number | null
	/** The probability that a throttle rejects a call. */
	readonly rejectProbability: number | null
}

export interface DestinationRow {
	readonly destination: string
	readonly due: Count
	readonly scheduled: Count
	readonly inFlight: Count
	readonly dead: Count
	readonly lagMs: number | null
	readonly ageMs: number | null
	readonly failingShare: number | null
	readonly circuit: 'closed' | 'open' | 'half-open'
	/** Why nothing is sent: null if messages are sent. */
	readonly pause: 'operator' | 'retry-after' | 'circuit' | null
	/** Null without an end. */
	readonly pauseEndsInMs: number | null
	readonly pausedBy: string | null
	readonly pauseReason: string | null
}

export interface RelayRow {
	readonly id: string
	readonly host: string
	readonly pid: number
	readonly isAlive: boolean
	readonly isThisProcess: boolean
	readonly destinations: readonly string[]
	readonly inFlight: number
	readonly sent: number
	readonly failed: number
	readonly dead: number
	readonly throughput: number
	readonly startedAt: number
	readonly seenAt: number
}

export interface OutboxView {
	readonly source: string
	readonly totals: Omit<
		DestinationRow,
		'destination' | 'circuit' | 'pause' | 'pauseEndsInMs' | 'pausedBy' | 'pauseReason'
	>
	readonly destinations: readonly DestinationRow[]
	readonly hasMoreDestinations: boolean
	readonly throughput: number
	/** Messages that become due in each five minutes of the next hour. */
	readonly forecast: readonly Count[]
	readonly relays: readonly RelayRow[]
	/** Undefined without an attempt log or history, so that the page can say which option shows more. */
	readonly keepsHistory: boolean
}

export interface IdempotencyView {
	readonly source: string
	/** Since the dashboard was created. */
	readonly replays: number
	readonly conflicts: number
	readonly abandoned: number
	/** What the engine's `stats()` returns, as name and number. */
	readonly figures: Readonly<Record<string, number>>
}

export interface InboxView {
	readonly source: string
	readonly marks: Count
	readonly expired: Count
	readonly oldestAgeMs: number | null
}

export interface WebhooksView {
	readonly source: string
	readonly enabled: number
	readonly failing: number
	readonly disabled: Readonly<Record<string, number>>
	readonly failingSinceMs: number | null
}

/** The answer to `GET api/overview`, and each event of `GET api/stream`. */
export interface Overview {
	readonly format: typeof OVERVIEW_FORMAT
	readonly at: number
	readonly access: Access
	/** In-memory figures are those of this process only. */
	readonly process: { readonly host: string; readonly pid: number; readonly startedAt: number }
	/** True for `yaoki dashboard`, which knows only what the database knows. */
	readonly isDatabaseOnly: boolean
	readonly problems: readonly Problem[]
	readonly circuits: readonly CircuitRow[]
	readonly retries: readonly RetryRow[]
	readonly limits: readonly LimitRow[]
	readonly outboxes: readonly OutboxView[]
	readonly idempotency: readonly IdempotencyView[]
	readonly inboxes: readonly InboxView[]
	readonly webhooks: readonly WebhooksView[]
	/** Replays and the like that run in this process. */
	readonly jobs: readonly JobView[]
	/** The number of failed calls so far: the page reads `api/calls` when it changes. */
	readonly failedCalls: number
}

/** An element of `GET api/calls?source=&key=&reason=&before=`, newest first. */
export interface FailedCall {
	/** Ascending. `before` is the one of the last call of the page. */
	readonly number: number
	readonly at: number
	readonly source: string
	readonly policy: string
	readonly key: string | null
	readonly call: string | null
	readonly method: string | null
	readonly outcome: 'failure' | 'rejected' | 'fallback'
	/** The reason for the stop, as in `explain`. */
	readonly stop: string
	/** The value to filter by: why a policy rejected the call, such as `circuit-open`, and else `stop`. */
	readonly reason: string
	readonly attempts: number
	/** Null if it was not measured: the first failure after 100 successes. */
	readonly durationMs: number | null
	readonly error: string
	/** The lines of `explain`, redacted as in logs. */
	readonly explanation: readonly string[]
}

export interface FailedCalls {
	readonly calls: readonly FailedCall[]
	/** How many older calls are no longer in memory. Rejections are kept apart, so that they displace no failure. */
	readonly leftOut: { readonly failures: number; readonly rejections: number }
	/** The values to filter by. */
	readonly sources: readonly string[]
	readonly reasons: readonly string[]
	readonly hasMore: boolean
}

export type MessageStatus = 'pending' | 'in-flight' | 'dead' | 'sent' | 'discarded'

export interface MessageRow {
	readonly id: string
	readonly topic: string
	readonly destination: string
	readonly key: string | null
	readonly status: MessageStatus
	readonly attempts: number
	readonly createdAt: number
	readonly dueAt: number | null
	readonly endedAt: number | null
	readonly cause: string | null
	readonly error: string | null
}

/**
 * The answer to `GET api/messages`. Indexed conditions: `outbox`, `id`, `destination`, `key`, `cause`, `status`,
 * `from`, `until`. The others are a scan of at most 10,000 messages per request: `topic`, `text` (in the error) and
 * `path` with `value` (in the payload, such as `customer.id`). `after` continues, also a scan that found nothing yet.
 */
export interface MessagesPage {
	readonly messages: readonly MessageRow[]
	/** Null at the end. */
	readonly next: string | null
	/** How many messages this request has read: more than it returns if it is a scan. */
	readonly scanned: number
}

/** One attempt of the timeline. */
export interface AttemptRow {
	readonly attempt: number
	readonly startedAt: number
	readonly durationMs: number
	readonly relay: string
	readonly outcome: string
	readonly statusCode: number | null
	readonly error: string | null
	readonly response: string | null
}

/** The answer to `GET api/message?outbox=&id=`. */
export interface MessageView extends MessageRow {
	/** The sentences of `why`. */
	readonly why: string
	/** Text; null if payloads are hidden. */
	readonly payload: string | null
	readonly headers: Readonly<Record<string, string>>
	readonly dedupeKey: string | null
	readonly expiresAt: number | null
	readonly lastAttemptAt: number | null
	/** Empty without the attempt log of the destination. */
	readonly timeline: readonly AttemptRow[]
	/** False if the destination keeps no attempt log, as far as is known: then first, last and count are all there is. */
	readonly hasAttemptLog: boolean
	/** The actions that fit its status, each with its form on the command line. */
	readonly actions: readonly ActionForm[]
	readonly audit: readonly AuditRow[]
}

export interface ActionForm {
	readonly action: ActionName
	/** The command line that does the same, to copy. */
	readonly command: string
}

/** A group of `GET api/dead?outbox=&destination=`, largest first. */
export interface DeadGroup {
	readonly fingerprint: string
	readonly cause: string
	readonly destination: string
	readonly count: Count
	readonly error: string | null
	readonly firstAt: number
	readonly lastAt: number
	readonly exampleId: string
	readonly actions: readonly ActionForm[]
}

export interface DeadGroups {
	readonly groups: readonly DeadGroup[]
	readonly hasMore: boolean
}

/** An element of `GET api/audit?outbox=&before=`, newest first. */
export interface AuditRow {
	readonly at: number
	readonly by: string
	readonly action: string
	readonly destination: string
	readonly messageId: string | null
	readonly reason: string | null
	readonly details: string | null
}

export interface AuditPage {
	readonly records: readonly AuditRow[]
	readonly next: string | null
}

/** An element of `GET api/endpoints?webhooks=&tenant=&isFailing=&isEnabled=&after=`. Without secrets. */
export interface EndpointRow {
	readonly id: string
	readonly tenant: string
	readonly url: string
	readonly topics: readonly string[]
	readonly description: string | null
	readonly isEnabled: boolean
	readonly disabledReason: string | null
	readonly disabledAt: number | null
	readonly failingSince: number | null
	readonly failures: number
	readonly actions: readonly ActionForm[]
}

export interface EndpointsPage {
	readonly endpoints: readonly EndpointRow[]
	readonly next: string | null
}

/** Which messages a bulk action is about, as in the search. */
export interface Selection {
	readonly ids?: readonly string[]
	/** The status that the list shows: `dead` for replay and discard, `pending` for retry and expire. They reject another one. */
	readonly status?: 'dead' | 'pending'
	readonly fingerprint?: string
	readonly destination?: string
	readonly cause?: string
	readonly key?: string
	readonly topic?: string
	/** Milliseconds since 1970: died at this time or later. */
	readonly from?: number
	readonly until?: number
	/** Required without a condition other than the status. */
	readonly all?: boolean
}

/** The body of `POST api/action`, with the token in a header. Every action is audited with the actor. */
export type Action =
	| {
			readonly action: 'retry' | 'expire'
			readonly source: string
			readonly selection: Selection
			readonly reason?: string
	  }
	| { readonly action: 'resend'; readonly source: string; readonly id: string; readonly reason?: string }
	| {
			readonly action: 'pause'
			readonly source: string
			readonly destination: string
			readonly forMs?: number
			readonly reason?: string
	  }
	| {
			readonly action: 'resume' | 'close-circuit'
			readonly source: string
			readonly destination: string
			readonly reason?: string
	  }
	| {
			readonly action: 'isolate' | 'release' | 'reset'
			readonly source: string
			readonly circuit: string
			readonly reason?: string
	  }
	| {
			readonly action: 'disable-endpoint' | 'enable-endpoint' | 'test-endpoint'
			readonly source: string
			readonly id: string
			readonly reason?: string
	  }
	| {
			readonly action: 'resend-endpoint'
			readonly source: string
			readonly id: string
			readonly since: number
			readonly perSecond?: number
			readonly reason?: string
	  }
	/** Starts a job. `canary`: one message first, and the others only if it is delivered. */
	| {
			readonly action: 'replay'
			readonly source: string
			readonly selection: Selection
			readonly canary?: boolean
			readonly perSecond?: number
			readonly reason?: string
	  }
	| {
			readonly action: 'discard'
			readonly source: string
			readonly selection: Selection
			readonly reason: string
	  }
	| { readonly action: 'cancel-job'; readonly source: string; readonly id: string }

export type ActionName = Action['action']

/** The answer to `POST api/action`. `changed`: how many messages, circuits or endpoints; null for a job. */
export interface ActionResult {
	readonly changed: number | null
	readonly job: JobView | null
	readonly command: string | null
}

/** The answer to `POST api/plan`: what a replay, a discard or an expiry would change. Nothing is written. */
export interface ActionPlan {
	readonly matching: Count
	readonly destinations: readonly string[]
	/** Destinations whose circuit is open or that are paused: their messages would wait. */
	readonly waiting: readonly string[]
	readonly command: string
}

/** A bulk action in progress, or one that ended within the last hour. */
export interface JobView {
	readonly id: string
	readonly source: string
	readonly action: ActionName
	readonly by: string
	readonly startedAt: number
	readonly state: 'canary' | 'running' | 'done' | 'cancelled' | 'failed'
	readonly changed: number
	readonly total: Count
	readonly error: string | null
}

/** The body of every response that is not 2xx. */
export interface ErrorBody {
	/** Such as `read-only`, `cross-origin`, `token`, `not-found`, `invalid`, `failed`. */
	readonly code: string
	readonly message: string
}
