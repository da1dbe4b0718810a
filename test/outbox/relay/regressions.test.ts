/** Regressions found by a review of the relay with a real PostgreSQL. */
import { expect, test } from 'vitest'
import { HttpError } from 'yaoki'
import type { Relay } from 'yaoki/outbox'
import type { Settlement } from '../../../src/outbox/store/rows.ts'
import { Process } from './process.ts'
import { setup, type TestSystem } from './setup.ts'

/** Advances the clock by `ms` and awaits the stop; hangs if it takes longer. */
async function stopsWithin(
	ms: number,
	relay: Relay,
	options: { timeoutMs: number },
	system: TestSystem,
): Promise<void> {
	const stopped = relay.stop(options)
	await system.clock.advance(ms)
	await stopped
}

test('order with maxConcurrent: queued messages do not withhold permits from all relays', async () => {
	await using system = await setup()
	for (let n = 0; n < 10; n++)
		await system.outbox.enqueue(
			Array.from({ length: 30 }, (_, key) => ({ topic: 'jobs', key: `k${key}`, payload: `${key}/${n}` })),
		)
	const deliver = system.sends(() => system.pause(10))
	for (let relays = 0; relays < 3; relays++)
		await system.relay({ jobs: { deliver, order: true, maxConcurrentAllRelays: 6 } }, { leaseMs: 1_500 })
	await system.clock.advance(20_000)
	expect(system.sendings).toHaveLength(300)
	for (let key = 0; key < 30; key++) {
		const own = system.payloads().filter((payload) => String(payload).startsWith(`${key}/`))
		expect(own).toEqual(Array.from({ length: 10 }, (_, n) => `${key}/${n}`))
	}
})

test('a Retry-After pauses exactly as long as requested and does not open the circuit', async () => {
	await using system = await setup()
	await system.enqueue(40)
	let isBusy = true
	const deliver = system.sends(() => {
		if (isBusy) throw new HttpError(429, undefined, { retryAfterMs: 3_000 })
	})
	await system.relay({ jobs: deliver }, { retry: { jitterStrategy: 'none' } })
	await system.clock.advance(1_000)
	isBusy = false
	expect(system.eventsOf('relay_state_change')).toEqual([])
	expect(system.eventsOf('relay_paused')).toMatchObject([{ destination: 'jobs', reason: 'retry-after' }])
	const before = system.sendings.length
	await system.clock.advance(1_900)
	expect(system.sendings).toHaveLength(before)
	await system.clock.advance(200)
	expect(system.sendings.length).toBeGreaterThan(before)
})

test('a store call without a response is repeated (a half-open connection blocked the relay)', async () => {
	await using system = await setup()
	await using process = new Process(system)
	await system.enqueue(3)
	let isBlack = true
	process.delay = (method) => (isBlack && method === 'claim' ? 1e9 : 0)
	await process.relay({ jobs: system.sends() }, { leaseMs: 3_000 })
	await system.clock.advance(5_000)
	expect(system.sendings).toEqual([])
	isBlack = false
	await system.clock.advance(20_000)
	expect(system.payloads()).toEqual([1, 2, 3])
	expect(process.eventsOf('relay_store_error')).toMatchObject([
		{ operation: 'claim', errorType: 'TimeoutError' },
	])
})

test('stop() ends in time although a store call gets no response', async () => {
	await using system = await setup()
	await using process = new Process(system)
	await system.enqueue(1)
	const relay = await process.relay({ jobs: system.sends() })
	process.delay = (method) => (method === 'settle' ? 1e9 : 0)
	await system.clock.advance(100)
	await stopsWithin(5_000, relay, { timeoutMs: 1_000 }, system)
	expect(process.eventsOf('relay_stopped')).toHaveLength(1)
})

test('an idle relay stops immediately while its database is unavailable', async () => {
	await using system = await setup()
	await using process = new Process(system)
	const relay = await process.relay({ jobs: system.sends() })
	process.fault = () => new Error('away')
	await system.clock.advance(3_000)
	await stopsWithin(1_500, relay, { timeoutMs: 30_000 }, system)
	expect(process.eventsOf('relay_stopped')).toHaveLength(1)
})

test('a repeated settle emits relay_sent, not relay_lease_lost', async () => {
	await using system = await setup()
	await system.enqueue(5)
	const { settle } = system.store
	let lost = 1
	system.store.settle = async (owner: string, outcomes: readonly Settlement[], keepHistory: boolean) => {
		const answer = await settle.call(system.store, owner, outcomes, keepHistory)
		if (lost-- > 0) throw new Error('connection reset')
		return answer
	}
	const relay = await system.relay({ jobs: system.sends() })
	await system.clock.advance(2_000)
	expect(system.sendings).toHaveLength(5)
	expect(relay.stats.sent).toBe(5)
	expect(system.eventsOf('relay_lease_lost')).toEqual([])
	expect(system.eventsOf('relay_sent')).toHaveLength(5)
})
