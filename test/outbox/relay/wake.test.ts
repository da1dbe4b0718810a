import { expect, test } from 'vitest'
import { Process } from './process.ts'
import { world } from './world.ts'

const HOUR = 3_600_000

test('sends a scheduled message at its time, not up to a poll later', async () => {
	await using here = await world()
	await here.relay({ jobs: here.sends() }, { pollMs: HOUR })
	await here.clock.advance(100)
	await here.enqueue(1, { notBefore: new Date(here.clock.wallNow() + 7_777) } as object)
	await here.clock.advance(7_700)
	expect(here.sendings).toEqual([])
	await here.clock.advance(100)
	expect(here.sendings).toHaveLength(1)
})

test('sends a scheduled message at its time even if all slots were occupied when it was enqueued', async () => {
	await using here = await world()
	await here.enqueue(1)
	await here.enqueue(1, { notBefore: new Date(here.clock.wallNow() + 8_000) } as object)
	await here.relay(
		{
			jobs: { deliver: here.sends(() => here.pause(3_000)), maxConcurrentAllRelays: 1 },
			other: here.sends(),
		},
		{ pollMs: HOUR, leaseMs: 2 * HOUR },
	)
	await here.clock.advance(8_100)
	expect(here.sendings).toHaveLength(2)
})

test('the poll finds messages of other processes', async () => {
	await using here = await world()
	await using there = new Process(here)
	await there.relay({ jobs: here.sends() }, { pollMs: 5_000 })
	await here.clock.advance(60_000)
	await here.enqueue(1)
	await here.clock.advance(50)
	expect(here.sendings).toEqual([])
	await here.clock.advance(5_000)
	expect(here.sendings).toHaveLength(1)
})

test('without notifications, polls adapt to the traffic: a median delay below 150 ms, and a poll per second when idle', async () => {
	await using here = await world()
	await using there = new Process(here)
	await there.relay({ jobs: here.sends() })
	const claimsIn = async (seconds: number, work: () => Promise<unknown>) => {
		there.calls.length = 0
		await work()
		return there.calls.filter((call) => call === 'claim').length / seconds
	}
	const idle = () => here.clock.advance(60_000)
	const dueAt: number[] = []
	const busy = async () => {
		for (let at = 0; at < 300; at++) {
			dueAt.push(here.clock.now())
			await here.enqueue(1)
			await here.clock.advance(100)
		}
	}
	await idle()
	// Two claims: the poll, and the search for poison messages.
	expect(await claimsIn(60, idle)).toBeLessThanOrEqual(2.1)
	expect(await claimsIn(30, busy)).toBeLessThanOrEqual(21)
	await here.clock.advance(1_000)
	const delays = here.sendings.map(({ at }, index) => at - (dueAt[index] ?? 0)).sort((a, b) => a - b)
	expect(delays).toHaveLength(300)
	expect(delays[150]).toBeLessThan(150)
	await idle()
	expect(await claimsIn(60, idle)).toBeLessThanOrEqual(2.1)
})

test('an idle relay queries its database rarely', async () => {
	await using here = await world()
	await using there = new Process(here)
	await there.relay({ jobs: here.sends(), other: here.sends() }, { pollMs: 1_000 })
	await here.clock.advance(1_000)
	there.calls.length = 0
	await here.clock.advance(60_000)
	expect(there.calls.length).toBeLessThan(60 * 5)
})

test('fractions of a millisecond do not cause a tight loop', async () => {
	// Regression: by a difference the poll was not yet due, by a sum there was no time left to wait.
	await using here = await world()
	await using there = new Process(here)
	await here.clock.advance(1_000 * Math.PI)
	await there.relay({ jobs: here.sends() }, { pollMs: 1.1 })
	await here.clock.advance(2_000)
	expect(there.calls.length).toBeLessThan(20_000)
})

test('the wildcard serves every other destination, each with its own slots', async () => {
	await using here = await world()
	const own: unknown[] = []
	const seen: string[] = []
	await here.relay({
		own: ({ payload }) => own.push(payload),
		'*': {
			deliver: here.sends(({ destination }) => {
				seen.push(destination)
				return destination === 'hangs' ? new Promise(() => {}) : undefined
			}),
			maxConcurrent: 2,
		},
	})
	for (const topic of ['own', 'hangs', 'hangs', 'hangs', 'b', 'c']) await here.enqueue(1, { topic })
	await here.clock.advance(200)
	expect(own).toEqual([1])
	expect(seen.toSorted()).toEqual(['b', 'c', 'hangs', 'hangs'])
})

test('messages of a destination without a relay stay in the queue', async () => {
	await using here = await world()
	const [id = ''] = await here.enqueue(1, { topic: 'unserved' })
	await here.relay({ jobs: here.sends() })
	await here.clock.advance(10_000)
	expect(await here.outbox.find(id)).toMatchObject({ status: 'pending', attempts: 0 })
})

test('a jump of the wall clock does no harm', async () => {
	await using here = await world()
	await here.enqueue(3)
	const fails = here.sends(({ attempts }) => (attempts < 3 ? Promise.reject(new Error('no')) : undefined))
	await here.relay(
		{ jobs: fails },
		{ retry: { baseDelayMs: 1_000, jitterStrategy: 'none' }, circuitBreaker: false },
	)
	await here.clock.advance(500)
	here.clock.jumpWallClock(HOUR)
	await here.clock.advance(10_000)
	expect(await here.outbox.list()).toEqual([])
})
