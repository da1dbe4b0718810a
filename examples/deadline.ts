/** The caller waits 30 ms. The retry knows the deadline and stops before a delay that would pass it. */
import { Deadline, explain, HttpError, retry } from 'yaoki'

const policy = retry({ name: 'quotes', maxRetries: 5, baseDelayMs: 10, jitterStrategy: 'none' })

let attempts = 0

const result = await policy.settle(
	async ({ signal, deadline }) => {
		attempts++
		// Pass both on: `fetch(url, { signal })`, or `deadline.child()` for a call further down.
		console.log(
			`attempt ${attempts}: ${signal.aborted ? 'too late' : 'in time'}, deadline known: ${deadline !== undefined}`,
		)
		throw new HttpError(503)
	},
	{ deadline: Deadline.after(30) },
)

// The delay after attempt 1 is 10 ms. The next would be 20 ms and end after the deadline, so the retry stops.
console.log(`${attempts} attempts, stopped: ${explain(result)?.stop}`)
