/** When there is something to do next, and where. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MANY, near, sorted } from '../harness/harness.ts'
import { retry, sent } from '../harness/settlements.ts'

export const schedule: CaseTable = {
	'with an empty queue nothing is due next': async ({ store }) => {
		assert.equal(await store.nextDueInMs(['a', 'b']), undefined)
		assert.equal(await store.nextDueInMs([]), undefined)
	},

	'the next one that is not due yet counts, and its time comes nearer': async (trial) => {
		const now = await trial.now()
		await trial.enqueue(
			{ notBefore: now + 5 * HOUR },
			{ notBefore: now + 3 * HOUR },
			{ notBefore: now + 9 * HOUR },
		)
		near(await trial.store.nextDueInMs(['a']), 3 * HOUR, 'next')
		await trial.advance(HOUR)
		near(await trial.store.nextDueInMs(['a']), 2 * HOUR, 'next')
		await trial.advance(3 * HOUR)
		near(await trial.store.nextDueInMs(['a']), HOUR, 'next')
	},

	'what is due already does not count': async (trial) => {
		await trial.enqueueOne()
		assert.equal(await trial.store.nextDueInMs(['a']), undefined)
		await trial.enqueueOne({ notBefore: (await trial.now()) + HOUR })
		near(await trial.store.nextDueInMs(['a']), HOUR, 'next')
	},

	'what is in flight does not count, and a retry does': async (trial) => {
		await trial.enqueueOne()
		const row = await trial.claimOne()
		assert.equal(await trial.store.nextDueInMs(['a']), undefined)
		await trial.settle([retry(row, 2 * HOUR)])
		near(await trial.store.nextDueInMs(['a']), 2 * HOUR, 'next')
	},

	'only the destinations that were asked for count': async (trial) => {
		const now = await trial.now()
		await trial.enqueue(
			{ destination: 'a', notBefore: now + HOUR },
			{ destination: 'b', notBefore: now + 2 * HOUR },
			{ destination: 'c', notBefore: now + 3 * HOUR },
		)
		near(await trial.store.nextDueInMs(['c', 'b']), 2 * HOUR, 'next')
		assert.equal(await trial.store.nextDueInMs(['x']), undefined)
		assert.equal(await trial.store.nextDueInMs([]), undefined)
	},

	'dead letters are never due': async (trial) => {
		await trial.bury()
		assert.equal(await trial.store.nextDueInMs(['a']), undefined)
	},

	'every destination that has something due is told once, however many it has': async (trial) => {
		const of = ['b', 'a', 'c', 'a', 'b', 'ä', 'Z'].map((destination) => ({ destination }))
		await trial.enqueue(...of)
		await trial.enqueueOne({ destination: 'a', notBefore: (await trial.now()) + HOUR })
		const { names, nextDueInMs } = await trial.store.dueDestinations(MANY)
		assert.deepEqual(sorted(names), sorted(['a', 'b', 'c', 'ä', 'Z']))
		assert.equal(nextDueInMs, undefined)
	},

	'a destination that has nothing due is not told, but when its first one falls due': async (trial) => {
		const now = await trial.now()
		await trial.enqueue(
			{ destination: 'a' },
			{ destination: 'later', notBefore: now + 5 * HOUR },
			{ destination: 'later', notBefore: now + 3 * HOUR },
			{ destination: 'sooner', notBefore: now + 2 * HOUR },
		)
		const first = await trial.store.dueDestinations(MANY)
		assert.deepEqual(first.names, ['a'])
		near(first.nextDueInMs, 2 * HOUR, 'nextDueInMs')
		await trial.advance(2 * HOUR)
		const second = await trial.store.dueDestinations(MANY)
		assert.deepEqual(sorted(second.names), ['a', 'sooner'])
		near(second.nextDueInMs, HOUR, 'nextDueInMs')
	},

	'a destination whose messages are in flight is told, and one that is done is not': async (trial) => {
		await trial.enqueueOne()
		const row = await trial.claimOne()
		assert.deepEqual((await trial.store.dueDestinations(MANY)).names, ['a'])
		await trial.settle([sent(row)], true)
		assert.deepEqual(await trial.store.dueDestinations(MANY), { names: [], nextDueInMs: undefined })
	},

	'not more destinations than asked for are told': async (trial) => {
		await trial.enqueue(...['a', 'b', 'c', 'd'].map((destination) => ({ destination })))
		assert.equal((await trial.store.dueDestinations(3)).names.length, 3)
		assert.deepEqual((await trial.store.dueDestinations(0)).names, [])
	},

	'those that wait take no place of those that are due: the 1001st name was never told once': async (
		trial,
	) => {
		const notBefore = (await trial.now()) + HOUR
		const waiting = Array.from({ length: 20 }, (_, n) => ({ destination: `a${n}`, notBefore }))
		await trial.enqueue(...waiting, { destination: 'z' })
		const { names, nextDueInMs } = await trial.store.dueDestinations(1)
		assert.deepEqual(names, ['z'])
		near(nextDueInMs, HOUR, 'nextDueInMs')
	},

	'the last name leads on to the next page, until all were told': async (trial) => {
		const all = [...Array.from({ length: 12 }, (_, n) => `d${n}`), 'Ä', 'ß', '東京', '_', 'a-b', 'a b', "o'k"]
		await trial.enqueue(...all.map((destination) => ({ destination })))
		const told: string[] = []
		let after: string | undefined
		do {
			const { names } = await trial.store.dueDestinations(5, after)
			told.push(...names)
			after = names.at(-1)
		} while (after !== undefined && told.length <= all.length)
		assert.deepEqual(sorted(told), sorted(all))
	},

	'a name that is gone leads on as well': async (trial) => {
		await trial.enqueue({ destination: 'a' }, { destination: 'c' })
		assert.deepEqual((await trial.store.dueDestinations(MANY, 'b')).names, ['c'])
		assert.deepEqual((await trial.store.dueDestinations(MANY, 'c')).names, [])
	},

	'a hundred destinations with messages of each are all told': async (trial) => {
		const names = Array.from({ length: 100 }, (_, n) => `d${n}`)
		await trial.enqueue(
			...names.flatMap((destination) => [{ destination }, { destination }, { destination }]),
		)
		assert.deepEqual(sorted((await trial.store.dueDestinations(MANY)).names), sorted(names))
	},
}
