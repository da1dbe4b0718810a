/** Bulkhead, breaker, retry and timeout during an outage of half a minute, in virtual time. */
import { bulkhead, circuitBreaker, HttpError, pipeline, presets, retry, timeout } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

const SECOND = 1_000
const clock = virtualRuntime({ seed: 7 })
const formatTime = (ms: number) => `${String(Math.round(ms / SECOND)).padStart(3)} s`

const breaker = circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 15 * SECOND })
const payments = pipeline(
	{ name: 'payments', runtime: clock },
	bulkhead({ maxConcurrent: 10, maxQueue: 20 }),
	breaker,
	retry(presets.interactive),
	timeout(SECOND),
)

/** Responds in 50 ms. From 10 s to 30 s it hangs, like an overloaded service; from 30 s to 40 s it returns 503. */
let requests = 0
function loadInvoice(signal: AbortSignal): Promise<string> {
	requests++
	const now = clock.now()
	if (now >= 30 * SECOND && now < 40 * SECOND) return Promise.reject(new HttpError(503))
	return new Promise((resolve, reject) => {
		signal.addEventListener('abort', () => reject(signal.reason))
		if (now < 10 * SECOND || now >= 40 * SECOND) clock.setTimer(50, () => resolve('invoice'))
	})
}

/** The counts of ten seconds. */
const createCounts = () => ({ calls: 0, succeeded: 0, failed: 0, rejected: 0 })
let counts = createCounts()

breaker.subscribe((event) => {
	if (event.type === 'state_change') console.log(`${formatTime(clock.now())}  circuit ${event.to}`)
})
payments.subscribe(({ type }) => {
	if (type === 'rejected') counts.rejected++
})

async function call(): Promise<void> {
	counts.calls++
	const { ok } = await payments.settle(({ signal }) => loadInvoice(signal))
	if (ok) counts.succeeded++
	else counts.failed++
}

// Two calls per second, for a minute.
for (let ms = 0; ms < 60 * SECOND; ms += 500) {
	void call()
	await clock.advance(500)
	if ((ms + 500) % (10 * SECOND) === 0) {
		const { calls, succeeded, failed, rejected } = counts
		console.log(
			`${formatTime(clock.now())}  ${calls} calls: ${succeeded} succeeded, ${failed} failed (${rejected} rejected); ${requests} requests`,
		)
		counts = createCounts()
		requests = 0
	}
}
