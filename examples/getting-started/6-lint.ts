import { circuitBreaker, lint, pipeline, presets, retry, timeout } from 'yaoki'

export const users = pipeline(
	{ name: 'users' },
	circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 2_000, resetBackoff: {} }),
	retry(presets.interactive),
	timeout(1_000),
)

// The caller of this program waits three seconds.
console.log(String(lint(users, { deadlineMs: 3_000 })))

export const faster = pipeline(
	{ name: 'faster' },
	circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 2_000, resetBackoff: {} }),
	retry({ ...presets.interactive, maxRetries: 2 }),
	timeout(800),
)

console.log(String(lint(faster, { deadlineMs: 3_000 })))
