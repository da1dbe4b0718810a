import { expect, it } from 'vitest'
import { readStats } from '../../../src/outbox/diagnostics/stats.ts'
import { circuit, FakeStore, idOf, letter, message, NOW, relay } from './fake-store.ts'

const at = (n: number, given: Parameters<typeof message>[0]) => message({ id: idOf(n), ...given })

it('counts messages by state, per destination and in total', async () => {
	const store = new FakeStore([
		at(1, { dueAt: NOW - 5_000 }),
		at(2, { dueAt: NOW + 60_000 }),
		at(3, { status: 'processing' }),
		letter(4),
		at(5, { destination: 'mail', dueAt: NOW - 9_000 }),
		at(6, { destination: 'mail', dueAt: NOW + 30_000 }),
	])
	const stats = await readStats(store)
	const of = (count: number) => ({ count, isCapped: false })
	expect(stats.totals).toEqual({
		due: of(2),
		scheduled: of(2),
		inFlight: of(1),
		dead: of(1),
		failing: of(0),
		failingShare: 0,
		maxAttempts: 0,
		oldestLagMs: 9_000,
		oldestAgeMs: 60_000,
		nextDueInMs: 30_000,
		blockedByDead: { keys: of(0), messages: of(0), worst: null },
		blockedByRetry: { keys: of(0), messages: of(0), worst: null },
	})
	expect(stats.destinations.map(({ destination, due }) => [destination, due.count])).toEqual([
		['billing', 1],
		['mail', 1],
	])
	expect(stats.now).toEqual(new Date(NOW))
	expect(stats.attempts).toEqual([3, 2, 1])
})

it('returns zeros for an empty outbox', async () => {
	const store = new FakeStore()
	store.relayRows = []
	expect(await readStats(store)).toMatchObject({
		totals: { due: { count: 0, isCapped: false }, oldestLagMs: null, nextDueInMs: null },
		destinations: [],
		throughput: 0,
		relays: [],
		circuits: [],
	})
})

it('caps each count at 10,000', async () => {
	const store = new FakeStore(Array.from({ length: 10_001 }, (_, index) => at(index, {})))
	const stats = await readStats(store)
	expect(store.statsLimits).toEqual([10_000])
	expect(stats.totals.due).toEqual({ count: 10_000, isCapped: true })
})

it('reports that there are more destinations, with capped totals', async () => {
	const store = new FakeStore([at(1, {})])
	expect(await readStats(store)).toMatchObject({ hasMoreDestinations: false })
	store.hasMoreDestinations = true
	expect(await readStats(store)).toMatchObject({
		hasMoreDestinations: true,
		totals: { due: { count: 1, isCapped: true }, dead: { count: 0, isCapped: true } },
	})
})

it('forecasts the next hour in steps of five minutes', async () => {
	const { forecast } = await readStats(new FakeStore())
	expect(forecast).toHaveLength(12)
	expect(forecast[11]).toEqual({ fromMs: 3_300_000, toMs: 3_600_000, count: 11, isCapped: false })
})

it('sums the throughput of relays that are alive', async () => {
	const store = new FakeStore()
	store.relayRows = [
		relay(),
		relay({ id: 'relay-2', throughput: 2 }),
		relay({ id: 'gone', seenAt: NOW - 60_000 }),
	]
	const { throughput, relays } = await readStats(store)
	expect(throughput).toBe(42)
	expect(relays.map(({ id }) => id)).toEqual(['relay-1', 'relay-2'])
	expect(relays[0]?.seenAt).toEqual(new Date(NOW - 1_000))
})

it('includes circuits of destinations without queued messages', async () => {
	const store = new FakeStore([at(1, { destination: 'mail' })])
	store.relayRows = [relay({ destinations: ['billing', '*'] })]
	store.circuitRows = [
		circuit(),
		circuit({ destination: 'mail', state: 'half-open', pausedForMs: 0, reason: 'probe' }),
	]
	const { circuits } = await readStats(store)
	expect(circuits).toContainEqual({
		destination: 'billing',
		state: 'open',
		pausedForMs: 12_000,
		reason: 'circuit-open',
	})
	expect(circuits).toHaveLength(2)
})

const blockedKey = (key: string, count: number) => ({
	keys: { count: 1, isCapped: false },
	messages: { count, isCapped: false },
	worst: { key, id: idOf(1), forMs: 1_000, messages: { count, isCapped: false } },
})

it('sums blocked keys, and names the one with most messages', async () => {
	const store = new FakeStore([at(1, {}), at(2, { destination: 'mail' })])
	store.counts = {
		billing: { blockedByDead: blockedKey('a', 2) },
		mail: { blockedByDead: blockedKey('b', 7) },
	}
	const { blockedByDead } = (await readStats(store)).totals
	expect(blockedByDead).toMatchObject({ keys: { count: 2 }, messages: { count: 9 }, worst: { key: 'b' } })
})

it('reports messages behind a failing one only for destinations that keep order', async () => {
	const store = new FakeStore([at(1, {}), at(2, { destination: 'mail' })])
	store.counts = {
		billing: { blockedByRetry: blockedKey('a', 2) },
		mail: { blockedByRetry: blockedKey('b', 7) },
	}
	store.relayRows = [relay({ destinations: ['*'], orderedDestinations: ['billing'] })]
	const { totals, destinations } = await readStats(store)
	expect(totals.blockedByRetry.worst?.key).toBe('a')
	expect(destinations.map(({ blockedByRetry }) => blockedByRetry.messages.count)).toEqual([2, 0])
})

it('computes the share of failing messages of each destination', async () => {
	const error = { type: 'Error', message: 'no', fingerprint: 'f' }
	const store = new FakeStore([at(1, { error }), at(2, {}), at(3, { destination: 'mail', error }), letter(4)])
	store.put(letter(5, { destination: 'gone' }))
	const { totals, destinations } = await readStats(store)
	expect(destinations.map(({ failingShare }) => failingShare)).toEqual([0.5, 1, null])
	expect(totals.failingShare).toBeCloseTo(2 / 3)
})

it('never exceeds a share of 1 if a count is capped', async () => {
	const store = new FakeStore([at(1, {})])
	store.counts = { billing: { failing: { count: 10_000, isCapped: true } } }
	expect((await readStats(store)).totals.failingShare).toBe(1)
})

it('considers a relay ended when three of its heartbeats are missing, or if it is ahead of a clock that was set back', async () => {
	const store = new FakeStore()
	store.relayRows = [
		relay({ id: 'late', seenAt: NOW - 15_000 }),
		relay({ id: 'ended', seenAt: NOW - 15_001 }),
		relay({ id: 'slow', seenAt: NOW - 60_000, heartbeatMs: 20_000 }),
		relay({ id: 'short lease', seenAt: NOW - 1_000, heartbeatMs: 20 }),
		relay({ id: 'before the clock was set back', seenAt: NOW + 3_600_000 }),
	]
	store.clockBehindMs = 3_600_000
	const { relays, endedRelays, clockBehindMs } = await readStats(store)
	expect(relays.map(({ id }) => id)).toEqual(['late', 'slow', 'short lease'])
	expect(endedRelays.map(({ id }) => id)).toEqual(['ended', 'before the clock was set back'])
	expect(clockBehindMs).toBe(3_600_000)
})
