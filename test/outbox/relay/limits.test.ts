import { expect, test } from 'vitest'
import type { Budget } from 'yaoki'
import type { MessageHandler } from 'yaoki/outbox'
import { Process } from './process.ts'
import { setup, type TestSystem } from './setup.ts'

/** The maximum number in flight, in total and by destination. */
function gauge(system: TestSystem, ms: number | (() => number)) {
	const counts: Record<string, number> = {}
	const most: Record<string, number> = {}
	const count = (name: string, by: number) => {
		counts[name] = (counts[name] ?? 0) + by
		most[name] = Math.max(most[name] ?? 0, counts[name])
	}
	const deliver = system.sends(async ({ destination }) => {
		for (const name of ['all', destination]) count(name, 1)
		await system.pause(typeof ms === 'number' ? ms : ms())
		for (const name of ['all', destination]) count(name, -1)
	})
	return { most, deliver }
}

test('limits messages in flight to the concurrency of the destination or the relay', async () => {
	await using system = await setup()
	for (const topic of ['a', 'b']) await system.enqueue(50, { topic })
	const { most, deliver } = gauge(system, 100)
	await system.relay({ a: deliver, b: { deliver, maxConcurrent: 3 } }, { maxConcurrent: 7 })
	await system.clock.advance(5_000)
	expect(most).toMatchObject({ a: 7, b: 3 })
	expect(system.sendings).toHaveLength(100)
})

test('shares maxConcurrentTotal among destinations, however long the queue of another one is', async () => {
	await using system = await setup()
	await system.enqueue(500, { topic: 'greedy' })
	await system.enqueue(10, { topic: 'modest' })
	const { most, deliver } = gauge(system, 100)
	await system.relay({ greedy: deliver, modest: deliver }, { maxConcurrentTotal: 4, maxConcurrent: 4 })
	await system.clock.advance(1_000)
	expect(most['all']).toBe(4)
	const destinations = system.tx
		.prepare(`SELECT count(*) AS n FROM yaoki_outbox WHERE destination = 'modest'`)
		.all()
	expect(destinations).toEqual([{ n: 0 }])
})

test('batchSize limits one claim', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(100)
	const { claim } = system.store
	let greatest = 0
	system.store.claim = (request) => {
		for (const { limit } of request.targets) greatest = Math.max(greatest, limit)
		return claim.call(system.store, request)
	}
	const relay = await there.relay({ jobs: () => system.pause(50) }, { batchSize: 5, maxConcurrent: 2 })
	let most = 0
	for (let n = 0; n < 50; n++) {
		await system.clock.advance(20)
		most = Math.max(most, relay.stats.queued)
	}
	expect(greatest).toBe(5)
	// One batch that is being sent, and one claimed meanwhile.
	expect(most).toBeGreaterThan(0)
	expect(most).toBeLessThanOrEqual(10)
})

test('rate limits all relays together in every interval', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(120)
	const rate = { limit: 10, intervalMs: 1_000, burst: 5 }
	await system.relay({ jobs: { deliver: system.sends(), rate } })
	await there.relay({ jobs: { deliver: system.sends(), rate } })
	await system.clock.advance(20_000)
	expect(system.sendings).toHaveLength(120)
	const times = system.sendings.map(({ at }) => at)
	for (const from of times) {
		const inInterval = times.filter((at) => at >= from && at < from + 1_000).length
		expect(inInterval).toBeLessThanOrEqual(rate.limit + rate.burst)
	}
	expect(Math.max(...times)).toBeLessThan(13_000)
})

test('rate limits ordered destinations too', async () => {
	// Regression: messages of free keys were claimed without tokens.
	await using system = await setup()
	for (let key = 0; key < 10; key++) await system.enqueue(6, { key: `k${key}` })
	const rate = { limit: 10, intervalMs: 1_000, burst: 10 }
	await system.relay({ jobs: { deliver: system.sends(), rate, order: true } })
	await system.clock.advance(20_000)
	expect(system.sendings).toHaveLength(60)
	const times = system.sendings.map(({ at }) => at)
	for (const from of times)
		expect(times.filter((at) => at >= from && at < from + 1_000).length).toBeLessThanOrEqual(20)
	expect(Math.max(...times)).toBeGreaterThan(4_500)
})

test('three relays never exceed maxConcurrentAllRelays, while shares change and when one is killed', async () => {
	await using system = await setup()
	await system.enqueue(600)
	const { most, deliver } = gauge(system, () => 50 + 400 * system.clock.random())
	const options = { leaseMs: 3_000, maxConcurrent: 10 }
	const destinations = { jobs: { deliver, maxConcurrentAllRelays: 6 } }
	await using first = new Process(system)
	await first.relay(destinations, options)
	await system.clock.advance(2_000)
	expect(most['all']).toBe(6)
	const second = new Process(system)
	await second.relay(destinations, options)
	await system.clock.advance(3_000)
	await using third = new Process(system)
	await third.relay(destinations, options)
	await system.clock.advance(3_000)
	second.kill()
	await system.clock.advance(60_000)
	expect(most['all']).toBe(6)
	expect(await system.outbox.list()).toEqual([])
})

test('permits are renewed, and messages that start meanwhile are counted', async () => {
	// Regression: a relay used its old permits while it requested new ones, and the others got them too.
	await using system = await setup()
	const { most, deliver } = gauge(system, 5_000)
	const options = { leaseMs: 3_000, maxConcurrent: 10, pollMs: 100 }
	const destinations = { jobs: { deliver, maxConcurrentAllRelays: 10 } }
	await using first = new Process(system)
	await first.relay(destinations, options)
	await system.clock.advance(500)
	await using second = new Process(system)
	await second.relay(destinations, options)
	first.delay = (method) => (method === 'acquirePermits' ? 300 : 0)
	// The first relay is renewing, and gets half of the permits in a moment.
	await system.clock.advance(600)
	expect(first.calls.filter((method) => !method.startsWith('drop')).at(-1)).toBe('acquirePermits')
	await system.enqueue(30)
	first.outbox.wake()
	second.outbox.wake()
	await system.clock.advance(120_000)
	expect(most['all']).toBeLessThanOrEqual(10)
	expect(await system.outbox.list()).toEqual([])
})

test('a destination found by the wildcard gets permits immediately', async () => {
	// Regression: it waited for the next heartbeat, and again whenever its queue had been empty.
	await using system = await setup()
	await system.relay({ '*': { deliver: system.sends(), maxConcurrentAllRelays: 2 } })
	await system.clock.advance(500)
	await system.enqueue(3, { topic: 'surprise' })
	await system.clock.advance(100)
	expect(system.sendings).toHaveLength(3)
})

test('an exhausted budget postpones retries and drops none', async () => {
	await using system = await setup()
	let allowed = 0
	let retried = 0
	const budget: Budget = {
		recordRequest: () => {},
		canRetry: () => retried < allowed,
		recordRetry: () => void retried++,
		recordOutcome: () => {},
		available: () => allowed - retried,
	}
	await system.enqueue(5)
	let isDown = true
	const deliver = system.sends(() => {
		if (isDown) throw new Error('down')
	})
	const retry = { budget, baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 3 } as const
	await system.relay({ jobs: deliver }, { retry, circuitBreaker: false })
	await system.clock.advance(60_000)
	expect(system.sendings).toHaveLength(5)
	expect((await system.outbox.list()).map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1])
	const reasons = new Set(system.eventsOf('relay_released').map(({ reason }) => reason))
	expect(reasons).toEqual(new Set(['budget']))
	isDown = false
	allowed = 5
	await system.clock.advance(2_000)
	expect(await system.outbox.list()).toEqual([])
	expect(system.eventsOf('relay_dead_letter')).toEqual([])
})

test('baseDelayMs 0 with an exhausted budget does not claim in a tight loop', async () => {
	// Regression: the message was claimed, released and due again endlessly.
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(1)
	const budget: Budget = {
		recordRequest: () => {},
		canRetry: () => false,
		recordRetry: () => {},
		recordOutcome: () => {},
		available: () => 0,
	}
	const retry = { budget, baseDelayMs: 0, jitterStrategy: 'none' } as const
	await there.relay(
		{
			jobs: () => {
				throw new Error('down')
			},
		},
		{ retry, circuitBreaker: false },
	)
	await system.clock.advance(1_000)
	expect(there.calls.filter((name) => name === 'claim').length).toBeLessThan(60)
})

test('timeoutMs of destination or relay ends a delivery; its slot stays occupied until the handler ends', async () => {
	await using system = await setup()
	for (const topic of ['a', 'b']) await system.enqueue(1, { topic })
	const aborted: unknown[] = []
	const deliver: MessageHandler = ({ topic }, { signal }) =>
		new Promise((resolve) => {
			signal.addEventListener('abort', () => {
				aborted.push([topic, system.clock.now(), String(signal.reason?.name)])
				system.clock.setTimer(500, () => resolve(undefined))
			})
		})
	const relay = await system.relay({ a: deliver, b: { deliver, timeoutMs: 700 } }, { timeoutMs: 2_000 })
	await system.clock.advance(800)
	expect(aborted).toEqual([['b', 700, 'TimeoutError']])
	expect(relay.stats.inFlight).toBe(2)
	await system.clock.advance(500)
	expect(relay.stats.inFlight).toBe(1)
	await system.clock.advance(800)
	expect(aborted).toHaveLength(2)
	expect(system.eventsOf('relay_retry_scheduled').map(({ errorType }) => errorType)).toEqual([
		'TimeoutError',
		'TimeoutError',
	])
	expect(system.eventsOf('relay_sent')).toEqual([])
})
