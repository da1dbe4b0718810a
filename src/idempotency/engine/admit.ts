/**
 * What an adapter does with a request before its handler: everything that does not depend on a framework.
 * Checks that need no store come first, so that a malformed request costs no round trip.
 */
import { type RateLimitedError, YaokiError } from '../../core/errors/errors.ts'
import { invalidOption } from '../../core/options/schema.ts'
import { IdempotencyJsonTooDeepError } from '../key/canonical-json.ts'
import { type FingerprintInput, fingerprintOf, type ParsedBody } from '../key/fingerprint.ts'
import { parseKey } from '../key/parse-key.ts'
import { problemResponse } from '../response/problems.ts'
import type { StoredResponse } from '../store/store.ts'
import type { BeginResult, IdempotencyClaim } from './claim.ts'
import type { IdempotencyEngine } from './engine.ts'
import { IdempotencyRequestTooLargeError } from './errors.ts'
import type { IdempotencyRequest, IdempotencySettings } from './options.ts'
import { isSetupError } from './setup-errors.ts'

/** A request, as an adapter describes it. */
export interface Exchange<Raw = unknown> extends Omit<IdempotencyRequest<Raw>, 'path'> {
	/** What the client has sent: an absolute URL, or a path and a query. */
	readonly url: string
	/** The path of the route that the framework has found. Default: the path of the URL. */
	readonly routePath?: string | undefined
	/** Returns a signal that is aborted when the client has left. */
	signal(): AbortSignal | undefined
	/** Throws if the platform would end the request too early. Called only for a request with a key. */
	checkPlatform?(): void
	/**
	 * Reads the whole body. Rejects if it ends early, and with `IdempotencyRequestTooLargeError` if it is
	 * larger than `maxRequestBytes`.
	 */
	readBody(): Promise<Uint8Array | ParsedBody | undefined>
}

/** What an adapter does next. */
export type Admission =
	/**
	 * The handler runs, and its response is stored. Without a claim it runs without protection: the request has
	 * no key, or the store fails and `onStoreError` is `'pass'`.
	 */
	| { readonly kind: 'run'; readonly claim: IdempotencyClaim | undefined; readonly path: string }
	/** The handler does not run. */
	| { readonly kind: 'respond'; readonly response: StoredResponse }

export async function admit<Raw>(
	engine: IdempotencyEngine<unknown, Raw>,
	exchange: Exchange<Raw>,
): Promise<Admission> {
	const { settings } = engine
	const { method, headers, raw } = exchange
	const target = splitUrl(exchange.url)
	if (!target) return problem('request-target-malformed')
	const { path: urlPath, query } = target
	const path = exchange.routePath ?? urlPath
	const unprotected: Admission = { kind: 'run', claim: undefined, path }
	if (!settings.methodNames.has(method)) return unprotected
	const parsed = parseKey(headers.get('idempotency-key'), settings.maxKeyLength)
	if (parsed.kind === 'missing') return settings.required ? problem('idempotency-key-missing') : unprotected
	if (parsed.kind === 'malformed') return problem('idempotency-key-malformed', { detail: parsed.detail })
	exchange.checkPlatform?.()
	const request: IdempotencyRequest<Raw> = { method, path, headers, raw }
	const principal = await settings.principal(request)
	if (!isCaller(principal)) return problem('principal-missing')
	let body: Uint8Array | ParsedBody | undefined
	try {
		body = await exchange.readBody()
	} catch (error) {
		if (error instanceof IdempotencyRequestTooLargeError) return problem('request-body-too-large')
		if (error instanceof YaokiError) throw error
		return problem('request-body-incomplete')
	}
	const route = settings.route?.(request) ?? path
	let fingerprint: string
	try {
		const contentType = headers.get('content-type')
		fingerprint = await fingerprintOf({ method, path, query, contentType, body }, settings)
	} catch (error) {
		if (error instanceof IdempotencyJsonTooDeepError) return problem('request-body-too-deep')
		throw error
	}
	const signal = settings.waitMs > 0 ? exchange.signal() : undefined
	try {
		const identity = { principal, method, route, key: parsed.key }
		const begun = await engine.begin(identity, fingerprint, { signal })
		return begun.kind === 'run' ? { ...begun, path } : toResponse(begun)
	} catch (error) {
		if (signal?.aborted) return problem('request-in-progress')
		if (settings.onStoreError === 'pass') return unprotected
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

function toResponse(begin: Exclude<BeginResult, { kind: 'run' }>): Admission {
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

/** Clients come back soon: rejecting them costs little, and an outage must not outlast its cause. */
const MAX_STORE_RETRY_AFTER_MS = 2_000

/** Jittered: all of them got the same response at the same moment. */
function retryAfterMs(error: unknown, { runtime }: Pick<IdempotencySettings, 'runtime'>): number {
	const ms = (error as Partial<RateLimitedError> | null | undefined)?.retryAfterMs
	const isKnown = typeof ms === 'number' && ms > 0 && ms < MAX_STORE_RETRY_AFTER_MS
	return (isKnown ? ms : MAX_STORE_RETRY_AFTER_MS) * runtime.random()
}

/**
 * Splits a URL, absolute or not. Returns undefined if it is malformed: any client can send `GET http://%/`. A
 * request to a proxy has an absolute URL. `URL` does not parse the others: it takes the start of `//a/b` for
 * a host.
 */
function splitUrl(url: string): Pick<FingerprintInput, 'path' | 'query'> | undefined {
	if (/^[a-z][a-z\d+.-]*:\/\//i.test(url)) {
		if (!URL.canParse(url)) return undefined
		const { pathname, search } = new URL(url)
		return { path: pathname, query: search.slice(1) }
	}
	const at = url.indexOf('?')
	return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at + 1) }
}
