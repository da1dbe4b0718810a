/**
 * What an adapter does with a request before its handler: everything that does not depend on a framework. Checks that need no store come first,
 * so that a malformed request costs no round trip.
 */
import { type RateLimitedError, YaokiError } from '../../core/errors/errors.ts'
import { invalidOption } from '../../core/options/schema.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { IdempotencyJsonTooDeepError } from '../key/canonical-json.ts'
import { fingerprintOf, type ParsedBody } from '../key/fingerprint.ts'
import { parseKey } from '../key/parse-key.ts'
import { problemResponse } from '../response/problems.ts'
import type { StoredResponse } from '../store/store.ts'
import type { BeginResult } from './begin-result.ts'
import type { IdempotencyClaim } from './claim.ts'
import type { IdempotencyEngine } from './engine.ts'
import { IdempotencyRequestTooLargeError } from './errors.ts'
import type { IdempotencyRequest, IdempotencySettings } from './options.ts'
import { isSetupError } from './setup-errors.ts'

/** A request, as an adapter describes it. */
export interface Exchange<Raw = unknown> extends IdempotencyRequest<Raw> {
	/** The query without `?`. */
	readonly query: string
	readonly contentType: string | null | undefined
	/** The lines of the `Idempotency-Key` header. */
	readonly key: string | readonly string[] | null | undefined
	/** Returns a signal that is aborted when the client has left. */
	signal?(): AbortSignal | undefined
	/** Throws if the platform would end the request too early. Called only for a request with a key. */
	checkPlatform?(): void
	/** Reads the whole body. Rejects if it ends early, and with `IdempotencyRequestTooLargeError` if it is larger than `maxRequestBytes`. */
	readBody(): Promise<Uint8Array | ParsedBody | undefined>
}

/** What an adapter does next. */
export type Admission =
	/** The handler runs, and its response is stored. */
	| { readonly kind: 'run'; readonly claim: IdempotencyClaim }
	/** The handler runs without protection: the request has no key, or the store fails and `onStoreError` is `'pass'`. */
	| { readonly kind: 'unprotected' }
	/** The handler does not run. */
	| { readonly kind: 'respond'; readonly response: StoredResponse }

export async function admit<Raw>(
	engine: IdempotencyEngine<unknown, Raw>,
	exchange: Exchange<Raw>,
): Promise<Admission> {
	const { settings } = engine
	const { method, path } = exchange
	if (!settings.methodNames.has(method)) return { kind: 'unprotected' }
	const parsed = parseKey(exchange.key, settings.maxKeyLength)
	if (parsed.kind === 'missing')
		return settings.required ? problem('idempotency-key-missing') : { kind: 'unprotected' }
	if (parsed.kind === 'malformed') return problem('idempotency-key-malformed', { detail: parsed.detail })
	exchange.checkPlatform?.()
	const principal = await settings.principal(exchange)
	if (!isCaller(principal)) return problem('principal-missing')
	let body: Uint8Array | ParsedBody | undefined
	try {
		body = await exchange.readBody()
	} catch (error) {
		if (error instanceof IdempotencyRequestTooLargeError) return problem('request-body-too-large')
		if (error instanceof YaokiError) throw error
		return problem('request-body-incomplete')
	}
	const route = settings.route?.(exchange) ?? path
	let fingerprint: string
	try {
		fingerprint = await fingerprintOf({ ...exchange, body }, settings)
	} catch (error) {
		if (error instanceof IdempotencyJsonTooDeepError) return problem('request-body-too-deep')
		throw error
	}
	const signal = settings.waitMs > 0 ? exchange.signal?.() : undefined
	try {
		const identity = { principal, method, route, key: parsed.key }
		return toAdmission(await engine.begin(identity, fingerprint, { signal }))
	} catch (error) {
		if (signal?.aborted) return problem('request-in-progress')
		if (settings.onStoreError === 'pass') return { kind: 'unprotected' }
		if (isSetupError(error)) return problem('idempotency-store-not-ready')
		return problem('idempotency-store-unavailable', { retryAfterMs: retryAfterMs(error, settings) })
	}
}

/** Programs in JavaScript may return null or a number: all callers without an id would share their keys. */
function isCaller(principal: unknown): principal is string {
	if (principal === undefined || principal === null || principal === '') return false
	if (typeof principal !== 'string') invalidOption('principal', principal, 'a function that returns a string')
	return true
}

function toAdmission(begin: BeginResult): Admission {
	if (begin.kind === 'run') return begin
	if (begin.kind === 'mismatch') return problem('idempotency-key-reused')
	if (begin.kind === 'replay') {
		const { response } = begin
		return { kind: 'respond', response: { ...response, headers: [...response.headers, REPLAYED] } }
	}
	const { reason, retryAfterMs } = begin
	return problem(CONFLICT_CODES[reason], { retryAfterMs })
}

const REPLAYED = ['idempotency-replayed', 'true'] as const

const CONFLICT_CODES = {
	'in-progress': 'request-in-progress',
	'outcome-unknown': 'request-outcome-unknown',
	'not-stored': 'response-not-stored',
} as const

const problem = (...args: Parameters<typeof problemResponse>): Admission => ({
	kind: 'respond',
	response: problemResponse(...args),
})

/** Clients of a store that fails come back soon: rejecting them costs little, and an outage must not outlast its cause. */
const MAX_STORE_RETRY_AFTER_MS = 2_000

/** Jittered: all of them got the same response at the same moment. */
function retryAfterMs(
	error: unknown,
	{ runtime = systemRuntime }: Pick<IdempotencySettings, 'runtime'>,
): number {
	const ms = (error as Partial<RateLimitedError> | null | undefined)?.retryAfterMs
	const isKnown = typeof ms === 'number' && ms > 0 && ms < MAX_STORE_RETRY_AFTER_MS
	return (isKnown ? ms : MAX_STORE_RETRY_AFTER_MS) * runtime.random()
}
