/**
 * Calls user functions. A decision hook may throw, which ends the call, and must be synchronous. A
 * notification hook cannot affect the call: its errors become console warnings.
 */
import { YaokiError } from '../errors/errors.ts'

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
	typeof (value as { then?: unknown } | null | undefined)?.then === 'function'

/** Returns the result of a decision hook. Throws if it is a promise, which would always be truthy. */
export function requireSync<T>(hook: string, result: T): T {
	if (!isThenable(result)) return result
	notify(hook, () => result)
	throw new YaokiError('YAOKI_ASYNC_HOOK', `${hook} must be synchronous, but it returned a promise`)
}

/** Never throws: an error may have a getter that throws, or no way to become text. */
function warn(name: string, error: unknown): void {
	for (const shown of [error, 'its error cannot be read']) {
		try {
			console.warn(`yaoki: ${name} failed:`, shown)
			return
		} catch {}
	}
}

/** Calls a notification hook. Errors, thrown or rejected, are reported as console warnings. */
export function notify<Args extends readonly unknown[]>(
	name: string,
	hook: (...args: Args) => unknown,
	...args: Args
): void {
	try {
		const result = hook(...args)
		if (isThenable(result)) result.then(undefined, (error) => warn(name, error))
	} catch (error) {
		warn(name, error)
	}
}

/**
 * A function of the user that is called with these arguments. Parameters of methods are bivariant, so that
 * the user may declare a narrower type, as in `(error: AxiosError) => ...`. A function type accepts only
 * `unknown` there.
 */
export type Hook<Args extends readonly unknown[], Result> = { call(...args: Args): Result }['call']
