/** How a function ended: with an error, or with a value. */
export type Ended = { readonly value: unknown } | { readonly error: unknown }

/**
 * Runs `fn` and calls `onEnd`, which must not throw, when its result has settled. Returns what `fn` returned.
 * A second subscription to a promise has no effect on the first; `observe` passes no other thenables.
 */
export function watchResult(fn: () => unknown, onEnd: (ended: Ended) => void): unknown {
	let result: unknown
	try {
		result = fn()
	} catch (error) {
		onEnd({ error })
		throw error
	}
	if (result instanceof Promise) {
		// With both handlers this promise is never rejected.
		void result.then(
			(value) => onEnd({ value }),
			(error: unknown) => onEnd({ error }),
		)
	} else onEnd({ value: result })
	return result
}
