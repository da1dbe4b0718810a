import { safeMessage } from '../../core/classify/safe-get.ts'

/** Errors of some kinds contain a value that is never the same. */
const MAX_MESSAGES = 10

/** Finds error messages that were not printed before. */
export class NewMessages {
	readonly #printed = new Set<string>()

	/** Returns the message of an error; undefined if it was returned before, or too many were. */
	find(error: unknown): string | undefined {
		const message = safeMessage(error)
		if (this.#printed.has(message) || this.#printed.size >= MAX_MESSAGES) return undefined
		this.#printed.add(message)
		return message
	}
}
