/** Due times: the next due message, destinations with due messages, and making retries due now. */
import assert from 'node:assert/strict'
import type { NewRow } from '../../../store/rows.ts'
import { assertNear, type CaseTable, HOUR, MANY, type StoreHarness, sorted } from '../../harness/harness.ts'
import { retry, sent } from '../../harness/settlements.ts'

export const schedule: CaseTable = {
	'nextDueInMs is undefined for an empty queue': async ({ store }) => {
		assert.equal(await store.nextDueInMs(['a', 'b']), undefined)
		assert.equal(await store.nextDueInMs([]), undefined)
	},

	'nextDueInMs is the time to the next scheduled message, and decreases': async (t) => {
		const now = await t.now()
		await t.enqueue(
			{ notBefore: now + 5 * HOUR },
			{ notBefore: now + 3 * HOUR },
			{ notBefore: now + 9 * HOUR },
		)
		assertNear(await t.store.nextDueInMs(['a']), 3 * HOUR, 'next')
		await t.advance(HOUR)
		assertNear(await t.store.nextDueInMs(['a']), 2 * HOUR, 'next')
		await t.advance(3 * HOUR)
		assertNear(await t.store.nextDueInMs(['a']), HOUR, 'next')
	},

	'nextDueInMs ignores due messages': async (t) => {
		await t.enqueueOne()
		assert.equal(await t.store.nextDueInMs(['a']), undefined)
		await t.enqueueOne({ notBefore: (await t.now()) + HOUR })
		assertNear(await t.store.nextDueInMs(['a']), HOUR, 'next')
	},

	'nextDueInMs ignores messages in flight and includes retries': async (t) => {
		await t.enqueueOne()
		const row = await t.claimOne()
		assert.equal(await t.store.nextDueInMs(['a']), undefined)
		await t.settle([retry(row, 2 * HOUR)])
		assertNear(await t.store.nextDueInMs(['a']), 2 * HOUR, 'next')
	},

	'nextDueInMs includes only requested destinations': async (t) => {
		const now = await t.now()
		await t.enqueue(
			{ destination: 'a', notBefore: now + HOUR },
			{ destination: 'b', notBefore: now + 2 * HOUR },
			{ destination: 'c', notBefore: now + 3 * HOUR },
		)
		assertNear(await t.store.nextDueInMs(['c', 'b']), 2 * HOUR, 'next')
		assert.equal(await t.store.nextDueInMs(['x']), undefined)
		assert.equal(await t.store.nextDueInMs([]), undefined)
	},

	'nextDueInMs ignores dead letters': async (t) => {
		await t.addDeadLetter()
		assert.equal(await t.store.nextDueInMs(['a']), undefined)
	},

	'lists every destination with due messages once': async (t) => {
		const of = ['b', 'a', 'c', 'a', 'b', 'ä', 'Z'].map((destination) => ({ destination }))
		await t.enqueue(...of)
		await t.enqueueOne({ destination: 'a', notBefore: (await t.now()) + HOUR })
		const { names, nextDueInMs } = await t.store.dueDestinations(MANY)
		assert.deepEqual(sorted(names), sorted(['a', 'b', 'c', 'ä', 'Z']))
		assert.equal(nextDueInMs, undefined)
	},

	'omits a destination without due messages, but returns when its first is due': async (t) => {
		const now = await t.now()
		await t.enqueue(
			{ destination: 'a' },
			{ destination: 'later', notBefore: now + 5 * HOUR },
			{ destination: 'later', notBefore: now + 3 * HOUR },
			{ destination: 'sooner', notBefore: now + 2 * HOUR },
		)
		const first = await t.store.dueDestinations(MANY)
		assert.deepEqual(first.names, ['a'])
		assertNear(first.nextDueInMs, 2 * HOUR, 'nextDueInMs')
		await t.advance(2 * HOUR)
		const second = await t.store.dueDestinations(MANY)
		assert.deepEqual(sorted(second.names), ['a', 'sooner'])
		assertNear(second.nextDueInMs, HOUR, 'nextDueInMs')
	},

	'lists a destination whose messages are in flight, and omits an empty one': async (t) => {
		await t.enqueueOne()
		const row = await t.claimOne()
		assert.deepEqual((await t.store.dueDestinations(MANY)).names, ['a'])
		await t.settle([sent(row)], true)
		assert.deepEqual(await t.store.dueDestinations(MANY), { names: [], nextDueInMs: undefined })
	},

	'lists at most limit destinations': async (t) => {
		await t.enqueue(...['a', 'b', 'c', 'd'].map((destination) => ({ destination })))
		assert.equal((await t.store.dueDestinations(3)).names.length, 3)
		assert.deepEqual((await t.store.dueDestinations(0)).names, [])
	},

	'scheduled destinations do not count towards the limit: the 1001st name was never returned once': async (
		t,
	) => {
		const notBefore = (await t.now()) + HOUR
		const failedOnce = Array.from({ length: 20 }, (_, n) => ({ destination: `a${n}`, notBefore }))
		await t.enqueue(...failedOnce, { destination: 'z' })
		const { names, nextDueInMs } = await t.store.dueDestinations(1)
		assert.deepEqual(names, ['z'])
		assertNear(nextDueInMs, HOUR, 'nextDueInMs')
	},

	'pages by the last name until all are listed': async (t) => {
		const all = [...Array.from({ length: 12 }, (_, n) => `d${n}`), 'Ä', 'ß', '東京', '_', 'a-b', 'a b', "o'k"]
		await t.enqueue(...all.map((destination) => ({ destination })))
		const listed: string[] = []
		let after: string | undefined
		do {
			const { names } = await t.store.dueDestinations(5, after)
			listed.push(...names)
			after = names.at(-1)
		} while (after !== undefined && listed.length <= all.length)
		assert.deepEqual(sorted(listed), sorted(all))
	},

	'pages after a name that no longer exists': async (t) => {
		await t.enqueue({ destination: 'a' }, { destination: 'c' })
		assert.deepEqual((await t.store.dueDestinations(MANY, 'b')).names, ['c'])
		assert.deepEqual((await t.store.dueDestinations(MANY, 'c')).names, [])
	},

	'lists a hundred destinations': async (t) => {
		const names = Array.from({ length: 100 }, (_, n) => `d${n}`)
		await t.enqueue(...names.flatMap((destination) => [{ destination }, { destination }, { destination }]))
		assert.deepEqual(sorted((await t.store.dueDestinations(MANY)).names), sorted(names))
	},
}

/** Enqueues messages and fails each once. */
const failedOnce = async (t: StoreHarness, ...parts: readonly Partial<NewRow>[]): Promise<string[]> => {
	const ids = await t.enqueue(...parts)
	await t.settle((await t.claim()).map((row) => retry(row, 50 * HOUR)))
	return ids
}

export const retryNow: CaseTable = {
	'makes a message scheduled by notBefore due only by its id: a filter used to send it early': async (t) => {
		const notBefore = (await t.now()) + 50 * HOUR
		const [id] = await t.enqueue({ notBefore, topic: 't' })
		assert.deepEqual(await t.store.retryNow({}, MANY), [])
		assert.deepEqual(await t.store.retryNow({ topic: 't' }, MANY), [])
		assert.deepEqual(await t.store.retryNow({ ids: [id ?? ''] }, MANY), [id])
		assertNear((await t.find(id ?? '')).dueAt, await t.now(), 'dueAt')
		assert.deepEqual(await t.claimIds(), [id])
	},

	'makes a message that waits for a retry due now, with its attempts': async (t) => {
		const id = await t.enqueueOne()
		await t.settle([retry(await t.claimOne(), 9 * HOUR)])
		assert.deepEqual(await t.store.retryNow({ ids: [id] }, MANY), [id])
		assert.equal((await t.claimOne()).attempt, 2)
	},

	'ignores messages in flight': async (t) => {
		const id = await t.enqueueOne()
		await t.claimOne()
		const before = await t.find(id)
		assert.deepEqual(await t.store.retryNow({ ids: [id] }, MANY), [])
		assert.deepEqual(await t.find(id), before)
	},

	'ignores dead letters': async (t) => {
		const id = await t.addDeadLetter()
		assert.deepEqual(await t.store.retryNow({ ids: [id] }, MANY), [])
		assert.equal((await t.find(id)).status, 'dead')
	},

	'makes at most limit messages due': async (t) => {
		await failedOnce(t, {}, {}, {}, {}, {})
		assert.equal((await t.store.retryNow({}, 2)).length, 2)
		assert.equal((await t.claim()).length, 2)
	},

	'makes only matching messages due': async (t) => {
		const [one] = await failedOnce(t, { topic: 't' }, { topic: 'u' })
		assert.deepEqual(await t.store.retryNow({ topic: 't' }, MANY), [one])
		assert.deepEqual(await t.claimIds(), [one])
	},

	'matches nothing with an empty list of ids': async (t) => {
		await failedOnce(t, {})
		assert.deepEqual(await t.store.retryNow({ ids: [] }, MANY), [])
		assert.deepEqual(await t.claimIds(), [])
	},
}
