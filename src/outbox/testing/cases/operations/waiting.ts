/** How old messages are, which ones fail, which keys are blocked, and a clock that was set back. */
import assert from 'node:assert/strict'
import type { DestinationCounts } from '../../../store/store-stats.ts'
import { assertNear, HOUR, MINUTE, required } from '../../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../../harness/harness.ts'
import { dead, retry } from '../../harness/settlements.ts'

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

const exactly = (count: number) => ({ count, isCapped: false })

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
