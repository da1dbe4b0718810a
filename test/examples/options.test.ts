/** Compares the tables of options in the guide with the code: accepted names and defaults. Types are compared by documented-types.ts. */

import * as grpc from '@grpc/grpc-js'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import {
	adaptiveBulkhead,
	adaptiveThrottle,
	bulkhead,
	circuitBreaker,
	fallback,
	hedge,
	keyed,
	lint,
	pipeline,
	rateLimiter,
	retry,
	retryBudget,
	schedule,
	timeout,
	tokenBudget,
} from 'yaoki'
import { resilientInterceptor } from 'yaoki/grpc'
import { ResilientHttpClient } from 'yaoki/http'
import { memoryIdempotencyStore } from 'yaoki/idempotency'
import {
	batchDestination,
	Outbox,
	postgresInboxStore,
	sqliteInboxStore,
	sqliteOutboxStore,
	Webhooks,
} from 'yaoki/outbox'
import { RETRY_BUDGET_SCHEMA } from '../../src/core/budget/retry-budget.ts'
import { TOKEN_BUDGET_SCHEMA } from '../../src/core/budget/token-budget.ts'
import { readAdaptiveBulkheadOptions, readBulkheadOptions } from '../../src/core/bulkhead/options.ts'
import { readCircuitBreakerOptions } from '../../src/core/circuit-breaker/options.ts'
import { readHedgeOptions } from '../../src/core/hedge/options.ts'
import { readKeyedOptions } from '../../src/core/keyed/options.ts'
import { readRateLimiterOptions } from '../../src/core/rate-limiter/options.ts'
import { readRetryOptions } from '../../src/core/retry/options.ts'
import { readThrottleOptions } from '../../src/core/throttle/options.ts'
import { readGrpcOptions } from '../../src/grpc/policy/options.ts'
import { readGrpcServerOptions } from '../../src/grpc/server/options.ts'
import { readCacheOptions } from '../../src/http/cache/response-cache.ts'
import { HTTP_SCHEMA, readHttpOptions } from '../../src/http/options/http-options.ts'
import { MIDDLEWARE_SCHEMA, readServerOptions } from '../../src/http/server/options.ts'
import { readWebOptions } from '../../src/idempotency/adapters/web/exchange.ts'
import { readIdempotencyOptions } from '../../src/idempotency/engine/options.ts'
import { readAttemptLog } from '../../src/outbox/destinations/attempt-log-options.ts'
import { batchOf } from '../../src/outbox/destinations/batch-destination.ts'
import { readInboxOptions } from '../../src/outbox/inbox/inbox-options.ts'
import { readOutboxOptions } from '../../src/outbox/outbox-options.ts'
import { readDestination, readRelayOptions } from '../../src/outbox/relay/options.ts'
import { readPostgresOptions } from '../../src/outbox/store/postgres/postgres-store.ts'
import { readSqliteOptions } from '../../src/outbox/store/sqlite/sqlite-store.ts'
import { readKeepFor, readResend } from '../../src/outbox/webhooks/endpoint-options.ts'
import { readWebhooksOptions } from '../../src/outbox/webhooks/webhooks-options.ts'
import { QUOTA_BUDGET_SCHEMA, QuotaBudget } from '../../src/sim/scenario/quota-budget.ts'
import { readLoggerOptions } from '../../src/telemetry/logs/logger.ts'
import { readEventLogOptions } from '../../src/telemetry/node/event-log.ts'
import { readOpenTelemetryOptions } from '../../src/telemetry/opentelemetry/options.ts'
import { readVerifyOptions } from '../../src/webhooks/options.ts'
import { named, page, table, thousands } from './markdown.ts'

const IDEMPOTENCY = { store: memoryIdempotencyStore(), principal: () => 'anonymous' }

const POLICIES: Readonly<Record<string, { readonly name: string }>> = {
	'retry option': retry(),
	'circuit-breaker option': circuitBreaker(),
	'bulkhead option': bulkhead(),
	'bulkhead adaptive option': adaptiveBulkhead(),
	'timeout option': timeout(1),
	'fallback option': fallback(1),
	'hedge option': hedge(),
	'rate-limit option': rateLimiter(),
	'rate-limit throttle option': adaptiveThrottle(),
	'pipelines pipeline option': pipeline(),
	'pipelines keyed option': keyed(
		() => '',
		() => retry(),
	),
	'outbox-reference relay option': readRelayOptions({}),
	'idempotency-reference idempotency option': readIdempotencyOptions(IDEMPOTENCY),
	'outbox-reference outbox option': readOutboxOptions({ store: sqliteOutboxStore(':memory:') }),
	'inbox inbox option': readInboxOptions({ store: sqliteInboxStore('inbox.db') }),
	'http-reference option': await httpPipeline(),
	'grpc-reference grpc client option': { name: lint(resilientInterceptor(grpc)).name },
	'webhooks-reference webhooks option': readWebhooksOptions({}),
	'grpc-reference grpc server option': readGrpcServerOptions({}, 'resilientServerInterceptor'),
}
/** Returns the name of the pipeline of an HTTP client, from its events. */
async function httpPipeline(): Promise<{ readonly name: string }> {
	const names: string[] = []
	const client = new ResilientHttpClient({
		fetch: async () => new Response(),
		onEvent: ({ pipeline: name = '' }) => names.push(name),
	})
	await client.get('http://localhost/')
	return { name: names[0] ?? '' }
}
const nameOf = ([cell = '']: readonly string[]): string => named(cell)[0]?.replace(/\(.*/, '') ?? ''

/** The page, the first header of the table, and the function that reads the options. */
const tables: readonly (readonly [path: string, head: string, read: (options: object) => object])[] = [
	['retry', 'option', readRetryOptions],
	['circuit-breaker', 'option', readCircuitBreakerOptions],
	['circuit-breaker', 'resetBackoff option', (resetBackoff) => resetOf({ resetBackoff })],
	['bulkhead', 'option', readBulkheadOptions],
	['bulkhead', 'adaptive option', readAdaptiveBulkheadOptions],
	['timeout', 'option', (options) => onlyChecked(timeout(1, options))],
	['fallback', 'option', (options) => onlyChecked(fallback(1, options))],
	['hedge', 'option', readHedgeOptions],
	['rate-limit', 'option', readRateLimiterOptions],
	['rate-limit', 'throttle option', readThrottleOptions],
	['budgets', 'retry budget option', (options) => budgetDefaults(retryBudget(options), RETRY_BUDGET_SCHEMA)],
	['budgets', 'token budget option', (options) => budgetDefaults(tokenBudget(options), TOKEN_BUDGET_SCHEMA)],
	[
		'simulator',
		'quota budget option',
		(options) => budgetDefaults(new QuotaBudget(options), QUOTA_BUDGET_SCHEMA),
	],
	['pipelines', 'pipeline option', (options) => onlyChecked(pipeline(options))],
	['pipelines', 'keyed option', readKeyedOptions],
	['http-reference', 'option', httpDefaults],
	['http-reference', 'cache option', readCacheOptions],
	['http-client', 'client option', (options) => onlyChecked(new ResilientHttpClient(options))],
	['across-services', 'server option', serverDefaults],
	[
		'grpc-reference',
		'grpc client option',
		(options) => plain(readGrpcOptions(options, 'resilientInterceptor')),
	],
	[
		'grpc-reference',
		'grpc server option',
		(options) => plain(readGrpcServerOptions(options, 'resilientServerInterceptor')),
	],
	['idempotency-reference', 'idempotency option', idempotencyDefaults],
	['idempotency-reference', 'web adapter option', (options) => readWebOptions(options, 'fetchIdempotency')],
	['outbox-reference', 'outbox option', outboxDefaults],
	['outbox-reference', 'relay option', (options) => plain(readRelayOptions(options))],
	['outbox-reference', 'destination option', destinationDefaults],
	[
		'batches',
		'batch option',
		(options) => ({ ...batchOf(batchDestination({ deliver() {}, ...options }).deliver), deliver: undefined }),
	],
	['attempt-log', 'attempt log option', (options) => readAttemptLog('attemptLog', options) ?? {}],
	['inbox', 'inbox option', inboxDefaults],
	[
		'inbox',
		'postgres inbox option',
		(options) => onlyChecked(postgresInboxStore({ client: new Pool(), ...options })),
	],
	[
		'inbox',
		'sqlite inbox option',
		(options) => onlyChecked(sqliteInboxStore({ file: 'inbox.db', ...options })),
	],
	['outbox-stores', 'postgres option', postgresDefaults],
	['outbox-stores', 'sqlite option', sqliteDefaults],
	['tracing-reference', 'option', readOpenTelemetryOptions],
	['logging', 'logger option', (options) => plain(readLoggerOptions(options))],
	['event-log', 'event log option', eventLogDefaults],
	['webhooks-reference', 'webhooks option', (options) => plain(readWebhooksOptions(options))],
	[
		'webhooks-reference',
		'protection option',
		(ssrfProtection) => onlyChecked(readWebhooksOptions({ ssrfProtection })),
	],
	[
		'webhooks-reference',
		'resend option',
		(options) => onlyChecked(readResend({ since: new Date(), ...options }, 'endpoints.resend')),
	],
	['verify-webhooks', 'verification option', (options) => plain(readVerifyOptions(options))],
]
/** Defaults that are values. Computed settings are not options, and the table describes switches in words. */
function httpDefaults(options: object): object {
	const settings = Object.entries(readHttpOptions(options, HTTP_SCHEMA, 'resilientFetch'))
	return Object.fromEntries(
		settings.filter(([name, value]) => name in HTTP_SCHEMA && !/object|boolean/.test(typeof value)),
	)
}
function serverDefaults(options: object): object {
	const { deadlineHeaders, ...plain } = readServerOptions(options, MIDDLEWARE_SCHEMA)
	return plain
}
/** Keeps numbers and texts: a table cannot show other values. */
function plain(settings: object): object {
	return Object.fromEntries(
		Object.entries(settings).filter(([, value]) => /number|string/.test(typeof value)),
	)
}
function idempotencyDefaults(options: object): object {
	// The name has a default for a store in memory only.
	const { name, ...settings } = readIdempotencyOptions({ ...IDEMPOTENCY, ...options })
	return plain(settings)
}
function outboxDefaults(options: object): object {
	const { keepsHistory, ...settings } = readOutboxOptions({
		store: sqliteOutboxStore(':memory:'),
		...options,
	})
	return plain(settings)
}
function inboxDefaults(options: object): object {
	return plain(readInboxOptions({ store: sqliteInboxStore('inbox.db'), ...options }))
}
/** The defaults of a destination are the options of its relay. */
function destinationDefaults(options: object): object {
	const relay = readRelayOptions({ maxConcurrent: 3, timeoutMs: 4 })
	const {
		maxConcurrent: concurrency,
		timeoutMs,
		...settings
	} = readDestination('a', { deliver() {}, ...options }, relay)
	expect([concurrency, timeoutMs]).toEqual([3, 4])
	return plain(settings)
}
function postgresDefaults(options: object): object {
	return plain(readPostgresOptions({ client: new Pool(), ...options }))
}
function sqliteDefaults(options: object): object {
	const { file, ...settings } = readSqliteOptions({ file: ':memory:', ...options })
	return plain(settings)
}
function eventLogDefaults(options: object): object {
	const { path, ...settings } = readEventLogOptions({ path: 'events.jsonl', ...options })
	return plain(settings)
}
const onlyChecked = (_made: object): object => ({})
const resetOf = (options: object): object => {
	const {
		baseDelayMs: initialMs,
		factor,
		jitterStrategy,
	} = readCircuitBreakerOptions(options).resetBackoff ?? {}
	return { initialMs, factor, jitterStrategy }
}
/** A budget does not expose its settings. Its schema has the default of each number as the third value. */
const budgetDefaults = (_checked: object, schema: Readonly<Record<string, unknown>>): object =>
	Object.fromEntries(
		Object.entries(schema).flatMap(([name, rule]) => (Array.isArray(rule) ? [[name, rule[2]]] : [])),
	)
test('the defaults of endpoints of webhooks in the guide are those of the code', () => {
	const reference = page('docs/guide/webhooks-reference.md')
	const outbox = new Outbox({ store: sqliteOutboxStore(':memory:') })
	const { maxConcurrent, attemptLog, retry } = new Webhooks(outbox).destinations()['webhook:*']
	const delays = Array.isArray(retry?.growth) ? retry.growth : []
	const documented = table(reference, 'destination default').map(([name = '', value]) => [
		named(name)[0],
		value,
	])
	expect(documented).toEqual([
		['maxConcurrent', String(maxConcurrent)],
		['attemptLog', attemptLog ? 'on' : 'off'],
		['retry.growth', delays.map(thousands).join(', ')],
		['retry.maxRetries', String(retry?.maxRetries)],
		['retry.maxDelayMs', thousands(Number(retry?.maxDelayMs))],
		['retry.jitterStrategy', `\`'${retry?.jitterStrategy}'\``],
		['retry.classify', 'all but 2xx and 410 is retried'],
		['retry.delayFor', 'the schedule'],
	])
	const units: readonly (readonly [unit: string, ms: number])[] = [
		['h', 3_600_000],
		['min', 60_000],
		['s', 1_000],
	]
	const [, ...shown] = table(page('docs/guide/webhooks.md'), 'retry', '1')[0] ?? []
	const inUnits = (delay: number) => {
		const [unit = '', ms = 1] = units.find(([, length]) => delay >= length) ?? []
		return `${delay / ms} ${unit}`
	}
	expect(shown).toEqual(delays.map(inUnits))
	const { minMs, maxMs } = schedule({ ...retry }).total
	const days = (ms = Number.NaN) => (ms / 86_400_000).toFixed(1)
	expect([days(minMs), days(maxMs)]).toEqual(['3.1', '4.1'])
	expect(page('docs/guide/webhooks.md').text).toContain(`The retries last up to ${days(maxMs)} days`)
	const keepFor = table(reference, 'rotation option').find(([name]) => name === '`keepForMs`')
	expect(keepFor?.[1]).toBe(thousands(readKeepFor(undefined)))
})

const rowsOf = (path: string, head: string) => table(page(`docs/guide/${path}.md`), head, 'default')

test.each(tables)(
	'the options in %s, table "%s", are accepted, and others are rejected',
	(path, head, read) => {
		for (const name of rowsOf(path, head).map(nameOf))
			if (!REQUIRED.has(name)) expect(() => read({ [name]: undefined }), name).not.toThrow()
		const option = expect.stringMatching(/(^|\.)stranger$/)
		expect(() => read({ stranger: 1 })).toThrow(
			expect.objectContaining({ name: 'InvalidOptionError', optionPath: option }),
		)
	},
)

/** Options without a default. The readers above pass them. */
const REQUIRED: ReadonlySet<string> = new Set([
	...['client', 'deliver', 'destinations', 'file', 'path', 'principal', 'since', 'store'],
])

test.each(tables)('the defaults in %s, table "%s", are those of the code', (path, head, read) => {
	const documented = new Map(rowsOf(path, head).map((row) => [nameOf(row), row[1] ?? '']))
	for (const [name, value] of Object.entries(read({}))) {
		const cell = documented.get(name)
		const [other = ''] = named(cell ?? '')
		if (documented.has(other)) {
			// The default is another option, so it changes with it.
			expect(new Map(Object.entries(read({ [other]: 7 }))).get(name), name).toBe(7)
		} else if (value === undefined || value === Infinity || Number(value) < 0)
			// Off or computed: the table must not show a number.
			expect(cell, name).toMatch(/^[^\d]+$/)
		else if (typeof value === 'boolean') expect(cell, name).toBe(value ? 'on' : 'off')
		else expect(cell, name).toBe(typeof value === 'number' ? thousands(value) : `\`'${value}'\``)
	}
})

test('every documented number is a default in the code', () => {
	for (const [path, head, read] of tables) {
		const known = read({})
		for (const row of rowsOf(path, head))
			if (/^\d/.test(row[1] ?? '')) expect(known, `${path}, ${head}`).toHaveProperty(nameOf(row))
	}
})

test('the default names of policies match the code', () => {
	for (const [path, head] of tables) {
		const cell = rowsOf(path, head).find((row) => nameOf(row) === 'name')?.[1]
		if (cell === undefined) continue
		const name = `\`'${POLICIES[`${path} ${head}`]?.name}'\``
		const isConditional = head === 'idempotency option'
		expect(cell, `${path}, ${head}`).toBe(
			isConditional ? `must be given; for a store in memory ${name}` : name,
		)
	}
})
