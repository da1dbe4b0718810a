import { expect, test } from 'vitest'
import { setup } from './setup.ts'

test('sends messages once, in the order of enqueuing, and deletes them', async () => {
	await using system = await setup()
	await system.enqueue(5)
	await system.relay({ jobs: system.sends() })
	await system.clock.advance(50)
	expect(system.payloads()).toEqual([1, 2, 3, 4, 5])
	expect(await system.outbox.list()).toEqual([])
	expect(system.eventsOf('relay_sent')).toHaveLength(5)
})

test('sends a later message without waiting for the poll', async () => {
	await using system = await setup()
	await system.relay({ jobs: system.sends() }, { pollMs: 60_000 })
	await system.clock.advance(100)
	await system.enqueue(1)
	await system.clock.advance(5)
	expect(system.payloads()).toEqual([1])
})

test('retries a failed message with backoff until its retries are exhausted', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	const fails = system.sends(() => {
		throw new Error('no')
	})
	await system.relay(
		{ jobs: fails },
		{ retry: { maxRetries: 3, baseDelayMs: 1_000, jitterStrategy: 'none' }, circuitBreaker: false },
	)
	await system.clock.advance(60_000)
	const times = system.sendings.map(({ at }) => Math.round(at / 100) / 10)
	expect(times).toEqual([0, 1, 3, 7])
	expect(await system.outbox.find(id)).toMatchObject({
		status: 'dead',
		cause: 'retries-exhausted',
		attempts: 4,
	})
})
