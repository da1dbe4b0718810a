import { expect, test } from 'vitest'
import { Process } from './process.ts'
import { world } from './world.ts'

const away = () => new Error('the database is down')

test('a database outage of a minute loses nothing', async () => {
	await using here = await world()
	await using there = new Process(here)
	await here.enqueue(20)
	const options = { leaseMs: 300_000 }
	await there.relay({ jobs: { deliver: here.sends(() => there.pause(500)), maxConcurrent: 4 } }, options)
	await here.clock.advance(700)
	there.fault = away
	there.calls.length = 0
	await here.clock.advance(60_000)
	// The delays between calls grow to some seconds.
	expect(there.calls.length).toBeLessThan(150)
	there.fault = undefined
	await here.clock.advance(15_000)
	expect(await here.outbox.list()).toEqual([])
	expect(
		here
			.payloads()
			.map(Number)
			.toSorted((a, b) => a - b),
	).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
	const failed = there.eventsOf('relay_store_error')
	expect(failed.length).toBeGreaterThan(5)
	expect(failed[0]).toMatchObject({ errorMessage: 'the database is down' })
	expect(there.eventsOf('relay_store_recovered').map(({ operation }) => operation)).toContain('settle')
	expect(there.eventsOf('relay_sent')).toHaveLength(20)
})

test('sends messages that were enqueued while the relay could not reach its database', async () => {
	await using here = await world()
	await using there = new Process(here)
	await there.relay({ jobs: here.sends() })
	there.fault = away
	await here.clock.advance(30_000)
	await here.enqueue(10)
	await here.clock.advance(30_000)
	expect(here.sendings).toEqual([])
	there.fault = undefined
	await here.clock.advance(6_000)
	expect(here.sendings).toHaveLength(10)
})

test('start rejects without a database and leaves nothing behind', async () => {
	await using here = await world()
	const there = new Process(here)
	const relay = there.make({ jobs: here.sends() })
	for (const method of ['schemaVersion', 'listen', 'heartbeat'] as const) {
		there.fault = (name) => (name === method ? away() : undefined)
		await expect(relay.start()).rejects.toThrow('the database is down')
		expect(here.clock.pendingTimers).toBe(0)
	}
	there.fault = undefined
	await relay.start()
	await here.enqueue(1)
	await here.clock.advance(1_500)
	expect(here.sendings).toHaveLength(1)
	const stopped = relay.stop()
	await here.clock.advance(100)
	await stopped
})
