import { expect, test } from 'vitest'
import { Process } from './process.ts'
import { setup } from './setup.ts'

const away = () => new Error('the database is down')

test('a database outage of a minute loses nothing', async () => {
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(20)
	const options = { leaseMs: 300_000 }
	await there.relay({ jobs: { deliver: system.sends(() => there.pause(500)), maxConcurrent: 4 } }, options)
	await system.clock.advance(700)
	there.fault = away
	there.calls.length = 0
	await system.clock.advance(60_000)
	// The delays between calls grow to some seconds.
	expect(there.calls.length).toBeLessThan(150)
	there.fault = undefined
	await system.clock.advance(15_000)
	expect(await system.outbox.list()).toEqual([])
	expect(
		system
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
	await using system = await setup()
	await using there = new Process(system)
	await there.relay({ jobs: system.sends() })
	there.fault = away
	await system.clock.advance(30_000)
	await system.enqueue(10)
	await system.clock.advance(30_000)
	expect(system.sendings).toEqual([])
	there.fault = undefined
	await system.clock.advance(6_000)
	expect(system.sendings).toHaveLength(10)
})

test('start rejects without a database and leaves nothing behind', async () => {
	await using system = await setup()
	const there = new Process(system)
	const relay = there.make({ jobs: system.sends() })
	for (const method of ['schemaVersion', 'listen', 'heartbeat'] as const) {
		there.fault = (name) => (name === method ? away() : undefined)
		await expect(relay.start()).rejects.toThrow('the database is down')
		expect(system.clock.pendingTimers).toBe(0)
	}
	there.fault = undefined
	await relay.start()
	await system.enqueue(1)
	await system.clock.advance(1_500)
	expect(system.sendings).toHaveLength(1)
	const stopped = relay.stop()
	await system.clock.advance(100)
	await stopped
})
