import { safeMessage } from '../classify/safe-get.ts'

/** Errors of some kinds contain a value that is never the same. */
const MAX_MESSAGES = 10

/** Returns a function that passes the message of an error to `print`, unless it was printed before. */
export function printOnce(print: (message: string) => void): (error: unknown) => void {
	const printed = new Set<string>()
	return (error) => {
		const message = safeMessage(error)
		if (printed.has(message) || printed.size >= MAX_MESSAGES) return
		printed.add(message)
		print(message)
	}
}
