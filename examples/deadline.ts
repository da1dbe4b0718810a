/** Someone waits for 30 ms and no longer. The retry knows, and stops while it can still say why. */
import { Deadline, explain, HttpError, retry } from 'yaoki'

const policy = retry({ name: 'quotes', maxRetries: 5, baseDelayMs: 10, jitterStrategy: 'none' })

let calls = 0

const result = await policy.settle(
	async ({ signal, deadline }) => {
		calls++
		// Both go down to whoever works for you: `fetch(url, { signal })`, or `deadline.child()` for a call further on.
		console.log(
			`call ${calls}: ${signal.aborted ? 'too late' : 'in time'}, deadline known: ${deadline !== undefined}`,
		)
		throw new HttpError(503)
	},
	{ deadline: Deadline.after(30) },
)

// The wait after call 1 was 10 ms. The next would be 20 ms and end past the deadline, so it was not begun.
console.log(`${calls} calls, ended by ${explain(result)?.stop}`)
