/** The other policies, alone and combined. */
import {
	bulkhead,
	circuitBreaker,
	fallback,
	hedge,
	keyed,
	pipeline,
	rateLimiter,
	retry,
	retryBudget,
	timeout,
} from 'yaoki'
import { errorOf, fail, once, SHORT, SKIPPED, same } from './checks.js'

export const tests = {
	async 'a timeout settles the call and aborts the operation'() {
		let heard
		const error = await errorOf(
			timeout(5).execute(({ signal }) => {
				heard = once(signal, 'abort')
				return new Promise(() => {})
			}),
		)
		same(error.name, 'TimeoutError')
		await heard
	},

	async 'four combined policies survive an outage and recover'() {
		// Longer than the probe takes on a slow machine: a result after that time would belong to an earlier probe.
		const resetTimeoutMs = 1_000
		const breaker = circuitBreaker({ failureThreshold: 2, successThreshold: 1, resetTimeoutMs })
		const stack = pipeline(
			bulkhead({ maxConcurrent: 2 }),
			breaker,
			retry({ ...SHORT, maxRetries: 1 }),
			timeout(5_000),
		)
		for (let i = 0; i < 2; i++) await errorOf(stack.execute(() => fail('ECONNREFUSED')))
		same(breaker.currentState, 'open')
		same((await errorOf(stack.execute(() => 1))).name, 'CircuitOpenError')
		await new Promise((resolve) => setTimeout(resolve, resetTimeoutMs + 10))
		same(await stack.execute(() => 'back'), 'back')
		same(breaker.currentState, 'closed')
	},

	async 'a bulkhead admits queued calls in order'() {
		const policy = bulkhead({ maxConcurrent: 2 })
		let [running, most] = [0, 0]
		const work = async () => {
			most = Math.max(most, ++running)
			await new Promise((resolve) => setTimeout(resolve, 2))
			running--
		}
		await Promise.all(Array.from({ length: 10 }, () => policy.execute(work)))
		same(most, 2)
		same(policy.stats.queued, 0)
	},

	async 'a hedge settles a call whose first request hangs'() {
		const policy = hedge({ delayMs: 3, budget: retryBudget() })
		let calls = 0
		same(await policy.execute(() => (++calls === 1 ? new Promise(() => {}) : 'second')), 'second')
	},

	async 'a fallback, a rate limit and a keyed policy'() {
		same(await fallback(() => 'instead').execute(() => fail('EPIPE')), 'instead')
		const limited = keyed(
			({ key }) => key ?? '',
			() => rateLimiter({ limit: 1, intervalMs: 60_000 }),
		)
		same(await limited.execute(() => 1, { key: 'a' }), 1)
		same((await errorOf(limited.execute(() => 1, { key: 'a' }))).name, 'RateLimitedError')
		same(await limited.execute(() => 1, { key: 'b' }), 1)
	},

	async 'nested retries with ambient context do not multiply'({ withAmbientContext }) {
		if (!withAmbientContext) return SKIPPED
		const policy = withAmbientContext(retry({ ...SHORT, maxRetries: 2 }))
		let calls = 0
		const down = () => {
			calls++
			fail('ECONNREFUSED')
		}
		await errorOf(policy.execute(() => policy.execute(down)))
		same(calls, 3)
	},

	async 'keeps the async context of the caller after a timeout and a queue'({ AsyncLocalStorage }) {
		if (!AsyncLocalStorage) return SKIPPED
		const storage = new AsyncLocalStorage()
		const policy = pipeline(bulkhead({ maxConcurrent: 1 }), retry({ ...SHORT, maxRetries: 1 }), timeout(5))
		const seen = []
		const work = ({ attempt, signal }) => {
			seen.push(`${storage.getStore()}${attempt}`)
			return attempt === 0 ? once(signal, 'abort') : undefined
		}
		await Promise.all(['a', 'b'].map((who) => storage.run(who, () => policy.execute(work))))
		same(seen.join(), 'a0,a1,b0,b1')
	},
}
