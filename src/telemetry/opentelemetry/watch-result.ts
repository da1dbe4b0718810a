/** How a function ended: with an error, or with a value. */
export type Ended = { readonly value: unknown } | { readonly error: unknown }

/**
 * Runs `fn` and calls `onEnd` when its result has settled, exactly once. Returns what `fn` returned. A thenable of another library is
 * replaced by one that subscribes to it only when the caller does: it may start its work with each subscription.
 */
export function watchResult(fn: () => unknown, onEnd: (ended: Ended) => void): unknown {
	let hasEnded = false
	const end = (ended: Ended): void => {
		if (hasEnded) return
		hasEnded = true
		onEnd(ended)
	}
	let result: unknown
	try {
		result = fn()
	} catch (error) {
		end({ error })
		throw error
	}
	if (isPlainPromise(result)) {
		// Both handlers are given and `end` does not throw, so this promise is never rejected.
		void result.then(
			(value) => end({ value }),
			(error: unknown) => end({ error }),
		)
		return result
	}
	const then = thenOf(result)
	if (then) return watchThenable(result, then, end)
	end({ value: result })
	return result
}

type Then = (onValue?: unknown, onError?: unknown) => unknown

/** True if a second subscription has no effect on the first. */
const isPlainPromise = (value: unknown): value is Promise<unknown> =>
	value instanceof Promise && value.then === Promise.prototype.then

/** Undefined also for a getter that throws: the engine reports it. */
function thenOf(value: unknown): Then | undefined {
	if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined
	try {
		const then: unknown = Reflect.get(value, 'then')
		return typeof then === 'function' ? (then as Then) : undefined
	} catch {
		return undefined
	}
}

function watchThenable(thenable: unknown, then: Then, end: (ended: Ended) => void): PromiseLike<unknown> {
	const watched = {
		// biome-ignore lint/suspicious/noThenProperty: this is a thenable.
		then(onValue?: (value: unknown) => unknown, onError?: (error: unknown) => unknown): unknown {
			return Reflect.apply(then, thenable, [
				(value: unknown) => {
					end({ value })
					return onValue ? onValue(value) : value
				},
				(error: unknown) => {
					end({ error })
					if (onError) return onError(error)
					throw error
				},
			])
		},
	}
	return watched as PromiseLike<unknown>
}
