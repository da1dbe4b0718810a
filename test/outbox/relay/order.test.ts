import { expect, test } from 'vitest'
import { permanent } from 'yaoki'
import { Process } from './process.ts'
import { setup, type TestSystem } from './setup.ts'

const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 5 } as const

/** Returns a handler that checks that each key has one message in flight. */
function inOrder(system: TestSystem, work: (payload: number) => unknown) {
	const under = new Map<string | undefined, number>()
	const done: Record<string, number[]> = {}
	const overlaps: unknown[] = []
	const deliver = system.sends(async ({ key, payload }) => {
		if (key !== undefined && under.has(key)) overlaps.push([key, under.get(key), payload])
		under.set(key, Number(payload))
		try {
			await work(Number(payload))
			done[`${key}`] = [...(done[`${key}`] ?? []), Number(payload)]
		} finally {
			under.delete(key)
		}
	})
	return { deliver, done, overlaps }
}

const ascending = (list: readonly number[] = []) => list.toSorted((a, b) => a - b)

test('sends one message per key at a time, in order, with two relays, failures and retries', async () => {
	await using system = await setup()
	await using there = new Process(system)
	for (let n = 0; n < 60; n++) await system.enqueue(1, { key: `k${n % 6}` })
	const { deliver, done, overlaps } = inOrder(system, async () => {
		await system.pause(20 + 200 * system.clock.random())
		if (system.clock.random() < 0.3) throw new Error('flaky')
	})
	const options = { retry: { ...RETRY, maxRetries: 50, maxDelayMs: 2_000 }, circuitBreaker: false } as const
	await system.relay({ jobs: { deliver, order: true } }, options)
	await there.relay({ jobs: { deliver, order: true } }, options)
	await system.clock.advance(120_000)
	expect(overlaps).toEqual([])
	expect(Object.keys(done)).toHaveLength(6)
	for (const list of Object.values(done)) {
		expect(list).toHaveLength(10)
		expect(list).toEqual(ascending(list))
	}
})

test('sends the next message of a key without waiting for the poll', async () => {
	await using system = await setup()
	await system.enqueue(50, { key: 'one' })
	const { deliver, done } = inOrder(system, () => system.pause(10))
	await system.relay({ jobs: { deliver, order: true } }, { pollMs: 3_600_000 })
	await system.clock.advance(1_500)
	expect(done['one']).toHaveLength(50)
})

test('sends messages of many keys concurrently', async () => {
	await using system = await setup()
	for (let n = 0; n < 200; n++) await system.enqueue(1, { key: `k${n % 50}` })
	const { deliver } = inOrder(system, () => system.pause(100))
	await system.relay({ jobs: { deliver, order: true, maxConcurrent: 50 } }, { pollMs: 3_600_000 })
	await system.clock.advance(1_000)
	expect(system.sendings).toHaveLength(200)
})

test('does not order messages without a key or of other keys', async () => {
	await using system = await setup()
	await system.enqueue(2, { key: 'stuck' })
	await system.enqueue(3)
	await system.enqueue(3, { key: 'other' })
	const { deliver } = inOrder(system, (payload) =>
		payload <= 2 ? Promise.reject(new Error('no')) : undefined,
	)
	await system.relay({ jobs: { deliver, order: true } }, { retry: RETRY, circuitBreaker: false })
	await system.clock.advance(500)
	expect(system.payloads().map(Number).toSorted()).toEqual([1, 3, 4, 5, 6, 7, 8])
})

async function withStuckHead(system: TestSystem, afterDeadLetter: 'block' | 'skip' | 'dead-letter-rest') {
	const ids = await system.enqueue(3, { key: 'k' })
	let isCured = false
	const { deliver, done } = inOrder(system, (payload) => {
		if (payload === 1 && !isCured) throw permanent(new Error('no'))
	})
	await system.relay({ jobs: { deliver, order: { afterDeadLetter } } })
	await system.clock.advance(5_000)
	return {
		ids,
		done,
		cure: () => {
			isCured = true
		},
	}
}

test('afterDeadLetter block blocks the key until the dead letter is replayed', async () => {
	await using system = await setup()
	const { ids, done, cure } = await withStuckHead(system, 'block')
	expect(done['k']).toBeUndefined()
	expect(await system.outbox.find(ids[1] ?? '')).toMatchObject({ status: 'pending', attempts: 0 })
	cure()
	await system.outbox.dead.replay({ topic: 'jobs' })
	await system.clock.advance(3_000)
	expect(done['k']).toEqual([1, 2, 3])
})

test('afterDeadLetter skip continues with later messages', async () => {
	await using system = await setup()
	const { done } = await withStuckHead(system, 'skip')
	expect(done['k']).toEqual([2, 3])
})

test('afterDeadLetter dead-letter-rest makes later messages dead letters', async () => {
	await using system = await setup()
	const { ids, done } = await withStuckHead(system, 'dead-letter-rest')
	expect(done['k']).toBeUndefined()
	const causes = await Promise.all(ids.map(async (id) => (await system.outbox.find(id))?.cause))
	expect(causes).toEqual(['permanent', 'predecessor-dead', 'predecessor-dead'])
})

test('claims many messages of one key together, and sends them one by one', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(320, { key: 'hot' })
	const { deliver, done, overlaps } = inOrder(system, () => system.pause(1))
	await there.relay({ jobs: { deliver, order: true } })
	await system.clock.advance(5_000)
	expect(overlaps).toEqual([])
	expect(done['hot']).toEqual(ascending(done['hot']))
	expect(done['hot']).toHaveLength(320)
	// Regression: a claim per message, which made one key a hundred times slower than many.
	expect(there.calls.filter((call) => call === 'claim').length).toBeLessThan(64)
})

test('the next message of a run starts when the one before it is recorded as sent (regression: a crash repeated a message after a later one)', async () => {
	await using system = await setup()
	const ids = await system.enqueue(10, { key: 'k' })
	const recorded: boolean[] = []
	const { deliver, done } = inOrder(system, async (payload) => {
		if (payload > 1) recorded.push((await system.outbox.find(ids[payload - 2] ?? '')) === undefined)
	})
	await system.relay({ jobs: { deliver, order: true } })
	await system.clock.advance(1_000)
	expect(done['k']).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
	expect(recorded).toEqual(Array.from({ length: 9 }, () => true))
})

test('a failed message returns the rest of its run to the queue, with refunded attempts and in order', async () => {
	await using system = await setup()
	const ids = await system.enqueue(10, { key: 'k' })
	let failures = 0
	const { deliver, done } = inOrder(system, (payload) => {
		if (payload === 4 && failures++ === 0) throw new Error('no')
	})
	await system.relay({ jobs: { deliver, order: true } }, { retry: RETRY })
	await system.clock.advance(500)
	expect(done['k']).toEqual([1, 2, 3])
	const rest = await Promise.all(ids.slice(3).map((id) => system.outbox.find(id)))
	expect(rest.map((message) => [message?.status, message?.attempts])).toEqual([
		['pending', 1],
		...Array.from({ length: 6 }, () => ['pending', 0]),
	])
	expect(system.eventsOf('relay_released').map(({ reason }) => reason)).toEqual(
		Array.from({ length: 6 }, () => 'not-first'),
	)
	await system.clock.advance(1_000)
	expect(done['k']).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

test('a stopping relay sends the message in flight and releases the rest of its run', async () => {
	await using system = await setup()
	const ids = await system.enqueue(10, { key: 'k' })
	const { deliver, done } = inOrder(system, () => system.pause(100))
	const relay = await system.relay({ jobs: { deliver, order: true } })
	await system.clock.advance(150)
	const stopped = relay.stop()
	await system.clock.advance(1_000)
	await stopped
	expect(done['k']).toEqual([1, 2])
	const rest = await Promise.all(ids.slice(2).map((id) => system.outbox.find(id)))
	expect(rest.map((message) => [message?.attempts, message?.lockedBy])).toEqual(
		Array.from({ length: 8 }, () => [0, undefined]),
	)
})

test('a destination that is paused while a run is in flight gets no other message of it', async () => {
	await using system = await setup()
	await system.enqueue(10, { key: 'k' })
	const { deliver, done } = inOrder(system, () => system.pause(100))
	const relay = await system.relay({ jobs: { deliver, order: true } }, { pollMs: 50 })
	await system.clock.advance(150)
	await system.store.pause('jobs', 10_000, 'retry-after')
	await system.clock.advance(5_000)
	expect(done['k']).toHaveLength(2)
	expect(relay.stats.queued).toBe(0)
	await system.clock.advance(20_000)
	expect(done['k']).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

test('a slow run of one key does not keep other keys from being claimed', async () => {
	await using system = await setup()
	await system.enqueue(40, { key: 'slow' })
	const { deliver } = inOrder(system, (payload) => system.pause(payload <= 40 ? 1_000 : 1))
	await system.relay({ jobs: { deliver, order: true, maxConcurrent: 2 } })
	await system.clock.advance(2_500)
	await system.enqueue(20, { key: 'fast' })
	await system.clock.advance(1_500)
	expect(
		system
			.payloads()
			.map(Number)
			.filter((payload) => payload > 40),
	).toHaveLength(20)
})

test('leases of messages that wait for their turn are renewed', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(20, { key: 'k' })
	const { deliver, done, overlaps } = inOrder(system, () => system.pause(1_000))
	await system.relay({ jobs: { deliver, order: true } }, { leaseMs: 3_000 })
	await system.clock.advance(2_500)
	await there.relay({ jobs: { deliver, order: true } }, { leaseMs: 3_000 })
	await system.clock.advance(20_000)
	expect(overlaps).toEqual([])
	expect(done['k']).toEqual(ascending(done['k']))
	expect(done['k']).toHaveLength(20)
	expect(system.sendings).toHaveLength(20)
})
