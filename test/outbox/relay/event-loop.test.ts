/** Effects of a busy relay on the rest of the process. In real time, because a virtual clock stands still while promises run. */
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import { Delivery } from '../../../src/outbox/relay/delivery.ts'
import { DestinationState } from '../../../src/outbox/relay/destination-state.ts'
import type { DestinationSettings } from '../../../src/outbox/relay/options.ts'
import { readDestination, readRelayOptions } from '../../../src/outbox/relay/options.ts'
import type { ClaimedRow } from '../../../src/outbox/store/rows.ts'
import { setup } from './setup.ts'

test('draining SQLite lets timers run (regression: heartbeat and stop were blocked until the queue was empty)', async () => {
	const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), outsideTransaction: 'allow' })
	await outbox.migrate()
	const COUNT = 30_000
	for (let left = COUNT; left > 0; left -= 1_000)
		await outbox.enqueue(Array.from({ length: 1_000 }, (_, n) => ({ topic: 'jobs', payload: n })))
	let sent = 0
	const relay = new Relay(outbox, { destinations: { jobs: () => void sent++ } })
	await relay.start()
	// The number sent when the first timer fires.
	const sentByThen = await new Promise<number>((resolve) => {
		const timer = setInterval(() => {
			if (sent === 0) return
			clearInterval(timer)
			resolve(sent)
		}, 1)
	})
	await relay.stop()
	expect(sentByThen).toBeLessThan(COUNT)
	expect(sent).toBeLessThan(COUNT)
	expect(await outbox.list({ status: 'pending' }, { limit: 1 })).toHaveLength(1)
	await outbox.close()
})

const row = (id: string, attempt = 1): ClaimedRow => ({
	id,
	attempt,
	destination: 'jobs',
	topic: 'jobs',
	key: null,
	sequence: 1,
	payload: '1',
	headers: null,
	maxRetries: null,
	delayMs: null,
	crashes: 0,
	createdAt: 0,
	claimedAt: 0,
	dueAt: 0,
	expiresAt: null,
})

test('a message in flight is not started again if its lease expired and the same relay claimed it again', () => {
	const settings = readRelayOptions({})
	const own: DestinationSettings = readDestination('jobs', () => {}, settings)
	const state = new DestinationState('jobs', own, settings)
	const [slow, quick] = [new Delivery(row('slow'), 100, () => {}), new Delivery(row('quick'), 900, () => {})]
	for (const delivery of [slow, quick]) state.inFlight.add(delivery)
	const claimed = [row('slow', 2), row('new')]
	expect(state.withoutInFlight(claimed, 500, 2_000).map(({ id }) => id)).toEqual(['new'])
	// It continues under the new claim, so that its result is written.
	expect(slow.row.attempt).toBe(2)
	expect(slow.leaseUntil).toBe(2_000)
	// A hung one was already settled, and is due again.
	slow.isSettled = true
	slow.leaseUntil = 100
	expect(state.withoutInFlight(claimed, 500, 2_000)).toEqual(claimed)
})

test('a free key claims only its next message (regression: with one hot key every message scanned the backlog)', async () => {
	await using system = await setup()
	await system.enqueue(30, { key: 'k' })
	const { claim } = system.store
	const wholeLooks: number[] = []
	system.store.claim = (request) => {
		wholeLooks.push(request.targets.filter(({ keys }) => !keys).length)
		return claim.call(system.store, request)
	}
	await system.relay(
		{ jobs: { deliver: system.sends(() => system.pause(1)), order: true } },
		{ pollMs: 60_000 },
	)
	await system.clock.advance(500)
	expect(system.payloads()).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
	expect(wholeLooks.reduce((sum, looks) => sum + looks, 0)).toBeLessThan(10)
})

test('a hung handler does not keep the process alive (regression: its timeout did)', async () => {
	await using system = await setup()
	await system.enqueue(1)
	const relay = await system.relay({ jobs: () => new Promise(() => {}) }, { timeoutMs: 30_000 })
	await system.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 100 })
	await system.clock.advance(1_500)
	await stopped
	expect(system.clock.pendingTimers).toBe(0)
})

test('emits relay_handlers_hung once when hung handlers occupy all slots', async () => {
	await using system = await setup()
	await system.enqueue(5)
	const options = { maxConcurrent: 2, timeoutMs: 200, circuitBreaker: false } as const
	await system.relay({ jobs: () => new Promise(() => {}) }, options)
	await system.clock.advance(10_000)
	expect(system.eventsOf('relay_handlers_hung')).toMatchObject([{ destination: 'jobs', count: 2 }])
})

test('a printed context shows only its attempt (regression: it showed other messages)', async () => {
	await using system = await setup()
	await system.enqueue(1)
	let seen: { copy: object; hasSignal: boolean; text: string } | undefined
	await system.relay({
		jobs: (_, context) => {
			const { signal } = context
			seen = { copy: { ...context }, hasSignal: signal instanceof AbortSignal, text: inspect(context) }
		},
	})
	await system.clock.advance(10)
	expect(seen).toEqual({ copy: { attempt: 0 }, hasSignal: true, text: 'Context { attempt: 0 }' })
})
