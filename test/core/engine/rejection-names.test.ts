import { describe, expect, it, vi } from 'vitest'
import {
	adaptiveThrottle,
	bulkhead,
	circuitBreaker,
	Deadline,
	keyed,
	type Policy,
	pipeline,
	rateLimiter,
	retry,
	timeout,
} from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'

const never = () => new Promise<never>(() => {})
const fail = () => Promise.reject(new Error('down'))

interface Case {
	readonly policy: Policy
	/** What follows the names in the message. */
	readonly why: string
	/** Brings the policy into a state in which it rejects the next call. */
	prepare?(policy: Policy, clock: VirtualRuntime): Promise<unknown> | undefined
	readonly call?: (policy: Policy, clock: VirtualRuntime) => Promise<unknown>
}

const run = async (policy: Policy) => (await policy.settle(() => 1)) as { error?: unknown }

const CASES: Readonly<Record<string, () => Case>> = {
	circuitBreaker: () => ({
		policy: circuitBreaker({ failureThreshold: 1 }),
		why: 'circuit is open, retry in 30 s',
		prepare: (policy) => policy.settle(fail),
	}),
	bulkhead: () => ({
		policy: bulkhead({ maxConcurrent: 1, maxQueue: 0 }),
		why: 'bulkhead full (maxConcurrent 1, maxQueue 0)',
		prepare: (policy) => void policy.execute(never),
	}),
	rateLimiter: () => ({
		policy: rateLimiter({ limit: 1, intervalMs: 1_500, maxWaitMs: 0 }),
		why: 'rate limit reached, retry in 1.5 s',
		prepare: (policy) => policy.settle(() => 1),
	}),
	timeout: () => ({
		policy: timeout(20),
		why: 'no result within 20 ms',
		async call(policy, clock) {
			const result = policy.settle(never)
			await clock.advance(20)
			return result
		},
	}),
}

async function rejection(name: string, compose: (policy: Policy, clock: VirtualRuntime) => Policy) {
	const clock = virtualRuntime()
	const { policy: leaf, prepare, call = run, why } = (CASES[name] as () => Case)()
	const policy = compose(leaf, clock)
	await prepare?.(policy, clock)
	return { result: await call(policy, clock), why }
}

describe.each(Object.keys(CASES))('the error of %s', (name) => {
	it('names the pipeline and the policy in its fields and at the start of its message', async () => {
		const { result, why } = await rejection(name, (policy, runtime) =>
			pipeline({ name: 'payments', runtime }, retry({ maxRetries: 0 }), policy),
		)
		expect(result).toMatchObject({
			ok: false,
			error: { policy: name, pipeline: 'payments', message: `payments/${name}: ${why}` },
		})
	})

	it('names only the policy if the pipeline has no name', async () => {
		const { result, why } = await rejection(name, (policy, runtime) => pipeline({ runtime }, policy))
		expect(result).toMatchObject({
			error: { policy: name, pipeline: undefined, message: `${name}: ${why}` },
		})
	})
})

describe('the names in an error', () => {
	it('are the same whether the policy is the outermost or not', async () => {
		const breaker = circuitBreaker()
		breaker.isolate()
		const message = 'payments/circuitBreaker: circuit is isolated until it is released'
		for (const policy of [
			pipeline({ name: 'payments' }, breaker),
			pipeline({ name: 'payments' }, retry(), breaker),
		])
			expect(await policy.settle(() => 1)).toMatchObject({ error: { message, pipeline: 'payments' } })
	})

	it('do not repeat the name of a policy that is used alone', async () => {
		const breaker = circuitBreaker({ name: 'payments' })
		breaker.isolate()
		await expect(breaker.execute(() => 1)).rejects.toMatchObject({
			policy: 'payments',
			pipeline: undefined,
			message: 'payments: circuit is isolated until it is released',
		})
	})

	it('are those of the outer pipeline for a policy in keyed', async () => {
		const clock = virtualRuntime()
		const perHost = keyed(
			() => 'a',
			() => circuitBreaker({ failureThreshold: 1 }),
		)
		const policy = pipeline({ name: 'search', runtime: clock }, perHost)
		await policy.settle(fail)
		expect(await policy.settle(() => 1)).toMatchObject({
			error: { policy: 'circuitBreaker', pipeline: 'search' },
		})
	})

	it('are those of the throttle that rejects a call at random', async () => {
		const clock = virtualRuntime()
		vi.spyOn(clock, 'random').mockReturnValue(0)
		const policy = pipeline({ name: 'search', runtime: clock }, adaptiveThrottle())
		for (let i = 0; i < 10; i++) await policy.settle(fail)
		expect(await policy.settle(() => 1)).toMatchObject({
			error: { code: 'YAOKI_RATE_LIMITED', policy: 'adaptiveThrottle', pipeline: 'search' },
		})
	})

	it('are those of the bulkhead whose queue takes longer than the deadline allows', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ name: 'orders', runtime: clock }, bulkhead({ name: 'db', maxConcurrent: 1 }))
		const within = (ms: number) => ({ deadline: Deadline.after(ms, { runtime: clock }) })
		// From this call the bulkhead learns how long a slot is held.
		const first = policy.execute(
			() => new Promise<void>((resolve) => clock.setTimer(100, resolve)),
			within(500),
		)
		await clock.advance(100)
		await first
		void policy.execute(never)
		expect(await policy.settle(() => 1, within(10))).toMatchObject({
			error: {
				policy: 'db',
				pipeline: 'orders',
				message: 'orders/db: queueing takes about 20 ms, longer than the deadline allows',
			},
		})
	})
})
