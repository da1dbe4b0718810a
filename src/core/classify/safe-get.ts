/** Returns a property of a thrown value, or undefined if its getter throws: reading an error must not fail a call. */
export function safeGet(error: unknown, name: string): unknown {
	try {
		return Object(error)[name]
	} catch {
		return undefined
	}
}
