/**
 * The page of the guide for every function, class and constant, and for types that have a section of their own. A new export gets its place
 * here, and the page has to use it. Types that are not listed are on the page of the listed name that leads to them.
 */
export const GUIDE_PAGES: Readonly<Record<string, string>> = {
	retry: 'retry retryWithBackoff',
	backoff: 'calculateDelay nextRetryAt presets schedule',
	timeout: 'timeout TimeoutError',
	'circuit-breaker': 'circuitBreaker CircuitOpenError',
	bulkhead: 'bulkhead adaptiveBulkhead BulkheadRejectedError',
	fallback: 'fallback lastGoodValue',
	hedge: 'hedge',
	'rate-limit': 'rateLimiter adaptiveThrottle RateLimitedError',
	budgets: 'retryBudget RetryBudget tokenBudget Budget',
	deadlines: 'Deadline DeadlineExceededError currentContext runWithContext withAmbientContext',
	pipelines: 'pipeline keyed Policy PolicyOptions CallOptions CallContext Settled',
	classification: 'classify isRetryable isRetryableNetworkError isRetryableStatus permanent Classifier',
	explain: 'explain YaokiError InvalidOptionError',
	events: 'YaokiEvent EventBase ErrorFacts',
	errors:
		'InvalidArgumentError IdempotencySchemaError IdempotencyStoreError OutboxSchemaError RelayStoppedError',
	lint: 'lint',
	runtime: 'Runtime',
	testing: 'faults seededRandom skipDelays virtualRuntime',
	http: 'resilientFetch axiosAdapter undiciInterceptor HttpError RequestOptions',
	'http-reference': 'ResponseTooLargeError',
	'http-client': 'ResilientHttpClient InvalidResponseError isCachedResponse',
	'retry-after': 'parseRetryAfter retryWithRetryAfter',
	'across-services':
		'createServerContext deadlineExceededResponse expressServerContext fastifyServerContext fetchServerContext getServerContext honoServerContext nodeServerContext',
	grpc: 'resilientInterceptor resilientServerInterceptor resilientConnectInterceptor resilientConnectServerInterceptor resilientNiceMiddleware resilientChannelOptions parseServiceConfig getGrpcContext GrpcStatusError',
	idempotency:
		'idempotency expressIdempotency fastifyIdempotency fetchIdempotency honoIdempotency nodeIdempotency memoryIdempotencyStore postgresIdempotencyStore sqliteIdempotencyStore IdempotencyLeaseLostError IdempotencyResponseNotStoredError IdempotencyRequest',
	'idempotency-functions': 'IdempotencyConflictError',
	'idempotency-reference': 'redisIdempotencyStore IdempotencyStore idempotencyStoreConformance',
	'verify-webhooks':
		'verifyWebhook signWebhook createWebhookSecret createWebhookKeyPair WebhookVerificationError WebhookRequest',
	outbox: 'Outbox postgresOutboxStore sqliteOutboxStore InvalidMessageError OutboxTransactionError Message',
	'outbox-reference': 'MessageNotQueuedError MessageNotSentError',
	inbox:
		'Inbox postgresInboxStore sqliteInboxStore InboxConflictError InboxSchemaError InboxStoreError InboxTransactionError',
	relay: 'Relay Destination MessageHandler RelayEvent',
	'http-destination': 'httpDestination',
	batches: 'batchDestination BatchReport',
	orms: 'drizzleTx knexTx kyselyTx mikroOrmTx postgresJsTx prismaTx sequelizeTx typeormTx',
	'dead-letters': 'DeadLetterNotFoundError',
	webhooks: 'Webhooks WebhookEndpointError WebhookUrlError',
	'outbox-operations': 'redactFields',
	'relay-crashes': 'OutboxLeaseLostError OutboxStoreError',
	'outbox-stores': 'OutboxStore outboxStoreConformance endpointStoreConformance',
	metrics: 'observe inMemoryMetrics Exporter',
	'metrics-endpoint': 'metricsEndpoint prometheus',
	logging: 'logger',
	tracing: 'openTelemetry',
	dashboard: 'dashboard',
	'event-log': 'eventLog diagnosticsChannels PublishedCallEnd PublishedEvent',
	simulator:
		'simulate Simulation replicate compare tune applyChanges policyToTypeScript scenarios expectResilience ResilienceError loadCurveFromCsv loadCurveFromPrometheus Scenario runStudy toHTML toJSON toSVG toText',
	'incident-replay': 'scenarioFromIncident replayIncident',
}
