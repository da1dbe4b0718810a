/** Returns a property of a thrown value; undefined if its getter throws, which must not fail a call. */
export function safeGet(error: unknown, name: string): unknown {
	try {
		return Object(error)[name]
	} catch {
		return undefined
	}
}

/**
 * Returns the message of a thrown value, or the value as text. `String` throws for `Object.create(null)` and
 * for objects whose `toString` throws.
 */
export function safeMessage(error: unknown): string {
	try {
		return String(Object(error).message ?? error)
	} catch {
		return typeof error
	}
}

/** Causes may form a cycle. */
const MAX_CAUSES = 9

/** Returns what the function finds for an error or one of its causes. */
export function findInCauses<T>(error: unknown, find: (failure: unknown) => T | undefined): T | undefined {
	let failure = error
	for (let depth = 0; depth < MAX_CAUSES && failure !== undefined; depth++) {
		const found = find(failure)
		if (found) return found
		failure = safeGet(failure, 'cause')
	}
	return undefined
}
