import type { Deadline } from '../core/deadline/deadline.ts'
import type { CallOptions } from '../core/engine/call-options.ts'
import { checkNames, checkRange, type Rules, readOptions, refuse } from '../core/options/rules.ts'
import type { RequestBody } from './exchange/body.ts'
import { isTime } from './options.ts'

/** What belongs to one request, under `yaoki` in its init. */
export interface RequestSettings {
	/** By when an answer is worth having. */
	readonly deadline?: Deadline | undefined
	/** The context of the work or of the request that this call is part of. */
	readonly within?: CallOptions | undefined
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
export interface ResilientInit extends Omit<RequestInit, 'body'> {
	/** As for `fetch`; or a function that makes one, called for each attempt: `body: () => createReadStream(path)`. */
	readonly body?: RequestBody
	/** Said beside a stream where nothing else does; here it need not be. */
	readonly duplex?: 'half' | undefined
	readonly yaoki?: RequestSettings | undefined
}

const RULES: Rules = {
	'yaoki.deadline': 'any',
	'yaoki.within': 'any',
	'yaoki.name': 'string',
	'yaoki.idempotent': 'any',
	'yaoki.idempotencyKey': 'string',
	'yaoki.timeout': 'any',
	'yaoki.totalTimeoutMs': 'any',
	'yaoki.maxRetries': 'any',
}

const NONE: RequestSettings = Object.freeze({})

/** Refuses what can not work, with the name of the option. `mostRetries` is what the client allows. */
export function readRequestSettings(
	given: RequestSettings | undefined,
	mostRetries: number,
): RequestSettings {
	if (given === undefined) return NONE
	checkTable(given)
	const { deadline, within, idempotent, idempotencyKey, maxRetries } = given
	for (const name of ['timeout', 'totalTimeoutMs'] as const) {
		const value = given[name]
		if (value !== undefined && !isTime(value))
			refuse(`yaoki.${name}`, value, 'a number above 0, in milliseconds')
	}
	if (deadline !== undefined && typeof Object(deadline).remainingMs !== 'number')
		refuse('yaoki.deadline', deadline, 'a Deadline')
	if (within !== undefined && Object(within) !== within) refuse('yaoki.within', within, 'a context')
	if (idempotent !== undefined && typeof idempotent !== 'boolean')
		refuse('yaoki.idempotent', idempotent, 'true or false')
	if (idempotencyKey === '') refuse('yaoki.idempotencyKey', idempotencyKey, 'a key that is not empty')
	if (maxRetries !== undefined) {
		checkRange('yaoki.maxRetries', maxRetries, 0, mostRetries)
		if (maxRetries % 1) refuse('yaoki.maxRetries', maxRetries, 'a whole number')
	}
	return given
}

/** By the names that the caller wrote them under: a request has other options beside these. */
function checkTable(given: RequestSettings): void {
	if (Object(given) !== given) refuse('yaoki', given, 'an object')
	const named = Object.fromEntries(Object.entries(given).map(([name, value]) => [`yaoki.${name}`, value]))
	checkNames(named, RULES)
	readOptions(named, RULES)
}
