import type { Deadline } from '../../core/deadline/deadline.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import {
	checkNames,
	checkRange,
	invalidOption,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import type { RequestBody } from '../transport/request.ts'
import { checkTimeouts } from './http-options.ts'

/**
 * Options of one request, under `yaoki` in its init: `client.get(url, { yaoki: { maxRetries: 0 } })`. Also
 * under `yaoki` in a config of axios.
 */
export interface RequestOptions {
	/** Deadline for the whole call, retries included. */
	readonly deadline?: Deadline | undefined
	/** The context of the call or server request that this request belongs to. */
	readonly parent?: CallOptions | undefined
	/** Name of the call in events and in `explain`. */
	readonly name?: string | undefined
	/** Whether the request may be sent twice. Default: decided by its method and idempotency key. */
	readonly idempotent?: boolean | undefined
	/** Idempotency key of this call, sent with every attempt. */
	readonly idempotencyKey?: string | undefined
	/** Timeout per attempt, in milliseconds. Default: the client's. */
	readonly timeout?: number | undefined
	/**
	 * Timeout for the whole call, in milliseconds. Default: the client's; with a `timeout` here, enough for all
	 * attempts.
	 */
	readonly totalTimeoutMs?: number | undefined
	/** Maximum number of retries, at most the client's. */
	readonly maxRetries?: number | undefined
}

/**
 * The second argument of what `resilientFetch` returns: the init of `fetch`, plus body factories, and request
 * options under `yaoki`.
 */
export interface ResilientRequestInit extends Omit<RequestInit, 'body' | 'signal'> {
	/** Aborts the call. Undefined as well, so that the optional signal of a function can be passed on. */
	readonly signal?: AbortSignal | null | undefined
	/** A body as in `fetch`, or a function that creates one per attempt: `() => createReadStream(path)`. */
	readonly body?: RequestBody
	/** Required by `fetch` for streams; optional here. */
	readonly duplex?: 'half'
	readonly yaoki?: RequestOptions | undefined
}

const SCHEMA: OptionSchema = {
	deadline: 'any',
	parent: 'any',
	name: 'string',
	idempotent: 'boolean',
	idempotencyKey: 'string',
	timeout: 'any',
	totalTimeoutMs: 'any',
	maxRetries: 'any',
}

const NONE: RequestOptions = Object.freeze({})

/** Validates the options of a request. `maxRetries` is the client's limit. */
export function readRequestOptions(given: RequestOptions | undefined, maxRetries: number): RequestOptions {
	if (given === undefined) return NONE
	if (Object(given) !== given) invalidOption('yaoki', given, 'an object')
	withOptionPath('yaoki', () => checkOptions(given, maxRetries))
	return given
}

/** `fetch` ignores unknown names in its init, so a timeout in the wrong place would have no effect. */
export function checkMisplaced(init: object): void {
	for (const [name, value] of Object.entries(init))
		if (Object.hasOwn(SCHEMA, name)) invalidOption(name, value, `{ yaoki: { ${name} } }`)
}

function checkOptions(given: RequestOptions, clientMaxRetries: number): void {
	checkNames(given, SCHEMA, 'a request')
	readOptions(given, SCHEMA)
	const { deadline, parent, idempotencyKey, maxRetries } = given
	checkTimeouts(given)
	if (deadline !== undefined && typeof Object(deadline).remainingMs !== 'number')
		invalidOption('deadline', deadline, 'a Deadline such as Deadline.after(2_000)')
	// A request has a signal too, so it would seem to work, but its headers would be ignored.
	if (parent !== undefined && (Object(parent) !== parent || 'headers' in parent))
		invalidOption('parent', parent, 'a context such as getServerContext(request)')
	if (idempotencyKey === '') invalidOption('idempotencyKey', idempotencyKey, 'a non-empty string')
	if (maxRetries !== undefined) checkRange('maxRetries', maxRetries, 0, clientMaxRetries, 'integer')
}
