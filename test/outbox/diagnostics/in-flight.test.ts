/** Stores count in-flight messages only among the oldest due ones; regression: with more due messages the result was "0 or more". */
import { expect, it } from 'vitest'
import { readStats } from '../../../src/outbox/diagnostics/stats.ts'
import type { RelayRow } from '../../../src/outbox/store/rows.ts'
import type { CappedCount } from '../../../src/outbox/store/store-stats.ts'
import { FakeStore, idOf, message, NOW, relay } from './fake-store.ts'

const exactly = (count: number): CappedCount => ({ count, isCapped: false })
const orMore = (count: number): CappedCount => ({ count, isCapped: true })

/** Returns the in-flight counts of these destinations, and in total. */
const counted = async (inFlight: Readonly<Record<string, CappedCount>>, relays: readonly RelayRow[]) => {
	const names = Object.keys(inFlight)
	const store = new FakeStore(names.map((destination, at) => message({ id: idOf(at), destination })))
	store.counts = Object.fromEntries(names.map((name) => [name, { inFlight: inFlight[name] ?? exactly(0) }]))
	store.relayRows = relays
	const { destinations, totals } = await readStats(store)
	return {
		...Object.fromEntries(destinations.map((one) => [one.destination, one.inFlight])),
		all: totals.inFlight,
	}
}

it('keeps a complete count, whatever the relays report', async () => {
	expect(await counted({ billing: exactly(3) }, [relay({ inFlight: 7 })])).toEqual({
		billing: exactly(3),
		all: exactly(3),
	})
})

it('returns 0 if no relay reports messages in flight', async () => {
	expect(await counted({ billing: orMore(0) }, [relay()])).toEqual({ billing: exactly(0), all: exactly(0) })
	expect(await counted({ billing: orMore(0) }, [])).toEqual({ billing: exactly(0), all: exactly(0) })
})

it('uses the relays report for a capped count', async () => {
	const relays = [
		relay({ inFlight: 7 }),
		relay({ id: 'relay-2', inFlight: 5 }),
		relay({ id: 'gone', inFlight: 9, seenAt: NOW - 60_000 }),
	]
	expect(await counted({ billing: orMore(0) }, relays)).toEqual({ billing: exactly(12), all: exactly(12) })
})

it('never reports less than the count, because reports may be old', async () => {
	expect(await counted({ billing: orMore(9) }, [relay({ inFlight: 7 })])).toEqual({
		billing: orMore(9),
		all: orMore(9),
	})
})

it('subtracts what a relay sends to other destinations', async () => {
	const relays = [
		relay({ destinations: ['*'], inFlight: 10 }),
		relay({ id: 'relay-2', destinations: ['post'], inFlight: 50 }),
	]
	expect(await counted({ billing: orMore(2), mail: exactly(4) }, relays)).toEqual({
		billing: exactly(6),
		mail: exactly(4),
		all: exactly(10),
	})
})

it('returns 0 for a paused destination beside a busy one', async () => {
	const relays = [relay({ destinations: ['billing', 'mail'], inFlight: 8 })]
	expect(await counted({ billing: orMore(0), mail: orMore(8) }, relays)).toEqual({
		billing: exactly(0),
		mail: orMore(8),
		all: orMore(8),
	})
})

it('returns only a total if it cannot be divided', async () => {
	const relays = [relay({ destinations: ['billing', 'mail'], inFlight: 30 })]
	expect(await counted({ billing: orMore(3), mail: orMore(8) }, relays)).toEqual({
		billing: orMore(3),
		mail: orMore(8),
		all: exactly(30),
	})
})
