/** The usual four policies through an outage of half a minute, in virtual time: what each of them does, and when. */
import { bulkhead, circuitBreaker, HttpError, pipeline, presets, retry, timeout } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

const SECOND = 1_000
const clock = virtualRuntime({ seed: 7 })
const at = (ms: number) => `${String(Math.round(ms / SECOND)).padStart(3)} s`

const breaker = circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 15 * SECOND })
const payments = pipeline(
	{ name: 'payments', runtime: clock },
	bulkhead({ maxConcurrent: 10, maxQueue: 20 }),
	breaker,
	retry(presets.interactive),
	timeout(SECOND),
)

/** Responds in 50 ms. From 10 s to 40 s it fails: first it hangs, as an overloaded service does, then it refuses connections. */
let requests = 0
function charge(signal: AbortSignal): Promise<string> {
	requests++
	const now = clock.now()
	if (now >= 30 * SECOND && now < 40 * SECOND) return Promise.reject(new HttpError(503))
	return new Promise((resolve, reject) => {
		signal.addEventListener('abort', () => reject(signal.reason))
		if (now < 10 * SECOND || now >= 40 * SECOND) clock.setTimer(50, () => resolve('receipt'))
	})
}

/** What happened in ten seconds. */
const newStretch = () => ({ calls: 0, answered: 0, failed: 0, rejected: 0 })
let stretch = newStretch()

breaker.subscribe((event) => {
	if (event.type === 'state_change') console.log(`${at(clock.now())}  the circuit is ${event.to}`)
})
payments.subscribe(({ type }) => {
	if (type === 'rejected') stretch.rejected++
})

async function call(): Promise<void> {
	stretch.calls++
	const { ok } = await payments.settle(({ signal }) => charge(signal))
	if (ok) stretch.answered++
	else stretch.failed++
}

// Two customers a second, for a minute.
for (let ms = 0; ms < 60 * SECOND; ms += 500) {
	void call()
	await clock.advance(500)
	if ((ms + 500) % (10 * SECOND) === 0) {
		const { calls, answered, failed, rejected } = stretch
		console.log(
			`${at(clock.now())}  ${calls} calls: ${answered} answered, ${failed} failed, ${rejected} of them rejected immediately; ${requests} requests`,
		)
		stretch = newStretch()
		requests = 0
	}
}
