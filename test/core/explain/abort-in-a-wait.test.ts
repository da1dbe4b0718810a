import { expect, it } from 'vitest'
import { explain, HttpError, retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

// Regression: the abort was classified again and overwrote the outcome of the attempt before the wait, so a 503 became "cancelled".
it('keeps the outcome of an attempt when the caller aborts in the wait after it', async () => {
	const runtime = virtualRuntime({ seed: 1 })
	const caller = new AbortController()
	const policy = retry({ maxRetries: 3, baseDelayMs: 1_000, jitterStrategy: 'none', runtime })
	const settled = policy.settle(
		() => {
			throw new HttpError(503)
		},
		{ signal: caller.signal },
	)
	await Promise.resolve()
	caller.abort(new Error('gone'))
	const explanation = explain(await settled)
	expect(explanation?.stop).toBe('abort')
	expect(explanation?.attempts).toMatchObject([{ outcome: 'throttled', delayMs: 1_000 }])
})
