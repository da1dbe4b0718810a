import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import {
	checkNames,
	checkRange,
	invalidOption,
	isObject,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import type { FingerprintOptions } from '../key/fingerprint.ts'
import { DEFAULT_MAX_KEY_LENGTH } from '../key/parse-key.ts'
import { DEFAULT_RESPONSE_HEADERS, type HandledResponse, isNeverStored } from '../response/storage-rules.ts'
import type { IdempotencyStore } from '../store/store.ts'

/** The part of a request that the options `principal` and `route` of `idempotency` get. */
export interface IdempotencyRequest<Raw = unknown> {
	readonly method: string
	/** The path of the URL, without the query. */
	readonly path: string
	/** The headers of the request, read in the same way in every framework. */
	readonly headers: RequestHeaders
	/**
	 * The framework's own request: a `Request`, Node's `IncomingMessage`, an Express or Fastify request or a
	 * Hono context. Annotate the parameter to have its type:
	 * `({ raw }: IdempotencyRequest<express.Request>) => raw.user?.id`. The engine then fits only adapters that
	 * pass such a request.
	 */
	readonly raw: Raw
}

interface RequestHeaders {
	/** Returns a header by its name in any case, or undefined. Repeated lines are joined with commas. */
	get(name: string): string | undefined
}

/** Options of `idempotency`. */
export interface IdempotencyOptions<Tx = unknown, Raw = unknown> extends FingerprintOptions {
	/** Where keys and responses are stored. */
	readonly store: IdempotencyStore<Tx>
	/**
	 * Returns who sends the request: the id of a user, an account or a tenant. Keys of two principals never
	 * meet. Undefined rejects the request with 401; return `'anonymous'` to accept requests without a caller.
	 * Never return a header that any client can set. An error is handled like an error of the handler.
	 */
	readonly principal: (request: IdempotencyRequest<Raw>) => string | undefined | Promise<string | undefined>
	/**
	 * The name of the service. It is a part of every key, so that two services on one database do not share
	 * keys, and the name in events. A change makes all stored keys unknown. Must be given, except for a store
	 * in memory: default `'idempotency'` there.
	 */
	readonly name?: string | undefined
	/** The methods whose requests are idempotent by their key. Default POST and PATCH. */
	readonly methods?: readonly string[] | undefined
	/** Rejects requests without a key with 400. Default false: they run, unprotected. */
	readonly required?: boolean | undefined
	/** Returns the route that a key belongs to. Default: the path. */
	readonly route?: ((request: IdempotencyRequest<Raw>) => string) | undefined
	/** The maximum length of a key. Default 255. */
	readonly maxKeyLength?: number | undefined
	/**
	 * How long a claim lasts without a heartbeat: after a crash the key is locked this long. Default 15,000.
	 */
	readonly leaseMs?: number | undefined
	/** After this time a handler's claim is no longer extended. Default 600,000. */
	readonly maxRunMs?: number | undefined
	/** How long a response is stored, from its completion. Default 24 hours. */
	readonly retentionMs?: number | undefined
	/** How long a repeated request waits for the first before it gets 409. Default 8,000. */
	readonly waitMs?: number | undefined
	/**
	 * What happens if the lease of a request ended without a response, because its process crashed. `'rerun'`:
	 * the next request runs, with the stored steps. `'reject'`: it gets 409 without Retry-After until an
	 * operator decides. Default `'rerun'`.
	 */
	readonly abandoned?: 'rerun' | 'reject' | undefined
	/**
	 * Whether a response is stored. Otherwise the key is released. Default: 2xx, 3xx and 4xx without 401, 403,
	 * 408, 409, 425 and 429. If it throws, a console warning reports the error, and the default decides.
	 */
	readonly shouldStore?: ((response: HandledResponse) => boolean) | undefined
	/** Larger responses are delivered, but not stored: repeated requests get 409. Default 1 MiB. */
	readonly maxBodyBytes?: number | undefined
	/**
	 * Larger requests with a key are rejected with 413, because the whole body is read for the fingerprint
	 * before the handler runs. Bodies that a parser has read have the limit of the parser. Default 1 MiB, as in
	 * Fastify and nginx.
	 */
	readonly maxRequestBytes?: number | undefined
	/**
	 * Response headers that are stored, in addition to those that describe the body and the resource.
	 * `'set-cookie'` is possible. Default: none.
	 */
	readonly responseHeaders?: readonly string[] | undefined
	/**
	 * What happens if the store fails. `'reject'`: 503 with Retry-After. `'pass'`: the request runs,
	 * unprotected. Default `'reject'`.
	 */
	readonly onStoreError?: 'reject' | 'pass' | undefined
	/**
	 * Timeout of one operation of the store. Waiting for a connection of your own pool has another one of the
	 * same length. Default 2,000.
	 */
	readonly storeTimeoutMs?: number | undefined
	/**
	 * How often keys whose retention is over are deleted, about: in small batches beside requests, by one
	 * process at a time. 0: never, for example with `yaoki idempotency purge` as a cron job. Never on Workers
	 * and Lambda, which have no timers between requests. Default an hour.
	 */
	readonly purgeEveryMs?: number | undefined
	/**
	 * The circuit breaker of the store, which rejects new requests while the store fails. False: none. Waiting
	 * for a connection of your own pool does not count. Default: 5 failures open it, for about 1 s at first and
	 * at most 2 s.
	 */
	readonly storeCircuitBreaker?:
		| Omit<CircuitBreakerOptions, 'isFailure' | 'isFailureResult'>
		| false
		| undefined
	/** The clock. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

/** The validated options with all defaults. */
export interface IdempotencySettings<Tx = unknown, Raw = unknown> extends IdempotencyOptions<Tx, Raw> {
	readonly name: string
	readonly runtime: Runtime
	readonly leaseMs: number
	readonly maxRunMs: number
	readonly retentionMs: number
	readonly waitMs: number
	readonly abandoned: 'rerun' | 'reject'
	readonly onStoreError: 'reject' | 'pass'
	readonly required: boolean
	readonly maxKeyLength: number
	readonly maxBodyBytes: number
	readonly maxRequestBytes: number
	readonly storeTimeoutMs: number
	readonly purgeEveryMs: number
	readonly methodNames: ReadonlySet<string>
	readonly allowedHeaders: ReadonlySet<string>
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const SCHEMA: OptionSchema = {
	store: 'any',
	principal: 'function',
	name: 'string',
	methods: 'any',
	required: 'boolean',
	route: 'function',
	maxKeyLength: [1, 8_192, DEFAULT_MAX_KEY_LENGTH, 'integer'],
	canonicalJson: 'boolean',
	excludedFields: 'any',
	leaseMs: [1, MAX_NUMBER, 15_000],
	maxRunMs: [1, MAX_NUMBER, 600_000],
	retentionMs: [0, MAX_NUMBER, DAY_MS],
	waitMs: [0, MAX_NUMBER, 8_000],
	abandoned: ['rerun', 'reject'],
	shouldStore: 'function',
	maxBodyBytes: [0, MAX_NUMBER, 2 ** 20, 'integer'],
	maxRequestBytes: [0, MAX_NUMBER, 2 ** 20, 'integer'],
	responseHeaders: 'any',
	onStoreError: ['reject', 'pass'],
	storeTimeoutMs: [1, MAX_NUMBER, 2_000],
	purgeEveryMs: [0, MAX_NUMBER, HOUR_MS],
	storeCircuitBreaker: 'any',
	runtime: 'any',
}

export function readIdempotencyOptions<Tx, Raw>(
	options: IdempotencyOptions<Tx, Raw>,
): IdempotencySettings<Tx, Raw> {
	checkNames(options, SCHEMA, 'idempotency')
	const { store, principal, methods = ['POST', 'PATCH'], responseHeaders = [], excludedFields = [] } = options
	if (!isObject(store) || typeof store.claim !== 'function')
		invalidOption('store', store, 'a store such as postgresIdempotencyStore({ client })')
	if (typeof principal !== 'function')
		invalidOption('principal', principal, "a function that returns the caller's id, or () => 'anonymous'")
	checkNameList('methods', methods)
	checkNameList('responseHeaders', responseHeaders)
	checkNameList('excludedFields', excludedFields)
	const wrong = responseHeaders.find((name) => isNeverStored(name.toLowerCase()))
	if (wrong !== undefined)
		invalidOption('responseHeaders', wrong, 'headers that do not belong to one connection or message')
	const settings = readOptions<IdempotencySettings<Tx, Raw>>(options, SCHEMA)
	checkRange('maxRunMs', settings.maxRunMs, settings.leaseMs)
	return {
		...settings,
		name: readName(options),
		runtime: options.runtime ?? systemRuntime,
		required: options.required ?? false,
		methodNames: new Set(methods.map((name) => name.toUpperCase())),
		allowedHeaders: new Set([
			...DEFAULT_RESPONSE_HEADERS,
			...responseHeaders.map((name) => name.toLowerCase()),
		]),
	}
}

function checkNameList(option: string, given: unknown): asserts given is readonly string[] {
	if (!Array.isArray(given) || !given.every((name) => typeof name === 'string' && name !== ''))
		invalidOption(option, given, 'an array of non-empty strings')
}

/** A service that shares a database with another one and has no name would use the keys of the other one. */
function readName({ name, store }: Pick<IdempotencyOptions<unknown, never>, 'name' | 'store'>): string {
	if (name) return name
	if (name === undefined && store.isShared === false) return 'idempotency'
	return invalidOption(
		'name',
		name,
		"the name of the service, which belongs to all of its keys: name: 'payments'",
	)
}
