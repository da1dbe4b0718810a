import { expect, test } from 'vitest'
import { permanent } from 'yaoki'
import { Process } from './process.ts'
import { type World, world } from './world.ts'

const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 5 } as const

/** Returns a handler that checks that each key has one message in flight. */
function inOrder(here: World, work: (payload: number) => unknown) {
	const under = new Map<string | undefined, number>()
	const done: Record<string, number[]> = {}
	const overlaps: unknown[] = []
	const deliver = here.sends(async ({ key, payload }) => {
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
	await using here = await world()
	await using there = new Process(here)
	for (let n = 0; n < 60; n++) await here.enqueue(1, { key: `k${n % 6}` })
	const { deliver, done, overlaps } = inOrder(here, async () => {
		await here.pause(20 + 200 * here.clock.random())
		if (here.clock.random() < 0.3) throw new Error('flaky')
	})
	const options = { retry: { ...RETRY, maxRetries: 50, maxDelayMs: 2_000 }, circuitBreaker: false } as const
	await here.relay({ jobs: { deliver, order: true } }, options)
	await there.relay({ jobs: { deliver, order: true } }, options)
	await here.clock.advance(120_000)
	expect(overlaps).toEqual([])
	expect(Object.keys(done)).toHaveLength(6)
	for (const list of Object.values(done)) {
		expect(list).toHaveLength(10)
		expect(list).toEqual(ascending(list))
	}
})

test('sends the next message of a key without waiting for the poll', async () => {
	await using here = await world()
	await here.enqueue(50, { key: 'one' })
	const { deliver, done } = inOrder(here, () => here.pause(10))
	await here.relay({ jobs: { deliver, order: true } }, { pollMs: 3_600_000 })
	await here.clock.advance(1_500)
	expect(done['one']).toHaveLength(50)
})

test('sends messages of many keys concurrently', async () => {
	await using here = await world()
	for (let n = 0; n < 200; n++) await here.enqueue(1, { key: `k${n % 50}` })
	const { deliver } = inOrder(here, () => here.pause(100))
	await here.relay({ jobs: { deliver, order: true, maxConcurrent: 50 } }, { pollMs: 3_600_000 })
	await here.clock.advance(1_000)
	expect(here.sendings).toHaveLength(200)
})

test('does not order messages without a key or of other keys', async () => {
	await using here = await world()
	await here.enqueue(2, { key: 'stuck' })
	await here.enqueue(3)
	await here.enqueue(3, { key: 'other' })
	const { deliver } = inOrder(here, (payload) => (payload <= 2 ? Promise.reject(new Error('no')) : undefined))
	await here.relay({ jobs: { deliver, order: true } }, { retry: RETRY, circuitBreaker: false })
	await here.clock.advance(500)
	expect(here.payloads().map(Number).toSorted()).toEqual([1, 3, 4, 5, 6, 7, 8])
})

async function withStuckHead(here: World, afterDeadLetter: 'block' | 'skip' | 'dead-letter-rest') {
	const ids = await here.enqueue(3, { key: 'k' })
	let isCured = false
	const { deliver, done } = inOrder(here, (payload) => {
		if (payload === 1 && !isCured) throw permanent(new Error('no'))
	})
	await here.relay({ jobs: { deliver, order: { afterDeadLetter } } })
	await here.clock.advance(5_000)
	return {
		ids,
		done,
		cure: () => {
			isCured = true
		},
	}
}

test('afterDeadLetter block blocks the key until the dead letter is replayed', async () => {
	await using here = await world()
	const { ids, done, cure } = await withStuckHead(here, 'block')
	expect(done['k']).toBeUndefined()
	expect(await here.outbox.find(ids[1] ?? '')).toMatchObject({ status: 'pending', attempts: 0 })
	cure()
	await here.outbox.dead.replay({ topic: 'jobs' })
	await here.clock.advance(3_000)
	expect(done['k']).toEqual([1, 2, 3])
})

test('afterDeadLetter skip continues with later messages', async () => {
	await using here = await world()
	const { done } = await withStuckHead(here, 'skip')
	expect(done['k']).toEqual([2, 3])
})

test('afterDeadLetter dead-letter-rest makes later messages dead letters', async () => {
	await using here = await world()
	const { ids, done } = await withStuckHead(here, 'dead-letter-rest')
	expect(done['k']).toBeUndefined()
	const causes = await Promise.all(ids.map(async (id) => (await here.outbox.find(id))?.cause))
	expect(causes).toEqual(['permanent', 'predecessor-dead', 'predecessor-dead'])
})

test('claims many messages of one key together, and sends them one by one', async () => {
	await using here = await world()
	await using there = new Process(here)
	await here.enqueue(320, { key: 'hot' })
	const { deliver, done, overlaps } = inOrder(here, () => here.pause(1))
	await there.relay({ jobs: { deliver, order: true } })
	await here.clock.advance(5_000)
	expect(overlaps).toEqual([])
	expect(done['hot']).toEqual(ascending(done['hot']))
	expect(done['hot']).toHaveLength(320)
	// Regression: a claim per message, which made one key a hundred times slower than many.
	expect(there.calls.filter((call) => call === 'claim').length).toBeLessThan(64)
})

test('the next message of a run starts when the one before it is recorded as sent (regression: a crash repeated a message after a later one)', async () => {
	await using here = await world()
	const ids = await here.enqueue(10, { key: 'k' })
	const recorded: boolean[] = []
	const { deliver, done } = inOrder(here, async (payload) => {
		if (payload > 1) recorded.push((await here.outbox.find(ids[payload - 2] ?? '')) === undefined)
	})
	await here.relay({ jobs: { deliver, order: true } })
	await here.clock.advance(1_000)
	expect(done['k']).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
	expect(recorded).toEqual(Array.from({ length: 9 }, () => true))
})

test('a failed message returns the rest of its run to the queue, with refunded attempts and in order', async () => {
	await using here = await world()
	const ids = await here.enqueue(10, { key: 'k' })
	let failures = 0
	const { deliver, done } = inOrder(here, (payload) => {
		if (payload === 4 && failures++ === 0) throw new Error('no')
	})
	await here.relay({ jobs: { deliver, order: true } }, { retry: RETRY })
	await here.clock.advance(500)
	expect(done['k']).toEqual([1, 2, 3])
	const rest = await Promise.all(ids.slice(3).map((id) => here.outbox.find(id)))
	expect(rest.map((message) => [message?.status, message?.attempts])).toEqual([
		['pending', 1],
		...Array.from({ length: 6 }, () => ['pending', 0]),
	])
	expect(here.eventsOf('relay_released').map(({ reason }) => reason)).toEqual(
		Array.from({ length: 6 }, () => 'not-first'),
	)
	await here.clock.advance(1_000)
	expect(done['k']).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

test('a stopping relay sends the message in flight and releases the rest of its run', async () => {
	await using here = await world()
	const ids = await here.enqueue(10, { key: 'k' })
	const { deliver, done } = inOrder(here, () => here.pause(100))
	const relay = await here.relay({ jobs: { deliver, order: true } })
	await here.clock.advance(150)
	const stopped = relay.stop()
	await here.clock.advance(1_000)
	await stopped
	expect(done['k']).toEqual([1, 2])
	const rest = await Promise.all(ids.slice(2).map((id) => here.outbox.find(id)))
	expect(rest.map((message) => [message?.attempts, message?.lockedBy])).toEqual(
		Array.from({ length: 8 }, () => [0, undefined]),
	)
})

test('a destination that is paused while a run is in flight gets no other message of it', async () => {
	await using here = await world()
	await here.enqueue(10, { key: 'k' })
	const { deliver, done } = inOrder(here, () => here.pause(100))
	const relay = await here.relay({ jobs: { deliver, order: true } }, { pollMs: 50 })
	await here.clock.advance(150)
	await here.store.pause('jobs', 10_000, 'retry-after')
	await here.clock.advance(5_000)
	expect(done['k']).toHaveLength(2)
	expect(relay.stats.queued).toBe(0)
	await here.clock.advance(20_000)
	expect(done['k']).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

test('a slow run of one key does not keep other keys from being claimed', async () => {
	await using here = await world()
	await here.enqueue(40, { key: 'slow' })
	const { deliver } = inOrder(here, (payload) => here.pause(payload <= 40 ? 1_000 : 1))
	await here.relay({ jobs: { deliver, order: true, maxConcurrent: 2 } })
	await here.clock.advance(2_500)
	await here.enqueue(20, { key: 'fast' })
	await here.clock.advance(1_500)
	expect(
		here
			.payloads()
			.map(Number)
			.filter((payload) => payload > 40),
	).toHaveLength(20)
})

test('leases of messages that wait for their turn are renewed', async () => {
	await using here = await world()
	await using there = new Process(here)
	await here.enqueue(20, { key: 'k' })
	const { deliver, done, overlaps } = inOrder(here, () => here.pause(1_000))
	await here.relay({ jobs: { deliver, order: true } }, { leaseMs: 3_000 })
	await here.clock.advance(2_500)
	await there.relay({ jobs: { deliver, order: true } }, { leaseMs: 3_000 })
	await here.clock.advance(20_000)
	expect(overlaps).toEqual([])
	expect(done['k']).toEqual(ascending(done['k']))
	expect(done['k']).toHaveLength(20)
	expect(here.sendings).toHaveLength(20)
})
