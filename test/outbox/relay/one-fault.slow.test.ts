import { expect, test } from 'vitest'
import { Process } from './process.ts'
import { setup } from './setup.ts'

const away = () => new Error('the database is down')

const METHODS = [
	...[
		'claim',
		'settle',
		'renew',
		'hasClaimable',
		'nextDueInMs',
		'dueDestinations',
		'circuits',
		'changeCircuit',
		'pause',
	],
	...['acquireTokens', 'returnTokens', 'acquirePermits', 'heartbeat', 'removeRelay'],
]

/** Runs all kinds of destinations with one database call that fails. Returns whether that call was made. */
async function oneFault(method: string, nth: number): Promise<boolean> {
	await using system = await setup()
	await using there = new Process(system)
	let hasFailed = false
	const plan = [
		Object.assign(new Error('busy'), { status: 429, retryAfterMs: 500 }),
		new Error('a'),
		new Error('b'),
	]
	const flaky = system.sends(async () => {
		await system.pause(300)
		const error = plan.shift()
		if (error) throw error
	})
	const retry = { baseDelayMs: 500, jitterStrategy: 'none', maxRetries: 50 } as const
	const breaker = { failureThreshold: 2, resetTimeoutMs: 500 }
	const relay = there.make(
		{
			flaky: { deliver: flaky, circuitBreaker: breaker, maxConcurrent: 2 },
			paced: { deliver: system.sends(), rate: { limit: 5, intervalMs: 500 } },
			shared: { deliver: system.sends(() => system.pause(700)), maxConcurrentAllRelays: 2 },
			ordered: { deliver: system.sends(), order: true },
			'*': system.sends(),
		},
		{ retry, leaseMs: 1_500, pollMs: 300, rampUpMs: 0 },
	)
	there.fault = (name, call) => {
		if (name !== method || call !== nth) return undefined
		hasFailed = true
		return away()
	}
	await relay.start().catch(() => relay.start())
	for (const topic of ['flaky', 'paced', 'shared', 'wild']) await system.enqueue(4, { topic })
	await system.enqueue(4, { topic: 'ordered', key: 'k' })
	await system.clock.advance(25_000)
	expect(await system.outbox.list()).toEqual([])
	expect(new Set(system.sendings.map(({ id }) => id)).size).toBe(20)
	const ordered = system.sendings.filter(({ payload }) => Number(payload) > 16).map(({ payload }) => payload)
	expect(ordered).toEqual([17, 18, 19, 20])
	const stopped = relay.stop({ timeoutMs: 1_000 })
	await system.clock.advance(4_000)
	await stopped
	return hasFailed
}

test.each(METHODS)('delivers everything when one database call fails: %s', async (method) => {
	let reached = 0
	for (const nth of [1, 2, 3, 4, 6, 9]) if (await oneFault(method, nth)) reached++
	expect(reached).toBeGreaterThan(0)
})
