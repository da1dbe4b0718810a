import type { Deadline } from '../deadline/deadline.ts'
import { InvalidOptionError } from '../errors/errors.ts'
import { nearestName } from '../options/nearest-name.ts'
import { invalidOption, isObject } from '../options/schema.ts'
import type { CallExtension } from './call-extension.ts'

/** Options of one call, the same for every policy: the second argument of `execute` and `settle`. */
export interface CallOptions {
	/** The caller's abort signal. It ends a wait immediately and reaches the operation through its context. */
	readonly signal?: AbortSignal | undefined
	/** Deadline for the whole call, retries included. */
	readonly deadline?: Deadline | undefined
	/** The call's name in events and in `explain`. */
	readonly name?: string | undefined
	/** What the call is about, such as a host or a tenant. Selects the policy in `keyed`, and is part of events. */
	readonly key?: string | undefined
	/** Whether the operation is idempotent. `hedge` skips calls that are not. */
	readonly idempotent?: boolean | undefined
	/** The context of the operation that makes this call. Options that are not set here are taken from it, except `name`. */
	readonly parent?: CallOptions | undefined
	/** @internal What a protocol adds to the call. */
	readonly extension?: CallExtension | undefined
}

/**
 * The information about the current attempt that an operation receives from `execute`, `settle` and `bind`.
 * Pass it on as call options, `inner.execute(fn, ctx)`, so that nested retries do not multiply. Its
 * properties are getters, and a copy by `{ ...ctx }` loses them; to add to it, set it as the parent:
 * `{ parent: ctx, name: 'inner' }`.
 *
 * @example
 * await policy.execute(({ signal, attempt }) => fetch(url, { signal, headers: { 'x-attempt': String(attempt) } }))
 */
export interface CallContext {
	/** Aborted if the caller aborts, a timeout expires or the deadline expires; never after the call has settled. */
	readonly signal: AbortSignal
	/** The attempt, counted from 0. */
	readonly attempt: number
	/** The caller's deadline, if one was set. */
	readonly deadline: Deadline | undefined
	/** The call's `key`, if one was set. */
	readonly key: string | undefined
	/** The call's `idempotent`, if it was set. */
	readonly idempotent: boolean | undefined
}

/** Merges a call's options with those of its parent: either signal aborts the call, and the earlier deadline applies. */
export function inheritCallOptions(own: CallOptions, parent: CallOptions): CallOptions {
	const { signal, deadline } = own
	const inherited = parent.parent ? inheritCallOptions(parent, parent.parent) : parent
	const outer = inherited.deadline
	return {
		...own,
		signal:
			signal && inherited.signal ? AbortSignal.any([signal, inherited.signal]) : (signal ?? inherited.signal),
		deadline: deadline && outer && outer.remainingMs < deadline.remainingMs ? outer : (deadline ?? outer),
		key: own.key ?? inherited.key,
		idempotent: own.idempotent ?? inherited.idempotent,
	}
}

const NAMES = ['signal', 'deadline', 'name', 'key', 'idempotent', 'parent']

/**
 * Returns the error of invalid call options, such as a misspelt name or a bare signal; undefined if they are
 * valid. It is returned because a call never throws.
 */
export function findInvalidOption(given: CallOptions): InvalidOptionError | undefined {
	if (!isObject(given)) return invalid(given)
	for (const name in given) if (!NAMES.includes(name)) return findUnknownOption(given, name)
	// A Deadline has no names that the loop visits.
	if ('onExpiry' in given) return invalid(given)
	return given.parent ? findInvalidOption(given.parent) : undefined
}

function findUnknownOption(given: CallOptions, name: string): InvalidOptionError | undefined {
	if ('aborted' in given) return invalid(given)
	// A context has getters, which a copy by `{ ...context }` has not.
	if ('attempt' in given)
		return 'signal' in given ? undefined : invalid(given, 'the context itself, or { parent: context }')
	const suggestion = name.startsWith('timeout') ? 'deadline' : nearestName(name, NAMES)
	const value = given[name as keyof CallOptions]
	return new InvalidOptionError(name, value, NAMES.join(', '), { owner: 'a call', suggestion })
}

const invalid = (given: unknown, expected = 'an object such as { signal, deadline }'): InvalidOptionError =>
	new InvalidOptionError('options', given, expected)

/** Throws if the caller has aborted or an option is invalid. Not a part of each call: most have no options. */
export function checkSignals({ signal, deadline }: CallOptions): void {
	if (signal?.aborted) throw signal.reason
	if (deadline && !deadline.onExpiry) invalidOption('deadline', deadline, 'a Deadline: Deadline.after(ms)')
	if (signal && !signal.addEventListener) invalidOption('signal', signal, 'an AbortSignal')
}
