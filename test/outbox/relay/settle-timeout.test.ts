import { expect, test, vi } from 'vitest'
import { TimeoutError } from '../../../src/core/errors/errors.ts'
import { world } from './world.ts'

test('a write of results that the database cancels is repeated with fewer, until it fits', async () => {
	// Regression: the same batch was repeated forever, and its messages were sent again when their leases ended.
	await using here = await world()
	const settle = here.store.settle.bind(here.store)
	const sizes: number[] = []
	vi.spyOn(here.store, 'settle').mockImplementation((owner, settlements, keepHistory) => {
		sizes.push(settlements.length)
		return settlements.length > 10
			? Promise.reject(new TimeoutError('settle', 25))
			: settle(owner, settlements, keepHistory)
	})
	await here.enqueue(200)
	await here.relay({ jobs: { deliver: here.sends(() => here.pause(100)), maxConcurrent: 200 } })
	await here.clock.advance(60_000)
	expect(sizes[0]).toBe(200)
	expect(here.eventsOf('relay_sent')).toHaveLength(200)
	expect(here.sendings).toHaveLength(200)
	expect(await here.outbox.list()).toEqual([])
})
