/**
 * Calls user functions. A decision hook may throw, which ends the call, and must be synchronous. A notification hook
 * cannot affect the call: its errors become console warnings.
 */
import { YaokiError } from '../errors/errors.ts'

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
	typeof (value as { then?: unknown } | null | undefined)?.then === 'function'

/** Returns the result of a decision hook. Throws if it is a promise, which would always be truthy. */
export function requireSync<T>(hook: string, answer: T): T {
	if (!isThenable(answer)) return answer
	notify(hook, () => answer)
	throw new YaokiError('YAOKI_ASYNC_HOOK', `${hook} returned a promise; it must answer at once`)
}

/** Calls a notification hook. Errors, thrown or rejected, are reported as console warnings. */
export function notify<Args extends readonly unknown[]>(
	name: string,
	hook: (...args: Args) => unknown,
	...args: Args
): void {
	const warn = (error: unknown) => console.warn(`yaoki: ${name} failed:`, error)
	try {
		const answer = hook(...args)
		if (isThenable(answer)) answer.then(undefined, warn)
	} catch (error) {
		warn(error)
	}
}
