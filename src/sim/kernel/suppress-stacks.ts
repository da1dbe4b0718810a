/**
 * Errors without stacks, for as long as something synchronous runs. A timeout makes an error, and taking its stack is more than
 * half of what a simulated call costs; the stack would only show the simulator. Nobody else runs meanwhile, and where a user's own
 * function might, the simulator leaves stacks on.
 */
export function suppressStacks<T>(run: () => T): T {
	const limit: unknown = Reflect.get(Error, 'stackTraceLimit')
	// Not every engine has one, and some programs freeze it.
	const isOff = typeof limit === 'number' && Reflect.set(Error, 'stackTraceLimit', 0)
	try {
		return run()
	} finally {
		if (isOff) Reflect.set(Error, 'stackTraceLimit', limit)
	}
}

/** Is there a function in it? Not for ever: what contains itself is no policy, and core will say so. */
export const hasFunction = (value: unknown, deepest = 9): boolean =>
	typeof value === 'function' ||
	(deepest > 0 &&
		Object(value) === value &&
		Object.values(value as object).some((one) => hasFunction(one, deepest - 1)))
