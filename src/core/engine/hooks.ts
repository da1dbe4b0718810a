/**
 * Users' functions, called with care. A decision hook may throw, and that ends the call; it must answer at once. An
 * observing hook can do no harm: what goes wrong in it is a warning on the console.
 */
import { YaokiError } from '../errors/errors.ts'

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
	typeof (value as { then?: unknown } | null | undefined)?.then === 'function'

/** Passes a decision hook's answer on. A promise would always be truthy, and is refused with a word about it. */
export function requireSync<T>(hook: string, answer: T): T {
	if (!isThenable(answer)) return answer
	notify(hook, () => answer)
	throw new YaokiError('YAOKI_ASYNC_HOOK', `${hook} returned a promise; it must answer at once`)
}

/** Runs an observing hook; its errors, thrown or rejected, go to the console and nowhere else. */
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
