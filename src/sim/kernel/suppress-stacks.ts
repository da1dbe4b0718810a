/**
 * Runs a synchronous function with stack traces turned off. A timeout creates an error, and capturing its
 * stack takes more than half of the time of a simulated call; the stack would only show the simulator. No
 * other code runs in between. Scenarios that contain user functions keep their stacks.
 */
export function suppressStacks<T>(run: () => T): T {
	const limit: unknown = Reflect.get(Error, 'stackTraceLimit')
	// Some engines have no such property, and some programs freeze it.
	const isOff = typeof limit === 'number' && Reflect.set(Error, 'stackTraceLimit', 0)
	try {
		return run()
	} finally {
		if (isOff) Reflect.set(Error, 'stackTraceLimit', limit)
	}
}

/** Returns true if a value contains a function. The depth limit ends cyclic values, which are not valid policies. */
export const hasFunction = (value: unknown, maxDepth = 9): boolean =>
	typeof value === 'function' ||
	(maxDepth > 0 &&
		Object(value) === value &&
		Object.values(value as object).some((item) => hasFunction(item, maxDepth - 1)))
