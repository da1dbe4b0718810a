import { expect, test } from 'vitest'
import { Process } from './process.ts'
import { setup } from './setup.ts'

const HOUR = 3_600_000

test('sends a scheduled message at its time, not up to a poll later', async () => {
	await using system = await setup()
	await system.relay({ jobs: system.sends() }, { pollMs: HOUR })
	await system.clock.advance(100)
	await system.enqueue(1, { notBefore: new Date(system.clock.wallNow() + 7_777) } as object)
	await system.clock.advance(7_700)
	expect(system.sendings).toEqual([])
	await system.clock.advance(100)
	expect(system.sendings).toHaveLength(1)
})

test('sends a scheduled message at its time even if all slots were occupied when it was enqueued', async () => {
	await using system = await setup()
	await system.enqueue(1)
	await system.enqueue(1, { notBefore: new Date(system.clock.wallNow() + 8_000) } as object)
	await system.relay(
		{
			jobs: { deliver: system.sends(() => system.pause(3_000)), maxConcurrentAllRelays: 1 },
			other: system.sends(),
		},
		{ pollMs: HOUR, leaseMs: 2 * HOUR },
	)
	await system.clock.advance(8_100)
	expect(system.sendings).toHaveLength(2)
})

test('the poll finds messages of other processes', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await there.relay({ jobs: system.sends() }, { pollMs: 5_000 })
	await system.clock.advance(60_000)
	await system.enqueue(1)
	await system.clock.advance(50)
	expect(system.sendings).toEqual([])
	await system.clock.advance(5_000)
	expect(system.sendings).toHaveLength(1)
})

test('without notifications, polls adapt to the traffic: a median delay below 150 ms, and a poll per second when idle', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await there.relay({ jobs: system.sends() })
	const claimsIn = async (seconds: number, work: () => Promise<unknown>) => {
		there.calls.length = 0
		await work()
		return there.calls.filter((call) => call === 'claim').length / seconds
	}
	const idle = () => system.clock.advance(60_000)
	const dueAt: number[] = []
	const busy = async () => {
		for (let at = 0; at < 300; at++) {
			dueAt.push(system.clock.now())
			await system.enqueue(1)
			await system.clock.advance(100)
		}
	}
	await idle()
	// Two claims: the poll, and the search for poison messages.
	expect(await claimsIn(60, idle)).toBeLessThanOrEqual(2.1)
	expect(await claimsIn(30, busy)).toBeLessThanOrEqual(21)
	await system.clock.advance(1_000)
	const delays = system.sendings.map(({ at }, index) => at - (dueAt[index] ?? 0)).sort((a, b) => a - b)
	expect(delays).toHaveLength(300)
	expect(delays[150]).toBeLessThan(150)
	await idle()
	expect(await claimsIn(60, idle)).toBeLessThanOrEqual(2.1)
})

test('an idle relay queries its database rarely', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await there.relay({ jobs: system.sends(), other: system.sends() }, { pollMs: 1_000 })
	await system.clock.advance(1_000)
	there.calls.length = 0
	await system.clock.advance(60_000)
	expect(there.calls.length).toBeLessThan(60 * 5)
})

test('fractions of a millisecond do not cause a tight loop', async () => {
	// Regression: by a difference the poll was not yet due, by a sum there was no time left to wait.
	await using system = await setup()
	await using there = new Process(system)
	await system.clock.advance(1_000 * Math.PI)
	await there.relay({ jobs: system.sends() }, { pollMs: 1.1 })
	await system.clock.advance(2_000)
	expect(there.calls.length).toBeLessThan(20_000)
})

test('the wildcard serves every other destination, each with its own slots', async () => {
	await using system = await setup()
	const own: unknown[] = []
	const seen: string[] = []
	await system.relay({
		own: ({ payload }) => own.push(payload),
		'*': {
			deliver: system.sends(({ destination }) => {
				seen.push(destination)
				return destination === 'hangs' ? new Promise(() => {}) : undefined
			}),
			maxConcurrent: 2,
		},
	})
	for (const topic of ['own', 'hangs', 'hangs', 'hangs', 'b', 'c']) await system.enqueue(1, { topic })
	await system.clock.advance(200)
	expect(own).toEqual([1])
	expect(seen.toSorted()).toEqual(['b', 'c', 'hangs', 'hangs'])
})

test('messages of a destination without a relay stay in the queue', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1, { topic: 'unserved' })
	await system.relay({ jobs: system.sends() })
	await system.clock.advance(10_000)
	expect(await system.outbox.find(id)).toMatchObject({ status: 'pending', attempts: 0 })
})

test('a jump of the wall clock does no harm', async () => {
	await using system = await setup()
	await system.enqueue(3)
	const fails = system.sends(({ attempts }) => (attempts < 3 ? Promise.reject(new Error('no')) : undefined))
	await system.relay(
		{ jobs: fails },
		{ retry: { baseDelayMs: 1_000, jitterStrategy: 'none' }, circuitBreaker: false },
	)
	await system.clock.advance(500)
	system.clock.jumpWallClock(HOUR)
	await system.clock.advance(10_000)
	expect(await system.outbox.list()).toEqual([])
})
