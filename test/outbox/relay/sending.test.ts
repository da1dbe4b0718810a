import { expect, test } from 'vitest'
import { world } from './world.ts'

test('sends messages once, in the order of enqueuing, and deletes them', async () => {
	await using here = await world()
	await here.enqueue(5)
	await here.relay({ jobs: here.sends() })
	await here.clock.advance(50)
	expect(here.payloads()).toEqual([1, 2, 3, 4, 5])
	expect(await here.outbox.list()).toEqual([])
	expect(here.eventsOf('relay_sent')).toHaveLength(5)
})

test('sends a later message without waiting for the poll', async () => {
	await using here = await world()
	await here.relay({ jobs: here.sends() }, { pollMs: 60_000 })
	await here.clock.advance(100)
	await here.enqueue(1)
	await here.clock.advance(5)
	expect(here.payloads()).toEqual([1])
})

test('retries a failed message with backoff until its retries are exhausted', async () => {
	await using here = await world()
	const [id = ''] = await here.enqueue(1)
	const fails = here.sends(() => {
		throw new Error('no')
	})
	await here.relay(
		{ jobs: fails },
		{ retry: { maxRetries: 3, baseDelayMs: 1_000, jitterStrategy: 'none' }, circuitBreaker: false },
	)
	await here.clock.advance(60_000)
	const times = here.sendings.map(({ at }) => Math.round(at / 100) / 10)
	expect(times).toEqual([0, 1, 3, 7])
	expect(await here.outbox.find(id)).toMatchObject({
		status: 'dead',
		cause: 'retries-exhausted',
		attempts: 4,
	})
})
