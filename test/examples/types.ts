/** The types behind the tables of the guide, by the name under which documented-types.ts compares them. */

import type {
	adaptiveBulkhead,
	adaptiveThrottle,
	BackoffOptions,
	BulkheadRejectedError,
	bulkhead,
	CallOptions,
	CircuitBreakerOptions,
	ErrorFacts,
	EventBase,
	Explanation,
	FallbackOptions,
	HedgeOptions,
	JitterStrategy,
	KeyedOptions,
	LintFinding,
	PipelineOptions,
	PolicyOptions,
	RateLimiterOptions,
	RetryOptions,
	retryBudget,
	StopReason,
	tokenBudget,
	YaokiErrorCode,
	YaokiEvent,
} from 'yaoki'
import type { GrpcClientOptions, GrpcEvent, GrpcServerOptions } from 'yaoki/grpc'
import type {
	AuthOptions,
	CacheOptions,
	HttpClientOptions,
	HttpClientStats,
	HttpOptions,
	RequestOptions,
	ResilientFetchOptions,
	RetryWithRetryAfterOptions,
	ServerMiddlewareOptions,
} from 'yaoki/http'
import type {
	IdempotencyEvent,
	IdempotencyOptions,
	MemoryIdempotencyStoreOptions,
	PostgresIdempotencyStoreOptions,
	RedisIdempotencyStoreOptions,
	SqliteIdempotencyStoreOptions,
} from 'yaoki/idempotency'
import type {
	BatchDestinationOptions,
	DeadLetterCause,
	Destination,
	EnqueueOptions,
	HttpDestinationOptions,
	InboxEvent,
	InboxOptions,
	Message,
	MessageAttempt,
	MessageFilter,
	NewMessage,
	NewWebhookEndpoint,
	OutboxEvent,
	OutboxOptions,
	OutboxStats,
	PostgresOutboxStoreOptions,
	RelayEvent,
	RelayOptions,
	ReplayReport,
	SqliteOutboxStoreOptions,
	SsrfProtectionOptions,
	WebhookEndpoint,
	WebhookEvent,
	WebhookMessage,
	Webhooks,
	WebhooksOptions,
	WebhookUrlError,
} from 'yaoki/outbox'
import type { Fault, MeasureName } from 'yaoki/sim'
import type { LoggerOptions, OpenTelemetryOptions } from 'yaoki/telemetry'
import type { EventLogOptions } from 'yaoki/telemetry/node'
import type { FaultsOptions } from 'yaoki/testing'
import type { VerifyWebhookOptions, WebhookVerificationError } from 'yaoki/webhooks'
import type { HealthCheck } from '../../src/cli/outbox/health/health-check.ts'
import type { BackoffGrowth } from '../../src/core/backoff/formula.ts'
import type { TimeoutOptions } from '../../src/core/timeout/timeout.ts'
import type { OriginStats } from '../../src/http/client/origin-pipeline.ts'
import type { WebAdapterOptions } from '../../src/idempotency/adapters/web/exchange.ts'
import type { ProblemCode } from '../../src/idempotency/response/problems.ts'
import type { DeadLetterChanges, ReplayOptions } from '../../src/outbox/dead-letters/options.ts'
import type { DestinationOptions } from '../../src/outbox/destinations/destination.ts'
import type { PostgresInboxStoreOptions } from '../../src/outbox/inbox/store/postgres/postgres-store.ts'
import type { SqliteInboxStoreOptions } from '../../src/outbox/inbox/store/sqlite/sqlite-store.ts'
import type {
	RotateSecretOptions,
	WebhookEndpointChange,
} from '../../src/outbox/webhooks/endpoint-options.ts'
import type { WebhookEndpoints } from '../../src/outbox/webhooks/endpoints.ts'
import type { QuotaBudgetOptions } from '../../src/sim/scenario/quota-budget.ts'

/** The object among the accepted values. */
type Chosen<T> = Exclude<T, undefined | null | boolean>
type First<F extends (...args: never[]) => unknown> = keyof Chosen<Parameters<F>[0]>

/** Names of options, by page and header of their table. */
export interface Options {
	'retry: option': keyof RetryOptions
	'retry: call option': Exclude<keyof CallOptions, 'extension'>
	'circuit-breaker: option': keyof CircuitBreakerOptions
	'circuit-breaker: resetBackoff option': keyof Chosen<CircuitBreakerOptions['resetBackoff']>
	'bulkhead: option': First<typeof bulkhead>
	'bulkhead: adaptive option': First<typeof adaptiveBulkhead>
	'timeout: option': keyof TimeoutOptions
	'fallback: option': keyof FallbackOptions
	'hedge: option': keyof HedgeOptions
	'rate-limit: option': keyof RateLimiterOptions
	'rate-limit: throttle option': First<typeof adaptiveThrottle>
	'budgets: retry budget option': First<typeof retryBudget>
	'budgets: token budget option': First<typeof tokenBudget>
	'simulator: quota budget option': Exclude<keyof QuotaBudgetOptions, 'runtime'>
	'pipelines: pipeline option': keyof PipelineOptions
	'pipelines: keyed option': keyof KeyedOptions
	'http-reference: option': keyof HttpOptions
	'http-reference: cache option': keyof CacheOptions
	'http-reference: request option': keyof RequestOptions
	'http-client: auth option': keyof AuthOptions
	'http-client: client option': Exclude<keyof HttpClientOptions, keyof ResilientFetchOptions>
	'retry-after: retry-after option': keyof RetryWithRetryAfterOptions
	'across-services: server option': keyof ServerMiddlewareOptions
	'grpc-reference: grpc client option': keyof GrpcClientOptions
	'grpc-reference: grpc server option': keyof GrpcServerOptions
	'idempotency-reference: idempotency option': keyof IdempotencyOptions
	'idempotency-reference: web adapter option': keyof WebAdapterOptions
	'idempotency-reference: postgres key option': keyof PostgresIdempotencyStoreOptions
	'idempotency-reference: sqlite key option': keyof SqliteIdempotencyStoreOptions
	'idempotency-reference: redis key option': keyof RedisIdempotencyStoreOptions
	'idempotency-reference: memory key option': keyof MemoryIdempotencyStoreOptions
	'outbox-reference: outbox option': keyof OutboxOptions
	'outbox-reference: message field': keyof NewMessage
	'outbox-reference: enqueue option': keyof EnqueueOptions
	'outbox-reference: relay option': keyof RelayOptions | 'destinations'
	'outbox-reference: destination option': keyof Destination
	'outbox-reference: http destination option': Exclude<keyof HttpDestinationOptions, keyof DestinationOptions>
	'batches: batch option': Exclude<keyof BatchDestinationOptions, keyof DestinationOptions>
	'attempt-log: attempt log option': keyof Chosen<RelayOptions['attemptLog']>
	'inbox: inbox option': keyof InboxOptions
	'inbox: postgres inbox option': keyof PostgresInboxStoreOptions
	'inbox: sqlite inbox option': keyof SqliteInboxStoreOptions
	'dead-letters: filter': keyof MessageFilter
	'dead-letters: replay option': keyof ReplayOptions
	'outbox-stores: postgres option': keyof PostgresOutboxStoreOptions
	'outbox-stores: sqlite option': keyof SqliteOutboxStoreOptions
	'outbox-reference: `stats()`': keyof OutboxStats
	'tracing-reference: option': keyof OpenTelemetryOptions
	'logging: logger option': keyof LoggerOptions
	'event-log: event log option': keyof EventLogOptions
	'verify-webhooks: verification option': keyof VerifyWebhookOptions
	'webhooks-reference: webhooks option': keyof WebhooksOptions
	'webhooks-reference: protection option': keyof SsrfProtectionOptions
	'webhooks-reference: event field': keyof WebhookMessage
	'webhooks-reference: field of create': keyof NewWebhookEndpoint
	'webhooks-reference: field of update': keyof WebhookEndpointChange
	'webhooks-reference: rotation option': keyof RotateSecretOptions
	'webhooks-reference: condition of list': keyof NonNullable<Parameters<Webhooks['endpoints']['list']>[0]>
	'webhooks-reference: resend option': keyof Parameters<Webhooks['endpoints']['resend']>[1]
	'webhooks-reference: field of an endpoint': keyof WebhookEndpoint
	'testing: option': Exclude<keyof FaultsOptions, keyof PolicyOptions>
}

type EventOf<Event extends { readonly type: string }, Type> = Event extends { readonly type: infer Own }
	? Type extends Own
		? Event
		: never
	: never

/** Other documented names. */
export interface Facts {
	growth: Extract<BackoffGrowth, string>
	jitterStrategy: JitterStrategy
	stop: StopReason
	'fields of all events': keyof EventBase
	'fields of gRPC events': Exclude<keyof GrpcEvent, keyof EventBase>
	'error facts': keyof ErrorFacts
	'reason of rejected': EventOf<YaokiEvent, 'rejected'>['reason']
	explanation: Exclude<keyof Explanation | keyof Explanation['attempts'][number], 'toString'>
	'beyond HttpOptions': Exclude<keyof ResilientFetchOptions, keyof HttpOptions>
	'stats of the client': keyof HttpClientStats | keyof OriginStats
	'reason of relay_released': EventOf<RelayEvent, 'relay_released'>['reason']
	'breaker of a relay': keyof Chosen<RelayOptions['circuitBreaker']>
	'retry of a relay': Exclude<
		keyof Chosen<RelayOptions['retry']>,
		Exclude<keyof BackoffOptions, 'maxRetries'>
	>
	'message of a handler': keyof Message
	'changes of a dead letter': keyof DeadLetterChanges
	stoppedBy: Chosen<ReplayReport['stoppedBy']>
	cause: DeadLetterCause
	'codes of errors': YaokiErrorCode
	'entries of problems': ProblemCode
	'entries of stop': StopReason
	'entries of findings': LintFinding['code']
	'findings of lint': LintFinding['code']
	'reason of BulkheadRejectedError': BulkheadRejectedError['reason']
	'reason of WebhookVerificationError': WebhookVerificationError['reason']
	'reason of WebhookUrlError': WebhookUrlError['reason']
	disabledReason: NonNullable<WebhookEndpoint['disabledReason']>
	'methods of webhooks': Exclude<keyof Webhooks, '~observable'>
	'methods of endpoints': keyof WebhookEndpoints
	'events of an outbox': OutboxEvent['type']
	'outcome of an attempt': MessageAttempt['outcome']
	'field of an attempt': keyof MessageAttempt
	'checks of the outbox': HealthCheck['name']
	measures: MeasureName
	'problems of idempotency': ProblemCode
}

/** The error facts, for an event that has them: they have a table of their own. */
type FactsOf<Event> = 'errorType' extends keyof Event ? keyof ErrorFacts : never

/** The types of events or kinds of faults, and the fields that belong to one of them only. */
export interface Events {
	fault: Fault['kind']
	policy: YaokiEvent['type']
	relay: RelayEvent['type']
	idempotency: IdempotencyEvent['type']
	webhooks: WebhookEvent['type']
	inbox: InboxEvent['type']
}
export interface EventFields<Type> {
	webhooks: Exclude<
		keyof EventOf<WebhookEvent, Type>,
		keyof EventBase | 'endpointId' | 'tenant' | FactsOf<EventOf<WebhookEvent, Type>>
	>
	fault: Exclude<
		keyof Extract<Fault, { readonly kind: Type }>,
		keyof Extract<Fault, { readonly kind: 'pause' }>
	>
	idempotency: Exclude<
		keyof EventOf<IdempotencyEvent, Type>,
		keyof EventBase | 'method' | 'route' | FactsOf<EventOf<IdempotencyEvent, Type>>
	>
	inbox: Exclude<
		keyof EventOf<InboxEvent, Type>,
		keyof EventBase | 'messageId' | FactsOf<EventOf<InboxEvent, Type>>
	>
	policy: Exclude<keyof EventOf<YaokiEvent, Type>, keyof EventBase | FactsOf<EventOf<YaokiEvent, Type>>>
	/** `relay_lease_lost` has no fields of its own, only those that all events of messages share. */
	relay: Exclude<
		keyof EventOf<RelayEvent, Type>,
		| keyof RelayEvent
		| 'destination'
		| FactsOf<EventOf<RelayEvent, Type>>
		| (EventOf<RelayEvent, Type> extends { readonly messageId: string }
				? keyof EventOf<RelayEvent, 'relay_lease_lost'>
				: never)
	>
}
