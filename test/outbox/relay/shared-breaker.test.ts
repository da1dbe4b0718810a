import { expect, test } from 'vitest'
import { HttpError } from 'yaoki'
import { Process } from './process.ts'
import { setup } from './setup.ts'

const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 20 } as const
const busy = (retryAfterMs: number) => {
	throw Object.assign(new HttpError(429), { retryAfterMs })
}

test('a Retry-After pauses the destination for all relays and uses no attempts of other messages', async () => {
	await using system = await setup()
	await using elsewhere = new Process(system)
	await system.enqueue(10)
	let isBusy = true
	const deliver = system.sends(() => (isBusy ? busy(20_000) : undefined))
	const options = { retry: RETRY, pollMs: 60_000 }
	await system.relay({ jobs: { deliver, maxConcurrent: 1 } }, options)
	await system.clock.advance(100)
	await elsewhere.relay({ jobs: { deliver, maxConcurrent: 1 } }, options)
	isBusy = false
	await system.clock.advance(19_800)
	expect(system.sendings).toHaveLength(1)
	expect((await system.outbox.list()).map(({ attempts }) => attempts).toSorted()).toEqual(
		[...'0000000001'].map(Number),
	)
	expect(system.eventsOf('relay_paused')).toMatchObject([{ reason: 'retry-after', pausedForMs: 20_000 }])
})

test('after a pause the destination continues immediately, not one poll later', async () => {
	// Regression: released messages were due, but the next scan was scheduled for the next poll.
	await using system = await setup()
	await system.enqueue(5)
	let isBusy = true
	const deliver = system.sends(() => (isBusy ? busy(7_000) : undefined))
	await system.relay({ jobs: { deliver, maxConcurrent: 1 } }, { retry: RETRY, pollMs: 60_000, rampUpMs: 0 })
	await system.clock.advance(100)
	isBusy = false
	// The message that got the Retry-After waits for up to a quarter longer.
	await system.clock.advance(7_200)
	expect(system.eventsOf('relay_sent')).toHaveLength(4)
	await system.clock.advance(1_750)
	expect(await system.outbox.list()).toEqual([])
})

test('an opening circuit does not shorten a Retry-After', async () => {
	// Regression: the breaker limits a Retry-After to a minute, and that limit was used.
	await using system = await setup()
	await system.enqueue(10)
	const deliver = system.sends(() => busy(600_000))
	await system.relay(
		{ jobs: { deliver, maxConcurrent: 1, circuitBreaker: { failureThreshold: 1 } } },
		{ retry: RETRY },
	)
	await system.clock.advance(590_000)
	expect(system.sendings.length).toBeGreaterThan(0)
	expect(system.sendings.filter(({ at }) => at >= 1_000)).toEqual([])
	await system.clock.advance(20_000)
	expect(system.sendings.at(-1)?.at).toBeGreaterThan(590_000)
})

test('maxRetryAfterMs limits Retry-After', async () => {
	await using system = await setup()
	await system.enqueue(1)
	let isBusy = true
	const deliver = system.sends(() => (isBusy ? busy(86_400_000) : undefined))
	await system.relay({ jobs: deliver }, { retry: RETRY, maxRetryAfterMs: 5_000 })
	await system.clock.advance(100)
	isBusy = false
	await system.clock.advance(6_500)
	expect(system.sendings).toHaveLength(2)
})

test('neither a dead destination nor a hung one starves others', async () => {
	await using system = await setup()
	await system.enqueue(100, { topic: 'dead' })
	await system.enqueue(100, { topic: 'hanging' })
	await system.enqueue(100, { topic: 'fine' })
	const fine = system.sends(() => system.pause(100))
	await system.relay(
		{
			dead: () => busy(60_000),
			hanging: () => new Promise(() => {}),
			fine,
		},
		{ maxConcurrent: 4, maxConcurrentTotal: 12 },
	)
	await system.clock.advance(3_000)
	expect(system.sendings).toHaveLength(100)
})

test('after an outage the backlog is sent with a ramp', async () => {
	await using system = await setup()
	await system.enqueue(500)
	let isDown = true
	const deliver = system.sends(async () => {
		if (isDown) throw new Error('down')
		await system.pause(100)
	})
	await system.relay(
		{ jobs: deliver },
		{ retry: RETRY, circuitBreaker: { resetBackoff: { jitterStrategy: 'none' } } },
	)
	await system.clock.advance(9_000)
	isDown = false
	await system.clock.advance(2_000)
	const first = system.sendings.filter(({ at }) => at >= 9_000).length
	expect(first).toBeLessThan(20)
	await system.clock.advance(30_000)
	expect(await system.outbox.list()).toEqual([])
})

test('an open circuit without messages to probe does not query the database in a loop', async () => {
	await using system = await setup()
	await using elsewhere = new Process(system)
	const [id = ''] = await system.enqueue(1)
	const down = () => {
		throw new Error('down')
	}
	const breaker = { failureThreshold: 1, resetTimeoutMs: 1_000 }
	await elsewhere.relay(
		{ jobs: { deliver: down, circuitBreaker: breaker } },
		{ retry: { ...RETRY, baseDelayMs: 50_000 } },
	)
	await system.clock.advance(10_000)
	elsewhere.calls.length = 0
	await system.clock.advance(10_000)
	expect(elsewhere.calls.length).toBeLessThan(100)
	expect(await system.outbox.find(id)).toMatchObject({ attempts: 1 })
})

test('messages of a claim in flight during a new pause are released and sent after it', async () => {
	// Regression: they stayed queued beyond the pause until the next poll.
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(10)
	there.delay = (method) => (method === 'claim' ? 50 : 0)
	let isBusy = true
	const deliver = system.sends(async () => {
		await system.pause(20)
		if (isBusy) busy(5_000)
	})
	await there.relay({ jobs: { deliver, maxConcurrent: 1 } }, { retry: RETRY, pollMs: 3_600_000, rampUpMs: 0 })
	await system.clock.advance(1_000)
	isBusy = false
	expect((await system.outbox.list()).map(({ status }) => status)).toEqual(
		Array.from({ length: 10 }, () => 'pending'),
	)
	await system.clock.advance(7_000)
	expect(await system.outbox.list()).toEqual([])
})
