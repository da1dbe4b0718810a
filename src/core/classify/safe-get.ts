/** Returns a property of a thrown value, or undefined if its getter throws: reading an error must not fail a call. */
export function safeGet(error: unknown, name: string): unknown {
	try {
		return Object(error)[name]
	} catch {
		return undefined
	}
}

/** Returns the message of a thrown value, or the value as text. `String` throws for `Object.create(null)` and for objects whose `toString` throws. */
export function safeMessage(error: unknown): string {
	try {
		return String(Object(error).message ?? error)
	} catch {
		return typeof error
	}
}
