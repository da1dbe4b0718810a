/** A property of anything that was thrown. A hostile error's getter may throw, and must not end more than it has. */
export function safeGet(error: unknown, name: string): unknown {
	try {
		return Object(error)[name]
	} catch {
		return undefined
	}
}
