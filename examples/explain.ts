/** The thrown error is your own, unchanged. `explain` returns what happened before it was thrown. */
import { explain, HttpError, retryWithBackoff } from 'yaoki'

const errors = [new HttpError(503), new HttpError(429, undefined, { retryAfterMs: 2 }), new HttpError(404)]

try {
	await retryWithBackoff(
		({ attempt }) => {
			throw errors[attempt]
		},
		{ name: 'load invoice', baseDelayMs: 1, maxRetries: 5 },
	)
} catch (error) {
	console.log(`thrown: ${error}`)
	// For a log:
	console.log(String(explain(error)))
	// For a program:
	console.log(explain(error)?.attempts.map(({ outcome, delaySource }) => [outcome, delaySource]))
}
