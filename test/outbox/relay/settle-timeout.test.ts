import { expect, test, vi } from 'vitest'
import { TimeoutError } from '../../../src/core/errors/errors.ts'
import { setup } from './setup.ts'

test('a write of results that the database cancels is repeated with fewer, until it fits', async () => {
	// Regression: the same batch was repeated forever, and its messages were sent again when their leases ended.
	await using system = await setup()
	const settle = system.store.settle.bind(system.store)
	const sizes: number[] = []
	vi.spyOn(system.store, 'settle').mockImplementation((owner, settlements, keepHistory) => {
		sizes.push(settlements.length)
		return settlements.length > 10
			? Promise.reject(new TimeoutError('settle', 25))
			: settle(owner, settlements, keepHistory)
	})
	await system.enqueue(200)
	await system.relay({ jobs: { deliver: system.sends(() => system.pause(100)), maxConcurrent: 200 } })
	await system.clock.advance(60_000)
	expect(sizes[0]).toBe(200)
	expect(system.eventsOf('relay_sent')).toHaveLength(200)
	expect(system.sendings).toHaveLength(200)
	expect(await system.outbox.list()).toEqual([])
})
