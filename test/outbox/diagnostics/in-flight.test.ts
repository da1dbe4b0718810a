/** Stores look at the oldest that are due for what is in flight: with more due than that it was told as "0 or more". */
import { expect, it } from 'vitest'
import { readStats } from '../../../src/outbox/diagnostics/stats.ts'
import type { RelayRow } from '../../../src/outbox/store/rows.ts'
import type { CappedCount } from '../../../src/outbox/store/store.ts'
import { FakeStore, idOf, message, NOW, relay } from './fake-store.ts'

const exactly = (count: number): CappedCount => ({ count, isCapped: false })
const orMore = (count: number): CappedCount => ({ count, isCapped: true })

/** What is told of these destinations, and in all. */
const told = async (inFlight: Readonly<Record<string, CappedCount>>, relays: readonly RelayRow[]) => {
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

it('a count that came to its end is told as it is, whatever the relays say', async () => {
	expect(await told({ billing: exactly(3) }, [relay({ inFlight: 7 })])).toEqual({
		billing: exactly(3),
		all: exactly(3),
	})
})

it('with nobody sending anything there is none, and not "0 or more"', async () => {
	expect(await told({ billing: orMore(0) }, [relay()])).toEqual({ billing: exactly(0), all: exactly(0) })
	expect(await told({ billing: orMore(0) }, [])).toEqual({ billing: exactly(0), all: exactly(0) })
})

it('what relays say they send is told where the count was ended', async () => {
	const relays = [
		relay({ inFlight: 7 }),
		relay({ id: 'relay-2', inFlight: 5 }),
		relay({ id: 'gone', inFlight: 9, seenAt: NOW - 60_000 }),
	]
	expect(await told({ billing: orMore(0) }, relays)).toEqual({ billing: exactly(12), all: exactly(12) })
})

it('what was found is not told as less, for the relays speak only now and then', async () => {
	expect(await told({ billing: orMore(9) }, [relay({ inFlight: 7 })])).toEqual({
		billing: orMore(9),
		all: orMore(9),
	})
})

it('what a relay sends elsewhere is taken off', async () => {
	const relays = [
		relay({ destinations: ['*'], inFlight: 10 }),
		relay({ id: 'relay-2', destinations: ['post'], inFlight: 50 }),
	]
	expect(await told({ billing: orMore(2), mail: exactly(4) }, relays)).toEqual({
		billing: exactly(6),
		mail: exactly(4),
		all: exactly(10),
	})
})

it('a destination that is held beside one that is busy has none', async () => {
	const relays = [relay({ destinations: ['billing', 'mail'], inFlight: 8 })]
	expect(await told({ billing: orMore(0), mail: orMore(8) }, relays)).toEqual({
		billing: exactly(0),
		mail: orMore(8),
		all: orMore(8),
	})
})

it('what can not be divided between two is told in all', async () => {
	const relays = [relay({ destinations: ['billing', 'mail'], inFlight: 30 })]
	expect(await told({ billing: orMore(3), mail: orMore(8) }, relays)).toEqual({
		billing: orMore(3),
		mail: orMore(8),
		all: exactly(30),
	})
})
