/** Counts at a bounded cost. */
import assert from 'node:assert/strict'
import type { CappedCount, DestinationCounts } from '../../store/store-stats.ts'
import { assertNear, HOUR, MINUTE, required, sum } from '../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../harness/harness.ts'
import { dead, retry } from '../harness/settlements.ts'

const of = async (t: StoreHarness, destination = 'a', limit = MANY): Promise<DestinationCounts> => {
	const { destinations } = await t.store.stats(limit)
	return required(
		destinations.find((counts) => counts.destination === destination),
		`the figures of ${destination}`,
	)
}

const exactly = (count: number): CappedCount => ({ count, isCapped: false })

const CAPPED_AT_4 = { count: 4, isCapped: true }

/** Asserts exact counts of due, scheduled, in-flight and dead messages. */
const expectCounts = (found: DestinationCounts, ...expected: readonly number[]): void => {
	const { due, scheduled, inFlight, dead } = found
	assert.deepEqual([due, scheduled, inFlight, dead], expected.map(exactly))
}

export const stats: CaseTable = {
	'returns zeros for an empty outbox': async (t) => {
		const now = await t.now()
		const found = await t.store.stats(MANY)
		assertNear(found.now, now, 'now')
		assert.deepEqual(found.destinations, [])
		assert.equal(sum(found.attempts), 0)
		assert.deepEqual(found.forecast, Array(12).fill(exactly(0)))
	},

	'counts due, scheduled, in-flight and dead messages per destination': async (t) => {
		const notBefore = (await t.now()) + 2 * HOUR
		await t.addDeadLetter()
		await t.enqueue({}, {}, {})
		await t.claim({ limit: 2 })
		await t.enqueue({}, {}, { notBefore }, { notBefore }, { notBefore }, { notBefore })
		await t.enqueueOne({ destination: 'b' })
		expectCounts(await of(t), 3, 4, 2, 1)
		expectCounts(await of(t, 'b'), 1, 0, 0, 0)
		assert.equal((await t.store.stats(MANY)).destinations.length, 2)
	},

	'includes a destination with only dead letters': async (t) => {
		await t.addDeadLetter({ destination: 'grave' })
		expectCounts(await of(t, 'grave'), 0, 0, 0, 1)
	},

	'counts a message of a crashed relay once': async (t) => {
		await t.enqueueOne()
		await t.crash()
		const { due, scheduled, inFlight } = await of(t)
		assert.equal(due.count + scheduled.count + inFlight.count, 1)
	},

	'oldestLagMs is the lag of the message that has been due longest': async (t) => {
		await t.enqueueOne()
		await t.advance(2 * HOUR)
		await t.enqueueOne()
		await t.advance(HOUR)
		assertNear((await of(t)).oldestLagMs, 3 * HOUR, 'oldestLagMs')
	},

	'oldestLagMs and nextDueInMs are null without due and scheduled messages': async (t) => {
		await t.enqueueOne({ notBefore: (await t.now()) + 3 * HOUR })
		const scheduled = await of(t)
		assert.equal(scheduled.oldestLagMs, null)
		assertNear(scheduled.nextDueInMs, 3 * HOUR, 'nextDueInMs')
		await t.advance(5 * HOUR)
		const due = await of(t)
		assert.equal(due.nextDueInMs, null)
		assertNear(due.oldestLagMs, 2 * HOUR, 'oldestLagMs')
	},

	'counts no further than the limit and says so': async (t) => {
		const notBefore = (await t.now()) + MINUTE
		for (let n = 0; n < 5; n++) await t.addDeadLetter()
		await t.enqueueMany(5)
		await t.claim()
		await t.enqueueMany(5)
		await t.enqueueMany(5, { notBefore: notBefore + MINUTE })
		const capped = { count: 3, isCapped: true }
		const found = await of(t, 'a', 3)
		assert.deepEqual([found.due, found.scheduled, found.dead], [capped, capped, capped])
		assert.ok(found.inFlight.count <= 3)
		expectCounts(await of(t, 'a', 100), 5, 5, 5, 5)
		assert.ok(sum((await t.store.stats(3)).attempts) <= 3 * 3)
	},

	'counts messages by attempts': async (t) => {
		await t.enqueue({}, {}, {}, {})
		await t.settle((await t.claim({ limit: 3 })).map((row) => retry(row, 0)))
		await t.claimMany(4)
		const { attempts } = await t.store.stats(MANY)
		assert.equal(sum(attempts), 4)
		assert.deepEqual(attempts.slice(0, 3), [0, 1, 3])
	},

	'counts messages without an attempt at index 0': async (t) => {
		await t.enqueue({}, {}, {})
		assert.equal((await t.store.stats(MANY)).attempts[0], 3)
	},

	'the last attempts count includes all higher numbers': async (t) => {
		await t.enqueueOne()
		for (let n = 0; n < 60; n++) await t.fail(0)
		const { attempts } = await t.store.stats(MANY)
		assert.equal(sum(attempts), 1)
		assert.equal(attempts.at(-1), 1)
	},

	'forecasts the next hour in steps of five minutes': async (t) => {
		const now = await t.now()
		const minutes = [2, 3, 7, 32, 57, 63, 600]
		await t.enqueue(...minutes.map((n) => ({ notBefore: now + n * MINUTE })))
		await t.enqueueOne({ destination: 'b', notBefore: now + 32 * MINUTE })
		await t.enqueueOne()
		const { forecast } = await t.store.stats(MANY)
		assert.deepEqual(forecast, [2, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1].map(exactly))
	},

	'counts the forecast up to the limit': async (t) => {
		const notBefore = (await t.now()) + 7 * MINUTE
		await t.enqueueMany(9, { notBefore })
		const { forecast } = await t.store.stats(4)
		assert.deepEqual(forecast[1], CAPPED_AT_4)
		assert.equal(forecast.length, 12)
	},

	'marks the slot where counting stopped and all later ones as capped': async (t) => {
		const now = await t.now()
		await t.enqueueMany(60, { notBefore: now + 7 * MINUTE })
		await t.enqueueOne({ notBefore: now + 32 * MINUTE })
		const { forecast } = await t.store.stats(4)
		assert.deepEqual(forecast.slice(0, 2), [exactly(0), CAPPED_AT_4])
		assert.ok(forecast.slice(2).every((slot) => slot.isCapped))
	},

	'counts a single destination': async (t) => {
		const notBefore = (await t.now()) + 7 * MINUTE
		await t.enqueue({}, {}, { notBefore }, { destination: 'b' }, { destination: 'b', notBefore })
		await t.claim({ limit: 1 })
		const found = await t.store.stats(MANY, 'a')
		const [counts, ...others] = found.destinations
		assert.deepEqual([counts?.destination, others], ['a', []])
		expectCounts(required(counts, 'the counts'), 1, 1, 1, 0)
		assert.deepEqual([sum(found.attempts), found.attempts[1]], [3, 1])
		assert.deepEqual(found.forecast[1], exactly(1))
		assert.equal(found.hasMoreDestinations, false)
		assertNear(found.now, await t.now(), 'now')
	},

	'returns zeros for a single empty destination': async (t) => {
		await t.enqueueOne()
		const { destinations, attempts } = await t.store.stats(MANY, 'unused')
		assert.deepEqual([sum(attempts), destinations.length], [0, 1])
		expectCounts(required(destinations[0], 'the counts'), 0, 0, 0, 0)
	},

	'divides the limit equally among many destinations and marks capped counts': async (t) => {
		const names = Array.from({ length: 40 }, (_, n) => `d${n}`)
		for (const destination of names) await t.enqueueMany(30, { destination })
		await t.enqueueOne({ destination: 'small' })
		const { destinations, hasMoreDestinations } = await t.store.stats(100)
		assert.deepEqual([destinations.length, hasMoreDestinations], [41, false])
		for (const { destination, due } of destinations)
			if (destination === 'small') assert.deepEqual(due, exactly(1))
			else assert.deepEqual(due, { count: 10, isCapped: true })
		assert.deepEqual((await t.store.stats(100, 'd7')).destinations[0]?.due, exactly(30))
	},

	'counts a thousand destinations and says that there are more': async (t) => {
		const of = (n: number) => ({ destination: `d${String(n).padStart(4, '0')}` })
		await t.enqueue(...Array.from({ length: 1_000 }, (_, n) => of(n)))
		const all = await t.store.stats(MANY)
		assert.deepEqual([all.destinations.length, all.hasMoreDestinations], [1_000, false])
		await t.enqueueOne(of(1_000))
		const most = await t.store.stats(MANY)
		assert.deepEqual([most.destinations.length, most.hasMoreDestinations], [1_000, true])
	},

	'now returns the time of the database': async (t) => {
		const before = await t.store.now()
		assertNear(before, await t.now(), 'now')
		await t.advance(3 * HOUR)
		assertNear(await t.store.now(), before + 3 * HOUR, 'now')
	},
}

const countsOf = async (t: StoreHarness, destination = 'a', limit = MANY): Promise<DestinationCounts> => {
	const all = (await t.store.stats(limit)).destinations.find((one) => one.destination === destination)
	const [one] = (await t.store.stats(limit, destination)).destinations
	const { blockedByDead, blockedByRetry, failing, maxAttempts } = required(one, 'the counts')
	assert.deepEqual(
		{ blockedByDead, blockedByRetry, failing, maxAttempts },
		{
			blockedByDead: { ...all?.blockedByDead, worst: blockedByDead.worst },
			blockedByRetry: { ...all?.blockedByRetry, worst: blockedByRetry.worst },
			failing: all?.failing,
			maxAttempts: all?.maxAttempts,
		},
		'the counts of one destination are the same as among all',
	)
	return required(one, 'the counts')
}

const ageOf = async (t: StoreHarness): Promise<number | null> => (await countsOf(t)).oldestAgeMs

const NOTHING = { keys: exactly(0), messages: exactly(0), worst: null }

/** Claims the first message of a key and fails it `times` times; the last retry is in an hour. */
const failFirst = async (t: StoreHarness, times: number, lastMs = HOUR): Promise<string> => {
	for (let n = 1; ; n++) {
		const row = await t.claimOne({ isOrdered: true, limit: 1 })
		await t.settle([retry(row, n === times ? lastMs : 0)])
		if (n === times) return row.id
	}
}

export const ages: CaseTable = {
	'is null without messages that are or were due': async (t) => {
		await t.enqueueOne({ notBefore: (await t.now()) + HOUR })
		await t.advance(30 * MINUTE)
		assert.equal(await ageOf(t), null)
	},

	'counts from the time when a message was enqueued': async (t) => {
		await t.enqueueOne()
		await t.advance(2 * HOUR)
		await t.enqueueOne()
		assertNear(await ageOf(t), 2 * HOUR, 'oldestAgeMs')
	},

	'includes a message that waits for a retry': async (t) => {
		await t.enqueueOne()
		await t.advance(HOUR)
		await t.fail(HOUR)
		await t.advance(2 * HOUR)
		await t.fail(9 * HOUR)
		await t.advance(2 * HOUR)
		await t.enqueueOne()
		assertNear(await ageOf(t), 5 * HOUR, 'oldestAgeMs')
	},

	'includes a message in flight': async (t) => {
		await t.enqueueOne()
		await t.advance(2 * HOUR)
		await t.claimOne({ leaseMs: 9 * HOUR })
		await t.advance(HOUR)
		assertNear(await ageOf(t), 3 * HOUR, 'oldestAgeMs')
	},

	'counts from notBefore, also after a failure': async (t) => {
		await t.enqueueOne({ notBefore: (await t.now()) + 20 * HOUR })
		await t.advance(21 * HOUR)
		assertNear(await ageOf(t), HOUR, 'oldestAgeMs of a due message')
		await t.fail(9 * HOUR)
		await t.advance(HOUR)
		assertNear(await ageOf(t), 2 * HOUR, 'oldestAgeMs after a failure')
	},

	'counts from a replay': async (t) => {
		await t.addDeadLetter()
		await t.advance(5 * HOUR)
		await t.replay({}, MANY)
		await t.advance(HOUR)
		assertNear(await ageOf(t), HOUR, 'oldestAgeMs of a due message')
		await t.fail(9 * HOUR)
		await t.advance(HOUR)
		assertNear(await ageOf(t), 2 * HOUR, 'oldestAgeMs after a failure')
	},

	'ends when the oldest message is sent': async (t) => {
		const id = await t.enqueueOne()
		await t.fail(0)
		await t.advance(2 * HOUR)
		await t.enqueueOne({ destination: 'b' })
		await t.send(id)
		assert.equal((await t.store.stats(MANY, 'a')).destinations[0]?.oldestAgeMs, null)
	},
}

export const failures: CaseTable = {
	'counts messages whose latest attempt failed': async (t) => {
		await t.enqueue({}, {}, {}, { destination: 'b' })
		const [one, two] = await t.claim()
		await t.settle([retry(required(one, 'a row'), HOUR), retry(required(two, 'a row'), 0)])
		await t.enqueueOne()
		assert.deepEqual((await countsOf(t)).failing, exactly(2))
		assert.deepEqual((await countsOf(t, 'b')).failing, exactly(0))
	},

	'keeps counting a failed message while it is in flight again': async (t) => {
		await t.enqueueOne()
		await t.fail(0)
		await t.claimOne()
		assert.deepEqual((await countsOf(t)).failing, exactly(1))
	},

	'does not count a replayed message': async (t) => {
		await t.addDeadLetter()
		await t.replay({}, MANY)
		const { failing, maxAttempts } = await countsOf(t)
		assert.deepEqual([failing, maxAttempts], [exactly(0), 0])
	},

	'counts failing messages up to the limit': async (t) => {
		await t.enqueueMany(15)
		await t.settle((await t.claim()).map((row) => retry(row, HOUR)))
		assert.deepEqual((await countsOf(t, 'a', 12)).failing, { count: 12, isCapped: true })
	},

	'returns the most attempts of a message': async (t) => {
		await t.enqueueOne()
		for (let n = 0; n < 15; n++) await t.fail(n === 14 ? HOUR : 0)
		await t.enqueueOne()
		assert.equal((await countsOf(t)).maxAttempts, 15)
	},
}

export const blockedKeys: CaseTable = {
	'counts nothing without blocked keys': async (t) => {
		await t.enqueue({ key: 'k' }, { key: 'k' }, {})
		const { blockedByDead, blockedByRetry } = await countsOf(t)
		assert.deepEqual([blockedByDead, blockedByRetry], [NOTHING, NOTHING])
	},

	'counts keys and messages behind a dead letter': async (t) => {
		await t.enqueue({ key: 'k' })
		await t.deadLetterHead('block')
		const [blocking] = await t.list({ status: 'dead' })
		await t.advance(2 * HOUR)
		await t.enqueueMany(3, { key: 'k' })
		await t.enqueue({ key: 'free' }, {})
		const { blockedByDead, blockedByRetry } = await countsOf(t)
		const { worst, ...counts } = blockedByDead
		assert.deepEqual(counts, { keys: exactly(1), messages: exactly(3) })
		const { forMs, ...rest } = required(worst, 'the worst key')
		assert.deepEqual(rest, { key: 'k', id: blocking, messages: exactly(3) })
		assertNear(forMs, 2 * HOUR, 'forMs')
		assert.deepEqual(blockedByRetry, NOTHING)
	},

	'does not count a dead letter without messages behind it, or one that blocks nothing': async (t) => {
		await t.enqueueOne({ key: 'alone' })
		await t.deadLetterHead('block')
		await t.enqueueOne({ key: 'skipped' })
		await t.deadLetterHead('skip')
		await t.enqueueOne({ key: 'skipped' })
		assert.deepEqual((await countsOf(t)).blockedByDead, NOTHING)
	},

	'does not count messages before the dead letter': async (t) => {
		const [first] = await t.enqueue({ key: 'k' }, { key: 'k' })
		const rows = await t.claim()
		const second = required(
			rows.find(({ id }) => id !== first),
			'the second',
		)
		await t.settle([dead(second, { afterDeadLetter: 'block' })])
		assert.deepEqual((await countsOf(t)).blockedByDead, NOTHING)
	},

	'names the key with most messages': async (t) => {
		for (const key of ['x', 'y', 'z']) {
			await t.enqueueOne({ key })
			await t.deadLetterHead('block')
		}
		await t.enqueue({ key: 'x' }, { key: 'y' }, { key: 'y' })
		const { keys, messages, worst } = (await countsOf(t)).blockedByDead
		assert.deepEqual([keys, messages, worst?.key], [exactly(2), exactly(3), 'y'])
	},

	'counts messages behind a dead letter up to the limit': async (t) => {
		await t.enqueueOne({ key: 'k' })
		await t.deadLetterHead('block')
		await t.enqueueMany(15, { key: 'k' })
		const { keys, messages } = (await countsOf(t, 'a', 12)).blockedByDead
		assert.deepEqual([keys, messages], [exactly(1), { count: 12, isCapped: true }])
	},

	'counts messages behind one that waits long for its retry': async (t) => {
		const [first] = await t.enqueue({ key: 'k' }, { key: 'k' }, { key: 'k' })
		await failFirst(t, 1)
		const { worst, ...counts } = (await countsOf(t)).blockedByRetry
		assert.deepEqual(counts, { keys: exactly(1), messages: exactly(2) })
		assert.deepEqual([worst?.key, worst?.id, worst?.messages], ['k', first, exactly(2)])
	},

	'counts messages behind one that failed twice, also while it is in flight': async (t) => {
		await t.enqueue({ key: 'k' }, { key: 'k' })
		await failFirst(t, 2, 0)
		assert.deepEqual((await countsOf(t)).blockedByRetry.keys, exactly(1))
		await t.claimOne({ isOrdered: true })
		assert.deepEqual((await countsOf(t)).blockedByRetry.keys, exactly(1))
	},

	'does not count messages behind one that failed once and is due soon': async (t) => {
		await t.enqueue({ key: 'k' }, { key: 'k' })
		await failFirst(t, 1, 1_000)
		assert.deepEqual((await countsOf(t)).blockedByRetry, NOTHING)
		await t.advance(MINUTE)
		await t.claimOne({ isOrdered: true })
		assert.deepEqual((await countsOf(t)).blockedByRetry, NOTHING)
	},

	'does not count a failed message without messages behind it': async (t) => {
		await t.enqueue({ key: 'k' }, { key: 'other' }, {})
		await failFirst(t, 1)
		assert.deepEqual((await countsOf(t)).blockedByRetry, NOTHING)
	},
}

export const clockChanges: CaseTable = {
	'reports nothing while the clock runs forward': async (t) => {
		await t.enqueueOne({ notBefore: (await t.now()) + HOUR })
		await t.enqueueAndClaim()
		await t.advance(HOUR)
		assert.equal((await t.store.stats(MANY)).clockBehindMs, 0)
	},

	'reports a clock that was set back, by messages': async (t) => {
		await t.enqueueOne()
		await t.advance(-2 * HOUR)
		assertNear((await t.store.stats(MANY)).clockBehindMs, 2 * HOUR, 'clockBehindMs')
		assertNear((await t.store.stats(MANY, 'a')).clockBehindMs, 2 * HOUR, 'clockBehindMs')
		await t.advance(3 * HOUR)
		assert.equal((await t.store.stats(MANY)).clockBehindMs, 0)
	},

	'reports a clock that was set back, by claims': async (t) => {
		await t.enqueueOne()
		await t.advance(4 * HOUR)
		await t.claimOne()
		await t.advance(-2 * HOUR)
		assertNear((await t.store.stats(MANY)).clockBehindMs, 2 * HOUR, 'clockBehindMs')
	},

	'reports a clock that was set back, by relays': async (t) => {
		const counts = { inFlight: 0, sent: 0, failed: 0, dead: 0, throughput: 0 }
		const names = { id: 'r', host: 'h', pid: 1, destinations: [], orderedDestinations: [] }
		await t.store.heartbeat({ ...names, ...counts, heartbeatMs: 5_000 }, HOUR)
		await t.advance(-2 * HOUR)
		assertNear((await t.store.stats(MANY)).clockBehindMs, 2 * HOUR, 'clockBehindMs')
	},

	'ages are not negative': async (t) => {
		await t.enqueueOne()
		await t.fail(0)
		await t.advance(-2 * HOUR)
		const { oldestAgeMs, oldestLagMs } = await countsOf(t)
		assert.ok((oldestAgeMs ?? 0) >= 0 && (oldestLagMs ?? 0) >= 0)
	},
}
