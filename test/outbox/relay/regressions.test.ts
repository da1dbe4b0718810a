/** Regressions found by a review of the relay with a real PostgreSQL. */
import { expect, test } from 'vitest'
import { HttpError } from 'yaoki'
import type { Relay } from 'yaoki/outbox'
import type { Settlement } from '../../../src/outbox/store/rows.ts'
import { Process } from './process.ts'
import { type World, world } from './world.ts'

/** Advances the clock by `ms` and awaits the stop; hangs if it takes longer. */
async function stopsWithin(
	ms: number,
	relay: Relay,
	options: { timeoutMs: number },
	here: World,
): Promise<void> {
	const stopped = relay.stop(options)
	await here.clock.advance(ms)
	await stopped
}

test('order with maxConcurrent: queued messages do not withhold permits from all relays', async () => {
	await using here = await world()
	for (let n = 0; n < 10; n++)
		await here.outbox.enqueue(
			Array.from({ length: 30 }, (_, key) => ({ topic: 'jobs', key: `k${key}`, payload: `${key}/${n}` })),
		)
	const deliver = here.sends(() => here.pause(10))
	for (let relays = 0; relays < 3; relays++)
		await here.relay({ jobs: { deliver, order: true, maxConcurrentAllRelays: 6 } }, { leaseMs: 1_500 })
	await here.clock.advance(20_000)
	expect(here.sendings).toHaveLength(300)
	for (let key = 0; key < 30; key++) {
		const own = here.payloads().filter((payload) => String(payload).startsWith(`${key}/`))
		expect(own).toEqual(Array.from({ length: 10 }, (_, n) => `${key}/${n}`))
	}
})

test('a Retry-After pauses exactly as long as requested and does not open the circuit', async () => {
	await using here = await world()
	await here.enqueue(40)
	let isBusy = true
	const deliver = here.sends(() => {
		if (isBusy) throw new HttpError(429, undefined, { retryAfterMs: 3_000 })
	})
	await here.relay({ jobs: deliver }, { retry: { jitterStrategy: 'none' } })
	await here.clock.advance(1_000)
	isBusy = false
	expect(here.eventsOf('relay_state_change')).toEqual([])
	expect(here.eventsOf('relay_paused')).toMatchObject([{ destination: 'jobs', reason: 'retry-after' }])
	const before = here.sendings.length
	await here.clock.advance(1_900)
	expect(here.sendings).toHaveLength(before)
	await here.clock.advance(200)
	expect(here.sendings.length).toBeGreaterThan(before)
})

test('a store call without a response is repeated (a half-open connection blocked the relay)', async () => {
	await using here = await world()
	await using process = new Process(here)
	await here.enqueue(3)
	let isBlack = true
	process.delay = (method) => (isBlack && method === 'claim' ? 1e9 : 0)
	await process.relay({ jobs: here.sends() }, { leaseMs: 3_000 })
	await here.clock.advance(5_000)
	expect(here.sendings).toEqual([])
	isBlack = false
	await here.clock.advance(20_000)
	expect(here.payloads()).toEqual([1, 2, 3])
	expect(process.eventsOf('relay_store_error')).toMatchObject([
		{ operation: 'claim', errorType: 'TimeoutError' },
	])
})

test('stop() ends in time although a store call gets no response', async () => {
	await using here = await world()
	await using process = new Process(here)
	await here.enqueue(1)
	const relay = await process.relay({ jobs: here.sends() })
	process.delay = (method) => (method === 'settle' ? 1e9 : 0)
	await here.clock.advance(100)
	await stopsWithin(5_000, relay, { timeoutMs: 1_000 }, here)
	expect(process.eventsOf('relay_stopped')).toHaveLength(1)
})

test('an idle relay stops immediately while its database is unavailable', async () => {
	await using here = await world()
	await using process = new Process(here)
	const relay = await process.relay({ jobs: here.sends() })
	process.fault = () => new Error('away')
	await here.clock.advance(3_000)
	await stopsWithin(1_500, relay, { timeoutMs: 30_000 }, here)
	expect(process.eventsOf('relay_stopped')).toHaveLength(1)
})

test('a repeated settle emits relay_sent, not relay_lease_lost', async () => {
	await using here = await world()
	await here.enqueue(5)
	const { settle } = here.store
	let lost = 1
	here.store.settle = async (owner: string, outcomes: readonly Settlement[], keepHistory: boolean) => {
		const answer = await settle.call(here.store, owner, outcomes, keepHistory)
		if (lost-- > 0) throw new Error('connection reset')
		return answer
	}
	const relay = await here.relay({ jobs: here.sends() })
	await here.clock.advance(2_000)
	expect(here.sendings).toHaveLength(5)
	expect(relay.stats.sent).toBe(5)
	expect(here.eventsOf('relay_lease_lost')).toEqual([])
	expect(here.eventsOf('relay_sent')).toHaveLength(5)
})
