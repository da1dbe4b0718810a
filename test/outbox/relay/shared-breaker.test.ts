import { expect, test } from 'vitest'
import { HttpError } from 'yaoki'
import { Process } from './process.ts'
import { world } from './world.ts'

const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 20 } as const
const busy = (retryAfterMs: number) => {
	throw Object.assign(new HttpError(429), { retryAfterMs })
}

test('a Retry-After pauses the destination for all relays and uses no attempts of other messages', async () => {
	await using here = await world()
	await using elsewhere = new Process(here)
	await here.enqueue(10)
	let isBusy = true
	const deliver = here.sends(() => (isBusy ? busy(20_000) : undefined))
	const options = { retry: RETRY, pollMs: 60_000 }
	await here.relay({ jobs: { deliver, maxConcurrent: 1 } }, options)
	await here.clock.advance(100)
	await elsewhere.relay({ jobs: { deliver, maxConcurrent: 1 } }, options)
	isBusy = false
	await here.clock.advance(19_800)
	expect(here.sendings).toHaveLength(1)
	expect((await here.outbox.list()).map(({ attempts }) => attempts).toSorted()).toEqual(
		[...'0000000001'].map(Number),
	)
	expect(here.eventsOf('relay_paused')).toMatchObject([{ reason: 'retry-after', pausedForMs: 20_000 }])
})

test('after a pause the destination continues immediately, not one poll later', async () => {
	// Regression: released messages were due, but the next scan was scheduled for the next poll.
	await using here = await world()
	await here.enqueue(5)
	let isBusy = true
	const deliver = here.sends(() => (isBusy ? busy(7_000) : undefined))
	await here.relay({ jobs: { deliver, maxConcurrent: 1 } }, { retry: RETRY, pollMs: 60_000, rampUpMs: 0 })
	await here.clock.advance(100)
	isBusy = false
	// The message that got the Retry-After waits for up to a quarter longer.
	await here.clock.advance(7_200)
	expect(here.eventsOf('relay_sent')).toHaveLength(4)
	await here.clock.advance(1_750)
	expect(await here.outbox.list()).toEqual([])
})

test('an opening circuit does not shorten a Retry-After', async () => {
	// Regression: the breaker limits a Retry-After to a minute, and that limit was used.
	await using here = await world()
	await here.enqueue(10)
	const deliver = here.sends(() => busy(600_000))
	await here.relay(
		{ jobs: { deliver, maxConcurrent: 1, circuitBreaker: { failureThreshold: 1 } } },
		{ retry: RETRY },
	)
	await here.clock.advance(590_000)
	expect(here.sendings.every(({ at }) => at < 1_000)).toBe(true)
	await here.clock.advance(20_000)
	expect(here.sendings.some(({ at }) => at > 590_000)).toBe(true)
})

test('maxRetryAfterMs limits Retry-After', async () => {
	await using here = await world()
	await here.enqueue(1)
	let isBusy = true
	const deliver = here.sends(() => (isBusy ? busy(86_400_000) : undefined))
	await here.relay({ jobs: deliver }, { retry: RETRY, maxRetryAfterMs: 5_000 })
	await here.clock.advance(100)
	isBusy = false
	await here.clock.advance(6_500)
	expect(here.sendings).toHaveLength(2)
})

test('neither a dead destination nor a hung one starves others', async () => {
	await using here = await world()
	await here.enqueue(100, { topic: 'dead' })
	await here.enqueue(100, { topic: 'hanging' })
	await here.enqueue(100, { topic: 'fine' })
	const fine = here.sends(() => here.pause(100))
	await here.relay(
		{
			dead: () => busy(60_000),
			hanging: () => new Promise(() => {}),
			fine,
		},
		{ maxConcurrent: 4, maxConcurrentTotal: 12 },
	)
	await here.clock.advance(3_000)
	expect(here.sendings).toHaveLength(100)
})

test('after an outage the backlog is sent with a ramp', async () => {
	await using here = await world()
	await here.enqueue(500)
	let isDown = true
	const deliver = here.sends(async () => {
		if (isDown) throw new Error('down')
		await here.pause(100)
	})
	await here.relay(
		{ jobs: deliver },
		{ retry: RETRY, circuitBreaker: { resetBackoff: { jitterStrategy: 'none' } } },
	)
	await here.clock.advance(9_000)
	isDown = false
	await here.clock.advance(2_000)
	const first = here.sendings.filter(({ at }) => at >= 9_000).length
	expect(first).toBeLessThan(20)
	await here.clock.advance(30_000)
	expect(await here.outbox.list()).toEqual([])
})

test('an open circuit without messages to probe does not query the database in a loop', async () => {
	await using here = await world()
	await using elsewhere = new Process(here)
	const [id = ''] = await here.enqueue(1)
	const down = () => {
		throw new Error('down')
	}
	const breaker = { failureThreshold: 1, resetTimeoutMs: 1_000 }
	await elsewhere.relay(
		{ jobs: { deliver: down, circuitBreaker: breaker } },
		{ retry: { ...RETRY, baseDelayMs: 50_000 } },
	)
	await here.clock.advance(10_000)
	elsewhere.calls.length = 0
	await here.clock.advance(10_000)
	expect(elsewhere.calls.length).toBeLessThan(100)
	expect(await here.outbox.find(id)).toMatchObject({ attempts: 1 })
})

test('messages of a claim in flight during a new pause are released and sent after it', async () => {
	// Regression: they stayed queued beyond the pause until the next poll.
	await using here = await world()
	await using there = new Process(here)
	await here.enqueue(10)
	there.delay = (method) => (method === 'claim' ? 50 : 0)
	let isBusy = true
	const deliver = here.sends(async () => {
		await here.pause(20)
		if (isBusy) busy(5_000)
	})
	await there.relay({ jobs: { deliver, maxConcurrent: 1 } }, { retry: RETRY, pollMs: 3_600_000, rampUpMs: 0 })
	await here.clock.advance(1_000)
	isBusy = false
	expect((await here.outbox.list()).map(({ status }) => status)).toEqual(
		Array.from({ length: 10 }, () => 'pending'),
	)
	await here.clock.advance(7_000)
	expect(await here.outbox.list()).toEqual([])
})
