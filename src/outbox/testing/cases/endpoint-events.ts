/** Events of webhooks: stored in the user's transaction, listed for a replay, deleted after their time. */
import assert from 'node:assert/strict'
import { assertNear, HOUR, idsOf, MINUTE, required } from '../harness/assertions.ts'
import type { EndpointCase, EndpointHarness } from '../harness/endpoints.ts'
import { MANY } from '../harness/harness.ts'

/** Returns the ids of the pages of this size. */
const pagesOf = async (e: EndpointHarness, size: number, since = 0, topics = ['*']): Promise<string[]> => {
	const ids: string[] = []
	const next = () => e.store.events({ tenant: 'acme', topics, since }, size, ids.at(-1))
	for (let page = await next(); page.length > 0; page = await next()) {
		assert.ok(page.length <= size)
		ids.push(...idsOf(page))
	}
	return ids
}

export const endpointEvents: Readonly<Record<string, EndpointCase>> = {
	'returns an event as it was stored, with the time of the database': async (e) => {
		const full = e.event({ key: 'k', payload: '{"n": 12345678901234567890}', headers: '{"h":"1"}' })
		const plain = e.event({ payload: '"it\'s \\u0000 {s} $1 ?1"', topic: 'a\'"\\' })
		for (const event of [full, plain]) await e.store.insertEvent(event)
		const stored = await e.store.events({ tenant: 'acme', topics: ['*'], since: 0 }, MANY)
		const now = await e.t.now()
		for (const [n, { keepForMs: _, ...event }] of [full, plain].entries()) {
			const { createdAt, ...rest } = required(stored[n], 'the event')
			assert.deepEqual(rest, event)
			assertNear(createdAt, now, 'createdAt')
		}
	},

	'is stored if the transaction is committed, and only then': async (e) => {
		const [kept, undone] = [e.event(), e.event()]
		await e.t.transaction(async (tx) => e.store.insertEvent(undone, tx), 'rollback')
		await e.t.transaction(async (tx) => {
			await e.t.store.insert([e.t.row({ destination: 'webhook:x' })], tx)
			await e.store.insertEvent(kept, tx)
		}, 'commit')
		assert.deepEqual(await e.events(), [kept.id])
		await e.t.claimMany(1, { destination: 'webhook:x' })
	},

	'lists the events of a tenant': async (e) => {
		const [acme, zen, none] = await e.addEvents({}, { tenant: 'zen' }, { tenant: '' })
		assert.deepEqual(await e.events('*', 0, 'acme'), [acme])
		assert.deepEqual(await e.events('*', 0, 'zen'), [zen])
		assert.deepEqual(await e.events('*', 0, ''), [none])
		assert.deepEqual(await e.events('*', 0, 'other'), [])
	},

	'lists topics that are named or match a pattern': async (e) => {
		const topics = [
			'order',
			'order.created',
			'order.item.added',
			'orders',
			'Order.x',
			'user.created',
			'or%er.x',
		]
		const ids = await e.addEvents(...topics.map((topic) => ({ topic })))
		const expectTopics = async (given: readonly string[], expected: readonly number[]) =>
			assert.deepEqual(
				await e.events(given),
				expected.map((n) => ids[n]),
				given.join(),
			)
		await expectTopics(['*'], [0, 1, 2, 3, 4, 5, 6])
		await expectTopics(['order.*'], [1, 2])
		await expectTopics(['order.item.*'], [2])
		await expectTopics(['order'], [0])
		await expectTopics(['user.created', 'order.item.*', 'order'], [0, 2, 5])
		await expectTopics(['order.created', 'order.*', '*'], [0, 1, 2, 3, 4, 5, 6])
		await expectTopics(['nothing', 'none.*'], [])
		await expectTopics([], [])
		// A pattern is a beginning, and nothing in it has another meaning.
		await expectTopics(['or%er.*'], [6])
		for (const odd of ['order_*', '%*', '_rder.*', 'order.c?eated', '[o]*', "' OR 1=1 --*", '\\*'])
			await expectTopics([odd], [])
	},

	'lists the oldest first, since a time': async (e) => {
		const ids: string[] = []
		for (let n = 0; n < 4; n++) {
			ids.push(...(await e.addEvents({}, {})))
			await e.t.advance(HOUR)
		}
		const stored = await e.store.events({ tenant: 'acme', topics: ['*'], since: 0 }, MANY)
		assert.deepEqual(idsOf(stored), ids)
		const at = required(stored[4], 'the fifth').createdAt
		assert.deepEqual(await e.events('*', at), ids.slice(4))
		assert.deepEqual(await e.events('*', at + MINUTE), ids.slice(6))
		assert.deepEqual(await e.events('*', at + 99 * HOUR), [])
	},

	'pages without gaps and repetitions over events of one time and of several': async (e) => {
		const ids: string[] = []
		for (let n = 0; n < 4; n++) {
			ids.push(...(await e.addEvents({}, { topic: 'a' }, {})))
			await e.addEvent({ tenant: 'zen' })
			if (n % 2) await e.t.advance(HOUR)
		}
		for (const size of [1, 2, 5, 12, 13]) assert.deepEqual(await pagesOf(e, size), ids)
		const ofTopic = ids.filter((_, n) => n % 3 === 1)
		for (const size of [1, 3]) assert.deepEqual(await pagesOf(e, size, 0, ['a']), ofTopic)
		const [seventh] = await e.store.events({ tenant: 'acme', topics: ['*'], since: 0 }, 1, ids[5])
		const since = required(seventh, 'an event').createdAt
		for (const size of [1, 4]) assert.deepEqual(await pagesOf(e, size, since), ids.slice(6))
		// The start of a later `since` is after the event before it.
		const page = await e.store.events({ tenant: 'acme', topics: ['*'], since }, MANY, ids[0])
		assert.deepEqual(idsOf(page), ids.slice(6))
	},

	'pages after an event that was deleted between two pages': async (e) => {
		const [first = '', ...rest] = await e.addEvents({ keepForMs: HOUR }, {}, {})
		await e.t.advance(2 * HOUR)
		const late = await e.addEvent()
		assert.equal(await e.store.dropEvents(MANY), 1)
		const page = await e.store.events({ tenant: 'acme', topics: ['*'], since: 0 }, MANY, first)
		assert.deepEqual(idsOf(page), [...rest, late])
	},

	'deletes events after their time, oldest first and at most limit': async (e) => {
		const hours = [5, 1, 2, Infinity]
		const [five, , two, permanent] = await e.addEvents(...hours.map((n) => ({ keepForMs: n * HOUR })))
		assert.equal(await e.store.dropEvents(MANY), 0)
		await e.t.advance(3 * HOUR)
		assert.equal(await e.store.dropEvents(1), 1)
		assert.deepEqual(await e.events(), [five, two, permanent])
		assert.equal(await e.store.dropEvents(MANY), 1)
		assert.deepEqual(await e.events(), [five, permanent])
		await e.t.advance(999 * HOUR)
		assert.equal(await e.store.dropEvents(MANY), 1)
		assert.equal(await e.store.dropEvents(MANY), 0)
		assert.deepEqual(await e.events(), [permanent])
	},

	'concurrent calls delete each event once': async (e) => {
		await e.addEvents(...Array.from({ length: 20 }, () => ({ keepForMs: MINUTE })))
		await e.t.advance(HOUR)
		const dropped = await e.t.concurrently(4, async (store) => (await store.endpoints?.dropEvents(10)) ?? 0)
		const rest = await e.store.dropEvents(MANY)
		assert.equal(
			dropped.reduce((a, b) => a + b, rest),
			20,
		)
		assert.deepEqual(await e.events(), [])
	},
}
