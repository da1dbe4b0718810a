/** V8 finds the callers of an error along a chain of promises. `npm run runtimes` checks the same on every version of Node. */
import { describe, expect, it } from 'vitest'
import { bulkhead, circuitBreaker, hedge, keyed, type Policy, pipeline, retry, timeout } from 'yaoki'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

async function failLater(): Promise<never> {
	await nextTurn()
	throw new Error('down')
}

async function failSoon(): Promise<never> {
	await undefined
	throw new Error('down')
}

/** Only an async function with `await` is in the stack of an error that is created later. */
async function theCaller(policy: Policy, fn: () => unknown): Promise<void> {
	await policy.execute(async () => {
		await fn()
	})
}

async function stackOf(policy: Policy, fn: () => unknown = failLater): Promise<string> {
	const error = await theCaller(policy, fn).catch((error) => error)
	return String(error.stack)
}

const FAST = { baseDelayMs: 0, jitterStrategy: 'none' } as const

describe('the stack of an error contains the callers', () => {
	it.each<[string, () => Policy]>([
		['a retry', () => retry({ maxRetries: 0 })],
		['a timeout', () => timeout(60_000)],
		['a hedge', () => hedge({ delayMs: 60_000 })],
		[
			'keyed policies',
			() =>
				keyed(
					() => 'a',
					() => timeout(60_000),
				),
		],
		[
			'a pipeline of four, at its second attempt',
			() => pipeline(bulkhead(), circuitBreaker(), retry({ ...FAST, maxRetries: 1 }), timeout(60_000)),
		],
		[
			'a pipeline with a timeout, at its twelfth attempt',
			() => pipeline(retry({ ...FAST, maxRetries: 11 }), timeout(60_000)),
		],
	])('an operation under %s has the callers in its stack', async (_, create) => {
		expect(await stackOf(create())).toMatch(
			/at failLater[\s\S]*at (async )?theCaller[\s\S]*at (async )?stackOf/,
		)
	})

	// The promise of such an attempt was linked to those of the callers a microtask too late.
	it.each<[string, () => Policy]>([
		['a retry', () => retry({ ...FAST, maxRetries: 1 })],
		['a retry, at its fifth attempt', () => retry({ ...FAST, maxRetries: 4 })],
		['a pipeline with a timeout', () => pipeline(retry({ ...FAST, maxRetries: 1 }), timeout(60_000))],
		[
			'a pipeline with a hedge',
			() => pipeline(retry({ ...FAST, maxRetries: 1 }), hedge({ delayMs: 60_000 })),
		],
		[
			'keyed policies',
			() =>
				keyed(
					() => 'a',
					() => pipeline(retry({ ...FAST, maxRetries: 1 }), timeout(60_000)),
				),
		],
	])('of a retried operation that fails within microtasks, under %s', async (_, create) => {
		expect(await stackOf(create(), failSoon)).toMatch(
			/at failSoon[\s\S]*at (async )?theCaller[\s\S]*at (async )?stackOf/,
		)
	})

	it('an attempt after one that timed out has the callers in its stack', async () => {
		let attempts = 0
		const policy = pipeline(retry({ ...FAST, maxRetries: 1 }), timeout(1))
		const fn = () => (attempts++ === 0 ? new Promise(() => {}) : failLater())
		expect(await stackOf(policy, fn)).toMatch(
			/at failLater[\s\S]*at (async )?theCaller[\s\S]*at (async )?stackOf/,
		)
		expect(attempts).toBe(2)
	})

	it.each<[string, () => Policy]>([
		['of an attempt', () => timeout(1)],
		[
			'of a retry, in a wait',
			() => pipeline(timeout(5), retry({ baseDelayMs: 20_000, jitterStrategy: 'none' })),
		],
	])('the TimeoutError %s has the callers in its stack', async (name, create) => {
		const stack = await stackOf(create(), name === 'of an attempt' ? () => new Promise(() => {}) : failLater)
		expect(stack).toMatch(/^TimeoutError: [\s\S]*at (async )?theCaller[\s\S]*at (async )?stackOf/)
	})
})
