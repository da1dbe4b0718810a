/** What others in the process notice of a relay that has a lot to do. In real time: a virtual clock stands still while promises run. */
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { Outbox, Relay, sqliteStore } from 'yaoki/outbox'
import { Delivery } from '../../../src/outbox/relay/delivery.ts'
import { DestinationState } from '../../../src/outbox/relay/destination-state.ts'
import type { DestinationSettings } from '../../../src/outbox/relay/options.ts'
import { readDestination, readRelayOptions } from '../../../src/outbox/relay/options.ts'
import type { ClaimedRow } from '../../../src/outbox/store/rows.ts'
import { world } from './world.ts'

test('a drain of SQLite leaves timers their turn: no heartbeat and no stop came through before it was empty', async () => {
	const outbox = new Outbox({ store: sqliteStore(':memory:'), outsideTransaction: 'allow' })
	await outbox.migrate()
	const COUNT = 30_000
	for (let left = COUNT; left > 0; left -= 1_000)
		await outbox.enqueue(Array.from({ length: 1_000 }, (_, n) => ({ topic: 'jobs', payload: n })))
	let sent = 0
	const relay = new Relay(outbox, { destinations: { jobs: () => void sent++ } })
	await relay.start()
	// How far it has come when a timer has its first turn.
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
	...{ id, attempt, destination: 'jobs', topic: 'jobs', key: null, payload: '1', headers: null },
	...{ maxRetries: null, delayMs: null, crashes: 0, createdAt: 0, claimedAt: 0, dueAt: 0, expiresAt: null },
})

test('a message that the relay works on is not begun again when its lease had ended and it was claimed here once more', () => {
	const settings = readRelayOptions({})
	const own: DestinationSettings = readDestination('jobs', () => {}, settings)
	const lane = new DestinationState('jobs', own, settings, undefined)
	const [slow, quick] = [new Delivery(row('slow'), 100, () => {}), new Delivery(row('quick'), 900, () => {})]
	for (const delivery of [slow, quick]) lane.inFlight.add(delivery)
	const claimed = [row('slow', 2), row('new')]
	expect(lane.withoutInFlight(claimed, 500, 2_000).map(({ id }) => id)).toEqual(['new'])
	// It goes on under the new number, so that its outcome is written.
	expect(slow.row.attempt).toBe(2)
	expect(slow.leaseUntil).toBe(2_000)
	// One that has had its time and hangs is another matter: it was given up, and is due again.
	slow.isSettled = true
	slow.leaseUntil = 100
	expect(lane.withoutInFlight(claimed, 500, 2_000)).toEqual(claimed)
})

test('a freed key asks for its next message and for nothing else: with one hot key every message cost a look through its backlog', async () => {
	await using here = await world()
	await here.enqueue(30, { key: 'k' })
	const { claim } = here.store
	const wholeLooks: number[] = []
	here.store.claim = (request) => {
		wholeLooks.push(request.targets.filter(({ keys }) => !keys).length)
		return claim.call(here.store, request)
	}
	await here.relay({ jobs: { deliver: here.sends(() => here.pause(1)), order: true } }, { pollMs: 60_000 })
	await here.clock.advance(500)
	expect(here.payloads()).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
	expect(wholeLooks.reduce((sum, looks) => sum + looks, 0)).toBeLessThan(10)
})

test('a process may end while a handler never does: its time limit kept it alive for as long as it had left', async () => {
	await using here = await world()
	await here.enqueue(1)
	const relay = await here.relay({ jobs: () => new Promise(() => {}) }, { timeoutMs: 30_000 })
	await here.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 100 })
	await here.clock.advance(1_500)
	await stopped
	expect(here.clock.pendingTimers).toBe(0)
})

test('handlers that have had their time and do not end are told of, once, for they hold their destination up', async () => {
	await using here = await world()
	await here.enqueue(5)
	const options = { concurrency: 2, timeoutMs: 200, breaker: false } as const
	await here.relay({ jobs: () => new Promise(() => {}) }, options)
	await here.clock.advance(10_000)
	expect(here.eventsOf('handlers_hung')).toMatchObject([{ key: 'jobs', count: 2 }])
})

test('a context shows its attempt and nothing of the relay’s own: other messages stood in the logs of who printed it', async () => {
	await using here = await world()
	await here.enqueue(1)
	let seen: { copy: object; hasSignal: boolean; text: string } | undefined
	await here.relay({
		jobs: (_, context) => {
			const { signal } = context
			seen = { copy: { ...context }, hasSignal: signal instanceof AbortSignal, text: inspect(context) }
		},
	})
	await here.clock.advance(10)
	expect(seen).toEqual({ copy: { attempt: 0 }, hasSignal: true, text: 'Context { attempt: 0 }' })
})
