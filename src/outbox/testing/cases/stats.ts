/** How much there is, counted to a limit. */
import assert from 'node:assert/strict'
import type { CappedCount, DestinationCounts } from '../../store/store.ts'
import { type CaseTable, HOUR, MANY, MINUTE, near, type StoreHarness, the } from '../harness/harness.ts'
import { retry } from '../harness/settlements.ts'

const of = async (trial: StoreHarness, destination = 'a', limit = MANY): Promise<DestinationCounts> => {
	const { destinations } = await trial.store.stats(limit)
	return the(
		destinations.find((counts) => counts.destination === destination),
		`the figures of ${destination}`,
	)
}

const exactly = (count: number): CappedCount => ({ count, isCapped: false })

const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0)

export const stats: CaseTable = {
	'an empty outbox has nothing to count': async (trial) => {
		const now = await trial.now()
		const told = await trial.store.stats(MANY)
		near(told.now, now, 'now')
		assert.deepEqual(told.destinations, [])
		assert.equal(sum(told.attempts), 0)
		assert.deepEqual(
			told.forecast,
			Array.from({ length: 12 }, () => exactly(0)),
		)
	},

	'due, waiting, in flight and dead are counted for each destination': async (trial) => {
		const notBefore = (await trial.now()) + 2 * HOUR
		await trial.bury()
		await trial.enqueue({}, {}, {})
		await trial.claim({ limit: 2 })
		await trial.enqueue({}, {}, { notBefore }, { notBefore }, { notBefore }, { notBefore })
		await trial.enqueueOne({ destination: 'b' })
		const { due, scheduled, inFlight, dead } = await of(trial)
		assert.deepEqual([due, scheduled, inFlight, dead], [exactly(3), exactly(4), exactly(2), exactly(1)])
		const other = await of(trial, 'b')
		assert.deepEqual(
			[other.due, other.scheduled, other.inFlight, other.dead],
			[exactly(1), exactly(0), exactly(0), exactly(0)],
		)
		assert.equal((await trial.store.stats(MANY)).destinations.length, 2)
	},

	'a destination that has nothing but dead letters is told as well': async (trial) => {
		await trial.bury({ destination: 'grave' })
		const { due, scheduled, inFlight, dead } = await of(trial, 'grave')
		assert.deepEqual([due, scheduled, inFlight, dead], [exactly(0), exactly(0), exactly(0), exactly(1)])
	},

	'what a dead relay had is counted once': async (trial) => {
		await trial.enqueueOne()
		await trial.claimOne({ leaseMs: MINUTE })
		await trial.advance(HOUR)
		const { due, scheduled, inFlight } = await of(trial)
		assert.equal(due.count + scheduled.count + inFlight.count, 1)
	},

	'the oldest lag is that of the message that has been due longest': async (trial) => {
		await trial.enqueueOne()
		await trial.advance(2 * HOUR)
		await trial.enqueueOne()
		await trial.advance(HOUR)
		near((await of(trial)).oldestLagMs, 3 * HOUR, 'oldestLagMs')
	},

	'without anything due there is no lag, and without anything waiting nothing is next': async (trial) => {
		await trial.enqueueOne({ notBefore: (await trial.now()) + 3 * HOUR })
		const waiting = await of(trial)
		assert.equal(waiting.oldestLagMs, null)
		near(waiting.nextDueInMs, 3 * HOUR, 'nextDueInMs')
		await trial.advance(5 * HOUR)
		const due = await of(trial)
		assert.equal(due.nextDueInMs, null)
		near(due.oldestLagMs, 2 * HOUR, 'oldestLagMs')
	},

	'no figure is counted beyond the limit, and it is told': async (trial) => {
		const notBefore = (await trial.now()) + MINUTE
		for (let n = 0; n < 5; n++) await trial.bury()
		await trial.enqueue(...Array.from({ length: 5 }, () => ({})))
		await trial.claim()
		await trial.enqueue(...Array.from({ length: 5 }, () => ({})))
		await trial.enqueue(...Array.from({ length: 5 }, () => ({ notBefore: notBefore + MINUTE })))
		const capped = { count: 3, isCapped: true }
		const told = await of(trial, 'a', 3)
		assert.deepEqual([told.due, told.scheduled, told.dead], [capped, capped, capped])
		assert.ok(told.inFlight.count <= 3)
		const all = await of(trial, 'a', 100)
		assert.deepEqual(
			[all.due, all.scheduled, all.inFlight, all.dead],
			[exactly(5), exactly(5), exactly(5), exactly(5)],
		)
		assert.ok(sum((await trial.store.stats(3)).attempts) <= 3 * 3)
	},

	'attempts are told by how many messages have had so many': async (trial) => {
		await trial.enqueue({}, {}, {}, {})
		await trial.settle((await trial.claim({ limit: 3 })).map((row) => retry(row, 0)))
		const again = await trial.claim({ limit: MANY })
		const [one] = again.filter((row) => row.attempt === 2)
		assert.ok(one)
		const { attempts } = await trial.store.stats(MANY)
		assert.equal(sum(attempts), 4)
		assert.deepEqual([attempts[0], attempts[1], attempts[2]], [0, 1, 3])
	},

	'messages that were not tried yet are told at 0': async (trial) => {
		await trial.enqueue({}, {}, {})
		assert.equal((await trial.store.stats(MANY)).attempts[0], 3)
	},

	'the last of the attempts counts all from there on': async (trial) => {
		await trial.enqueueOne()
		for (let n = 0; n < 60; n++) await trial.settle([retry(await trial.claimOne(), 0)])
		const { attempts } = await trial.store.stats(MANY)
		assert.equal(sum(attempts), 1)
		assert.equal(attempts.at(-1), 1)
	},

	'the forecast tells the next hour by five minutes': async (trial) => {
		const now = await trial.now()
		const minutes = [2, 3, 7, 32, 57, 63, 600]
		await trial.enqueue(...minutes.map((n) => ({ notBefore: now + n * MINUTE })))
		await trial.enqueueOne({ destination: 'b', notBefore: now + 32 * MINUTE })
		await trial.enqueueOne()
		const { forecast } = await trial.store.stats(MANY)
		assert.deepEqual(
			forecast.map((slot) => slot.count),
			[2, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1],
		)
	},

	'the forecast is counted to the limit as well': async (trial) => {
		const notBefore = (await trial.now()) + 7 * MINUTE
		await trial.enqueue(...Array.from({ length: 9 }, () => ({ notBefore })))
		const { forecast } = await trial.store.stats(4)
		assert.deepEqual(forecast[1], { count: 4, isCapped: true })
		assert.equal(forecast.length, 12)
	},

	'where counting the forecast ends, in that slot and in all later ones there may be more': async (trial) => {
		const now = await trial.now()
		const early = Array.from({ length: 60 }, () => ({ notBefore: now + 7 * MINUTE }))
		await trial.enqueue(...early, { notBefore: now + 32 * MINUTE })
		const { forecast } = await trial.store.stats(4)
		assert.deepEqual(forecast[0], exactly(0))
		assert.deepEqual(forecast[1], { count: 4, isCapped: true })
		assert.ok(forecast.slice(2).every((slot) => slot.isCapped))
	},

	'one destination can be asked for alone': async (trial) => {
		const notBefore = (await trial.now()) + 7 * MINUTE
		await trial.enqueue({}, {}, { notBefore }, { destination: 'b' }, { destination: 'b', notBefore })
		await trial.claim({ limit: 1 })
		const told = await trial.store.stats(MANY, 'a')
		assert.deepEqual(
			told.destinations.map(({ destination, due, inFlight }) => [destination, due, inFlight]),
			[['a', exactly(1), exactly(1)]],
		)
		assert.deepEqual([sum(told.attempts), told.attempts[1]], [3, 1])
		assert.deepEqual(told.forecast[1], exactly(1))
		assert.equal(told.hasMoreDestinations, false)
		near(told.now, await trial.now(), 'now')
	},

	'a destination that is asked for and has nothing is told with zeros': async (trial) => {
		await trial.enqueueOne()
		const { destinations, attempts } = await trial.store.stats(MANY, 'nobody')
		assert.equal(sum(attempts), 0)
		assert.deepEqual(
			destinations.map(({ due, scheduled, inFlight, dead }) => [due, scheduled, inFlight, dead]),
			[[exactly(0), exactly(0), exactly(0), exactly(0)]],
		)
	},

	'many destinations share what is counted, equally, and say where it ended': async (trial) => {
		const names = Array.from({ length: 40 }, (_, n) => `d${n}`)
		await trial.enqueue(
			...names.flatMap((destination) => Array.from({ length: 30 }, () => ({ destination }))),
		)
		await trial.enqueueOne({ destination: 'small' })
		const { destinations, hasMoreDestinations } = await trial.store.stats(100)
		assert.deepEqual([destinations.length, hasMoreDestinations], [41, false])
		for (const { destination, due } of destinations)
			if (destination === 'small') assert.deepEqual(due, exactly(1))
			else assert.deepEqual(due, { count: 10, isCapped: true })
		assert.deepEqual((await trial.store.stats(100, 'd7')).destinations[0]?.due, exactly(30))
	},

	'more destinations than a thousand are not told, and that is': async (trial) => {
		const of = (n: number) => ({ destination: `d${String(n).padStart(4, '0')}` })
		await trial.enqueue(...Array.from({ length: 1_000 }, (_, n) => of(n)))
		const all = await trial.store.stats(MANY)
		assert.deepEqual([all.destinations.length, all.hasMoreDestinations], [1_000, false])
		await trial.enqueueOne(of(1_000))
		const most = await trial.store.stats(MANY)
		assert.deepEqual([most.destinations.length, most.hasMoreDestinations], [1_000, true])
	},

	'the time can be asked for alone': async (trial) => {
		const before = await trial.store.now()
		near(before, await trial.now(), 'now')
		await trial.advance(3 * HOUR)
		near(await trial.store.now(), before + 3 * HOUR, 'now')
	},
}
