/** Runs a function once per key: what an adapter does for a request, without HTTP. */
import type { Jsonified } from '../../core/json/jsonified.ts'
import { checkNames, invalidArgument, invalidOption, type OptionSchema } from '../../core/options/schema.ts'
import { canonicalJson } from '../key/canonical-json.ts'
import type { IdempotencyIdentity } from '../key/identity.ts'
import { sha256 } from '../key/sha256.ts'
import type { BeginResult } from './claim.ts'
import { type IdempotencyRunContext, runContext } from './context.ts'
import { IdempotencyConflictError } from './errors.ts'
import { type Outcome, storedValue, valueOutcome } from './outcome.ts'
import type { EngineParts } from './running-claims.ts'

/**
 * Options of `engine.run`, its last argument; `principal` is required. `engine.run` runs a function once per
 * key, for work that is not an HTTP request, such as messages of a queue.
 */
export interface IdempotencyRunOptions {
	/**
	 * Who the call is for: the id of a user, an account or a tenant. Keys of two principals never meet.
	 * `'anonymous'` if there is no caller.
	 */
	readonly principal: string
	/**
	 * What the function does, such as `'charge'`: the same key with another route is another key. Two functions
	 * need two routes. Default `'run'`.
	 */
	readonly route?: string | undefined
	/** Aborted, a call that waits for another run rejects with its reason. Default: none. */
	readonly signal?: AbortSignal | undefined
}

const OPTIONS: OptionSchema = { principal: 'any', route: 'any', signal: 'any' }

/** The methods of requests are in upper case, so that a key of a function is never the key of a request. */
const METHOD = 'run'

export async function runFunction<Tx, T>(
	engine: EngineParts<Tx>,
	key: string,
	input: unknown,
	fn: (context: IdempotencyRunContext<Tx>) => T | Promise<T>,
	options: IdempotencyRunOptions,
): Promise<Jsonified<T>> {
	const { excludedFields, onStoreError, maxKeyLength } = engine.settings
	const identity = identityOf(key, options, maxKeyLength)
	const { signal } = options
	const fingerprint = await sha256(canonicalJson(input, excludedFields))
	let begun: BeginResult | undefined
	try {
		begun = await engine.begin(identity, fingerprint, { signal })
	} catch (error) {
		if (signal?.aborted || onStoreError === 'reject') throw error
	}
	if (begun?.kind === 'replay') return storedValue(begun.response.body) as Jsonified<T>
	if (begun?.kind === 'mismatch') throw new IdempotencyConflictError('key-reused')
	if (begun?.kind === 'conflict') throw new IdempotencyConflictError(begun.reason, begun.retryAfterMs)
	const claim = begun?.claim
	let value: T
	try {
		value = await fn(runContext(engine, claim))
	} catch (error) {
		if (claim) await engine.claims.tryRelease(claim)
		throw error
	}
	let outcome: Outcome<unknown> | undefined
	try {
		outcome = valueOutcome(engine)(value)
		return outcome.result as Jsonified<T>
	} finally {
		// The effect has happened, so the key completes also if JSON cannot hold the result. A transaction may
		// have completed it before.
		if (claim && !claim.hasEnded) await engine.claims.tryComplete(claim, await outcome?.stored())
	}
}

function identityOf(key: string, options: IdempotencyRunOptions, maxKeyLength: number): IdempotencyIdentity {
	checkNames(options, OPTIONS, 'run')
	const { principal, route = METHOD } = options
	if (!isText(key) || key.length > maxKeyLength)
		invalidArgument('key', key, `a string of 1 to ${maxKeyLength} characters`)
	if (!isText(principal))
		invalidOption('principal', principal, "the id of the caller, a non-empty string, or 'anonymous'")
	if (!isText(route)) invalidOption('route', route, 'a non-empty string')
	return { principal, method: METHOD, route, key }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
