import { expect, test } from 'vitest'
import { Process } from './process.ts'
import { world } from './world.ts'

const away = () => new Error('the database is away')

test('a database that is away for a minute costs time and nothing else', async () => {
	await using here = await world()
	await using there = new Process(here)
	await here.enqueue(20)
	const options = { leaseMs: 300_000 }
	await there.relay({ jobs: { deliver: here.sends(() => there.pause(500)), concurrency: 4 } }, options)
	await here.clock.advance(700)
	there.fault = away
	there.calls.length = 0
	await here.clock.advance(60_000)
	// Not one call after the other: the pauses grow to some seconds.
	expect(there.calls.length).toBeLessThan(150)
	there.fault = undefined
	await here.clock.advance(15_000)
	expect(await here.outbox.list()).toEqual([])
	expect(
		here
			.payloads()
			.map(Number)
			.toSorted((a, b) => a - b),
	).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
	const failed = there.eventsOf('store_failure')
	expect(failed.length).toBeGreaterThan(5)
	expect(failed[0]).toMatchObject({ errorMessage: 'the database is away' })
	expect(there.eventsOf('store_recovered').map(({ operation }) => operation)).toContain('settle')
	expect(there.eventsOf('sent')).toHaveLength(20)
})

test('what is enqueued while a relay can not reach its database is sent when it can', async () => {
	await using here = await world()
	await using there = new Process(here)
	await there.relay({ jobs: here.sends() })
	there.fault = away
	await here.clock.advance(30_000)
	await here.enqueue(10)
	await here.clock.advance(30_000)
	expect(here.sendings).toEqual([])
	there.fault = undefined
	await here.clock.advance(6_000)
	expect(here.sendings).toHaveLength(10)
})

test('a relay that can not reach its database does not start, and leaves nothing behind', async () => {
	await using here = await world()
	const there = new Process(here)
	const relay = there.make({ jobs: here.sends() })
	for (const method of ['schemaVersion', 'listen', 'heartbeat'] as const) {
		there.fault = (name) => (name === method ? away() : undefined)
		await expect(relay.start()).rejects.toThrow('away')
		expect(here.clock.pendingTimers).toBe(0)
	}
	there.fault = undefined
	await relay.start()
	await here.enqueue(1)
	await here.clock.advance(1_500)
	expect(here.sendings).toHaveLength(1)
	const stopped = relay.stop()
	await here.clock.advance(100)
	await stopped
})

const METHODS = [
	...['claim', 'settle', 'renew', 'nextDueInMs', 'dueDestinations', 'circuits', 'changeCircuit', 'pause'],
	...['acquireTokens', 'returnTokens', 'acquirePermits', 'heartbeat', 'removeRelay'],
]

/** A bit of everything, with one call of the database that fails. Answers whether that call was ever made. */
async function oneFault(method: string, nth: number): Promise<boolean> {
	await using here = await world()
	await using there = new Process(here)
	let hasFailed = false
	const plan = [
		Object.assign(new Error('busy'), { status: 429, retryAfterMs: 500 }),
		new Error('a'),
		new Error('b'),
	]
	const flaky = here.sends(async () => {
		await here.pause(300)
		const error = plan.shift()
		if (error) throw error
	})
	const retry = { baseDelayMs: 500, jitterStrategy: 'none', maxRetries: 50 } as const
	const breaker = { failureThreshold: 2, resetTimeoutMs: 500 }
	const relay = there.make(
		{
			flaky: { deliver: flaky, breaker, concurrency: 2 },
			paced: { deliver: here.sends(), rate: { limit: 5, intervalMs: 500 } },
			shared: { deliver: here.sends(() => here.pause(700)), maxConcurrent: 2 },
			ordered: { deliver: here.sends(), order: true },
			'*': here.sends(),
		},
		{ retry, leaseMs: 1_500, pollMs: 300, rampUpMs: 0 },
	)
	there.fault = (name, call) => {
		if (name !== method || call !== nth) return undefined
		hasFailed = true
		return away()
	}
	await relay.start().catch(() => relay.start())
	for (const topic of ['flaky', 'paced', 'shared', 'wild']) await here.enqueue(4, { topic })
	await here.enqueue(4, { topic: 'ordered', key: 'k' })
	await here.clock.advance(25_000)
	expect(await here.outbox.list()).toEqual([])
	expect(new Set(here.sendings.map(({ id }) => id)).size).toBe(20)
	const ordered = here.sendings.filter(({ payload }) => Number(payload) > 16).map(({ payload }) => payload)
	expect(ordered).toEqual([17, 18, 19, 20])
	const stopped = relay.stop({ timeoutMs: 1_000 })
	await here.clock.advance(4_000)
	await stopped
	return hasFailed
}

test.each(METHODS)('everything is delivered when one call fails, whichever it is: %s', async (method) => {
	let reached = 0
	for (const nth of [1, 2, 3, 4, 6, 9]) if (await oneFault(method, nth)) reached++
	expect(reached).toBeGreaterThan(0)
})
