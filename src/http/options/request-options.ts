import type { Deadline } from '../../core/deadline/deadline.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { checkNames, checkRange, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import type { RequestBody } from '../transport/request-body.ts'
import { checkTime } from './http-options.ts'
import { placed, refuse } from './option-path.ts'

/** What belongs to one request, under `yaoki` in its init. */
export interface RequestOptions {
	/** By when an answer is worth having. */
	readonly deadline?: Deadline | undefined
	/** The context of the work or of the request that this call is part of. */
	readonly parent?: CallOptions | undefined
	/** What the call is called in events and in `explain`. */
	readonly name?: string | undefined
	/** May the request be sent twice? Default: by its method and its key. */
	readonly idempotent?: boolean | undefined
	/** The key of this logical call, sent with every attempt. */
	readonly idempotencyKey?: string | undefined
	/** How long each attempt may take. Default: as for all. */
	readonly timeout?: number | undefined
	/** How long the whole may take. Default: as for all; beside a `timeout` of its own, three times that. */
	readonly totalTimeoutMs?: number | undefined
	/** How many retries this one may have, at most as many as all. */
	readonly maxRetries?: number | undefined
}

/** What `fetch` takes, a body that can be made anew for each attempt, and what belongs to this request. */
export interface ResilientRequestInit extends Omit<RequestInit, 'body'> {
	/** As for `fetch`; or a function that makes one, called for each attempt: `body: () => createReadStream(path)`. */
	readonly body?: RequestBody
	/** Said beside a stream where nothing else does; here it need not be. */
	readonly duplex?: 'half'
	readonly yaoki?: RequestOptions | undefined
}

const RULES: OptionSchema = {
	deadline: 'any',
	parent: 'any',
	name: 'string',
	idempotent: 'any',
	idempotencyKey: 'string',
	timeout: 'any',
	totalTimeoutMs: 'any',
	maxRetries: 'any',
}

const NONE: RequestOptions = Object.freeze({})

/** Refuses what can not work, by the name that the caller wrote it under. `mostRetries` is what the client allows. */
export function readRequestOptions(given: RequestOptions | undefined, mostRetries: number): RequestOptions {
	if (given === undefined) return NONE
	if (Object(given) !== given) refuse('yaoki', given, 'an object')
	placed('yaoki.', () => check(given, mostRetries))
	return given
}

function check(given: RequestOptions, mostRetries: number): void {
	checkNames(given, RULES)
	readOptions(given, RULES)
	const { deadline, parent, idempotent, idempotencyKey, maxRetries } = given
	checkTime('timeout', given.timeout)
	checkTime('totalTimeoutMs', given.totalTimeoutMs)
	if (deadline !== undefined && typeof Object(deadline).remainingMs !== 'number')
		refuse('deadline', deadline, 'a Deadline, such as Deadline.after(2_000)')
	// A request has a signal, so it would look as though it worked, without what its headers say.
	if (parent !== undefined && (Object(parent) !== parent || 'headers' in parent))
		refuse('parent', parent, 'a context, such as getServerContext(request)')
	if (idempotent !== undefined && typeof idempotent !== 'boolean')
		refuse('idempotent', idempotent, 'true or false')
	if (idempotencyKey === '') refuse('idempotencyKey', idempotencyKey, 'a key that is not empty')
	if (maxRetries !== undefined) {
		checkRange('maxRetries', maxRetries, 0, mostRetries)
		if (maxRetries % 1) refuse('maxRetries', maxRetries, 'a whole number')
	}
}
