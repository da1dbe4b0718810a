/**
 * The built package, on whatever runs this: no test framework, no `node:` import, nothing that a browser lacks. Waits are
 * real and short, for here it is the runtime's own timers, signals and network errors that are asked.
 *
 * `surroundings`: `deadUrl` where nobody listens, `faultyUrl` whose server holds its answer back (`/hang`), breaks the
 * connection off (`/reset`) or in the middle of the body (`/cut`); `AsyncLocalStorage`, and `ambient` of `yaoki/node`,
 * where there is one.
 */
import {
	bulkhead,
	circuitBreaker,
	classify,
	Deadline,
	explain,
	fallback,
	HttpError,
	hedge,
	isRetryableNetworkError,
	keyed,
	permanent,
	pipeline,
	rateLimiter,
	retry,
	retryBudget,
	retryWithBackoff,
	timeout,
} from 'yaoki'
import { runStudy, scenarios, simulate, svgOf } from 'yaoki/sim'
import { faults, virtualRuntime, withoutWaiting } from 'yaoki/testing'

const SHORT = { baseDelayMs: 3, jitterStrategy: 'none', growth: 'constant' }
const A_MINUTE = { ...SHORT, baseDelayMs: 60_000, maxDelayMs: 60_000 }

/** Something of everything that draws: all laws, jitter, a breaker by rate, an outage, errors. */
const SIMULATED = {
	seed: 'everywhere',
	duration: 60_000,
	services: {
		api: {
			workers: 4,
			serviceTime: { kind: 'lognormal', medianMs: 20, p99Ms: 200 },
			latency: { kind: 'normal', meanMs: 5, sdMs: 1 },
			faults: [
				{ kind: 'outage', fromMs: 10_000, toMs: 20_000 },
				{ kind: 'errors', rate: 0.2, fromMs: 30_000, toMs: 40_000 },
			],
		},
	},
	clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 80 }, policy: 'four' } },
	policies: {
		four: [
			{ bulkhead: { maxConcurrent: 50 } },
			{ circuitBreaker: { errorRateThreshold: 0.5, resetTimeoutMs: 1_000 } },
			{ retry: { maxRetries: 3, baseDelayMs: 50 } },
			{ timeout: 500 },
		],
	},
}

/** What it comes to, of every event and every bit. */
const TRACE = '925737e73f348999'

const tests = {
	'a simulation is the same everywhere, to the last bit'() {
		const { traceHash, totals, recovery } = simulate(SIMULATED)
		same([totals.goodShare, totals.amplification].map((value) => value.toFixed(3)).join(' '), '0.827 0.896')
		same(Math.round(recovery.recoveredAfterMs), 59)
		same(traceHash, TRACE)
	},

	async 'a study is drawn'() {
		const study = await scenarios.layered()
		isTrue(svgOf(runStudy(study, { replications: 1 })).startsWith('<svg'), 'no picture')
	},

	async 'a call that fails twice is made a third time, after real waits'() {
		const from = performance.now()
		const answer = await retryWithBackoff(
			({ attempt }) => (attempt < 2 ? fail('ECONNRESET') : attempt),
			SHORT,
		)
		same(answer, 2)
		// Timers may come a millisecond early by another clock's rounding.
		isTrue(performance.now() - from >= 4, 'it did not wait')
	},

	async 'a call that keeps failing throws its own error'() {
		const error = await errorOf(retryWithBackoff(() => fail('EPIPE'), { ...SHORT, maxRetries: 1 }))
		same(error.code, 'EPIPE')
		same(explain(error).attempts.length, 2)
		same(explain(error).stop, 'retries-used-up')
	},

	async 'what is permanent is not tried again'() {
		let calls = 0
		const work = () => {
			calls++
			throw permanent(new Error('sold out'))
		}
		await errorOf(retryWithBackoff(work, SHORT))
		same(calls, 1)
	},

	async 'an abort ends a wait at once, with its reason'() {
		const controller = new AbortController()
		const reason = new Error('never mind')
		const { signal } = controller
		const onRetry = () => setTimeout(() => controller.abort(reason), 3)
		const error = await errorOf(retryWithBackoff(() => fail('EPIPE'), { ...A_MINUTE, signal, onRetry }))
		same(error, reason)
		same(explain(error).stop, 'abort')
	},

	async 'an abort without a reason is the AbortError of the runtime'() {
		const controller = new AbortController()
		const onRetry = () => controller.abort()
		const error = await errorOf(
			retryWithBackoff(() => fail('EPIPE'), { ...A_MINUTE, signal: controller.signal, onRetry }),
		)
		same(error.name, 'AbortError')
	},

	async 'a call that was aborted before it began runs nothing'() {
		let calls = 0
		const error = await errorOf(retryWithBackoff(() => calls++, { signal: AbortSignal.abort('too late') }))
		same(error, 'too late')
		same(calls, 0)
	},

	async 'the signal of the work is aborted with that of the caller'() {
		const controller = new AbortController()
		const work = ({ signal }) =>
			new Promise((_, reject) => {
				signal.addEventListener('abort', () => reject(signal.reason))
				setTimeout(() => controller.abort('enough'), 1)
			})
		const options = { signal: controller.signal, deadline: Deadline.after(60_000) }
		same(await errorOf(retry(SHORT).execute(work, options)), 'enough')
	},

	async 'a deadline aborts its signal when the time has come'() {
		const { signal } = Deadline.after(5)
		await once(signal, 'abort')
		same(signal.reason.name, 'DeadlineExceededError')
	},

	async 'a deadline ends a call that would wait past it'() {
		const error = await errorOf(
			retryWithBackoff(() => fail('EPIPE'), { ...A_MINUTE, deadline: Deadline.after(1_000) }),
		)
		same(explain(error).stop, 'deadline')
	},

	async 'settle answers and never throws, and explain tells the story'() {
		const policy = pipeline({ name: 'payments' }, retry({ ...SHORT, maxRetries: 1 }))
		const failed = await policy.settle(() => fail('EPIPE'))
		same(failed.ok, false)
		isTrue(String(explain(failed)).startsWith('payments: 2 attempts'), String(explain(failed)))
		const settled = await policy.settle(() => 7)
		same(settled.value, 7)
		same(explain(settled).stop, 'success')
	},

	async 'virtual time passes half an hour of waits in no time, and every time the same'() {
		const story = async () => {
			const clock = virtualRuntime({ seed: 7 })
			const policy = pipeline(
				{ runtime: clock },
				retry({ baseDelayMs: 1_800_000, maxDelayMs: 3_600_000, jitterStrategy: 'equal', maxRetries: 9 }),
				faults({ errorRate: 0.8, latencyMs: [10, 200], seed: 7 }),
			)
			const settled = policy.settle(() => 'an answer')
			const passed = await clock.runUntilIdle()
			return `${passed} ${explain(await settled)}`
		}
		const first = await story()
		same(await story(), first)
		isTrue(Number.parseFloat(first) > 1_800_000, first)
	},

	async 'a policy without waits makes as many attempts'() {
		let calls = 0
		const policy = withoutWaiting(retry({ ...A_MINUTE, maxRetries: 5 }))
		await errorOf(policy.execute(() => fail('EPIPE', calls++)))
		same(calls, 6)
	},

	async 'a server that is not there is a network failure worth retrying'({ deadUrl }) {
		isNetworkFailure(await errorOf(fetch(deadUrl)))
	},

	async 'so is a connection that breaks off'({ faultyUrl }) {
		isNetworkFailure(await errorOf(fetch(`${faultyUrl}/reset`)))
	},

	async 'so is an answer that breaks off in the middle'({ faultyUrl }) {
		isNetworkFailure(await errorOf(fetch(`${faultyUrl}/cut`).then((response) => response.text())))
	},

	async 'and such a call is made again'({ deadUrl, faultyUrl }) {
		const work = ({ attempt }) => fetch(attempt === 0 ? deadUrl : `${faultyUrl}/ok`)
		same(await (await retryWithBackoff(work, SHORT)).text(), 'ok')
	},

	async 'a fetch that the caller aborts ends the call'({ faultyUrl }) {
		const controller = new AbortController()
		let calls = 0
		const work = ({ signal }) => {
			calls++
			setTimeout(() => controller.abort(), 5)
			return fetch(`${faultyUrl}/hang`, { signal })
		}
		const { signal } = controller
		const error = await errorOf(retryWithBackoff(work, { ...SHORT, signal }))
		same(error.name, 'AbortError')
		same(calls, 1)
		same(classify(error, { signal }).kind, 'cancelled')
	},

	async 'a fetch that takes too long is worth another try'({ faultyUrl }) {
		const error = await errorOf(fetch(`${faultyUrl}/hang`, { signal: AbortSignal.timeout(5) }))
		same(JSON.stringify(classify(error)), '{"kind":"transient","known":true}', describe(error))
	},

	async 'statuses mean the same everywhere'() {
		const kinds = [429, 503, 500, 404].map((status) => classify(new HttpError(status)).kind)
		same(kinds.join(), 'throttled,throttled,transient,permanent')
	},

	async 'the async context after a wait is the caller’s own'({ AsyncLocalStorage }) {
		if (!AsyncLocalStorage) return SKIPPED
		const user = new AsyncLocalStorage()
		const ask = (name) =>
			user.run(name, () =>
				retryWithBackoff(({ attempt }) => (attempt < 2 ? fail('EPIPE') : user.getStore()), SHORT),
			)
		same((await Promise.all([ask('Ana'), ask('Ben'), ask('Cleo')])).join(), 'Ana,Ben,Cleo')
		return undefined
	},

	async 'a timeout answers by itself, and aborts the work'() {
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

	async 'four policies around each other survive an outage and recover'() {
		const breaker = circuitBreaker({ failureThreshold: 2, successThreshold: 1, resetTimeoutMs: 20 })
		const stack = pipeline(
			bulkhead({ maxConcurrent: 2 }),
			breaker,
			retry({ ...SHORT, maxRetries: 1 }),
			timeout(50),
		)
		for (let i = 0; i < 2; i++) await errorOf(stack.execute(() => fail('ECONNREFUSED')))
		same(breaker.currentState, 'open')
		same((await errorOf(stack.execute(() => 1))).name, 'CircuitOpenError')
		await new Promise((resolve) => setTimeout(resolve, 30))
		same(await stack.execute(() => 'back'), 'back')
		same(breaker.currentState, 'closed')
	},

	async 'a bulkhead lets so many in, and the others in their turn'() {
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

	async 'a hedge answers for a request that hangs'() {
		const policy = hedge({ delayMs: 3, budget: retryBudget() })
		let calls = 0
		same(await policy.execute(() => (++calls === 1 ? new Promise(() => {}) : 'second')), 'second')
	},

	async 'a fallback, a rate limit and one policy for each key'() {
		same(await fallback(() => 'instead').execute(() => fail('EPIPE')), 'instead')
		const limited = keyed(
			({ key }) => key ?? '',
			() => rateLimiter({ limit: 1, intervalMs: 60_000 }),
		)
		same(await limited.execute(() => 1, { key: 'a' }), 1)
		same((await errorOf(limited.execute(() => 1, { key: 'a' }))).name, 'RateLimitedError')
		same(await limited.execute(() => 1, { key: 'b' }), 1)
	},

	async 'retries that are ambient do not multiply'({ ambient }) {
		if (!ambient) return SKIPPED
		const policy = ambient(retry({ ...SHORT, maxRetries: 2 }))
		let calls = 0
		const down = () => {
			calls++
			fail('ECONNREFUSED')
		}
		await errorOf(policy.execute(() => policy.execute(down)))
		same(calls, 3)
	},

	async 'the async context after a timeout and after a queue is the caller’s own'({ AsyncLocalStorage }) {
		if (!AsyncLocalStorage) return SKIPPED
		const storage = new AsyncLocalStorage()
		const policy = pipeline(bulkhead({ maxConcurrent: 1 }), retry({ ...SHORT, maxRetries: 1 }), timeout(5))
		const seen = []
		const work = ({ attempt }) => {
			seen.push(`${storage.getStore()}${attempt}`)
			return attempt === 0 ? new Promise((resolve) => setTimeout(resolve, 8)) : undefined
		}
		await Promise.all(['a', 'b'].map((who) => storage.run(who, () => policy.execute(work))))
		same(seen.join(), 'a0,a1,b0,b1')
	},
}

const SKIPPED = Symbol('skipped')

/** Answers how many passed, and what went wrong with each that did not. */
export async function runSuite(surroundings) {
	let passed = 0
	const failed = []
	for (const [name, test] of Object.entries(tests)) {
		try {
			if ((await inTime(test(surroundings))) !== SKIPPED) passed++
		} catch (error) {
			failed.push({ name, error: describe(error) })
		}
	}
	return { passed, failed }
}

/** A test that hangs must fail by its name, and not take the whole run with it. */
function inTime(promise) {
	let timer
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error('no end after 10 s')), 10_000)
	})
	return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

function fail(code) {
	throw Object.assign(new Error(`failed with ${code}`), { code })
}

function isNetworkFailure(error) {
	isTrue(isRetryableNetworkError(error), `not known as a network failure: ${describe(error)}`)
}

/** All that classification goes by, for whoever has to teach it a new runtime. */
function describe(error) {
	const { name, code, message, cause } = Object(error)
	const because = cause === undefined ? '' : `, caused by ${describe(cause)}`
	return `${name ?? typeof error} (code ${code}): ${message ?? String(error)}${because}`
}

async function errorOf(promise) {
	try {
		await promise
	} catch (error) {
		return error
	}
	throw new Error('it did not fail')
}

const once = (target, type) =>
	new Promise((resolve) => target.addEventListener(type, resolve, { once: true }))

function same(actual, expected, about = '') {
	if (!Object.is(actual, expected))
		throw new Error(`${String(actual)} instead of ${String(expected)} ${about}`.trim())
}

function isTrue(condition, why) {
	if (!condition) throw new Error(why)
}
