import { expect, it } from 'vitest'
import { explain, HttpError, retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

// An adapter's test saw a 503 told as "cancelled": on its way out the abort was judged again and written over the attempt before the wait.
it('still tells how an attempt ended when the caller aborts in the wait after it', async () => {
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
	const told = explain(await settled)
	expect(told?.stop).toBe('abort')
	expect(told?.attempts).toMatchObject([{ outcome: 'throttled', delayMs: 1_000 }])
})
