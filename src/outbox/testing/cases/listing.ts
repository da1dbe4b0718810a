/** Listing messages page by page, and filters. */
import assert from 'node:assert/strict'
import type { StoreFilter } from '../../store/store.ts'
import { HOUR, idsOf, MINUTE, sorted } from '../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../harness/harness.ts'
import { dead, sent } from '../harness/settlements.ts'

const STATUSES = ['pending', 'processing', 'sent', 'dead'] as const

/** Asserts that pages of these sizes contain `count` matching messages, in the order of a single page. */
const expectPages = async (
	t: StoreHarness,
	count: number,
	sizes: readonly number[],
	filter: StoreFilter = {},
): Promise<void> => {
	const all = await t.list(filter)
	assert.equal(all.length, count)
	for (const size of sizes) {
		const ids: string[] = []
		let rows: readonly { readonly id: string }[]
		do {
			rows = await t.store.list(filter, size, ids.at(-1))
			assert.ok(rows.length <= size)
			ids.push(...idsOf(rows))
		} while (rows.length === size && ids.length <= count)
		assert.deepEqual(ids, all)
	}
}

/** Returns the ids of the messages after this one. */
const listAfter = async (t: StoreHarness, after: string | undefined, filter: StoreFilter = {}) =>
	idsOf(await t.store.list(filter, MANY, after))

export const list: CaseTable = {
	'lists nothing in an empty outbox': async ({ store }) => {
		for (const status of [undefined, ...STATUSES]) assert.deepEqual(await store.list({ status }, 9), [])
	},

	'lists a message as find returns it': async (t) => {
		for (const id of [await t.enqueueOne({ key: 'k', headers: '{"h":"1"}' }), await t.addDeadLetter()])
			assert.deepEqual(await t.store.list({ ids: [id] }, 9), [await t.find(id)])
	},

	'lists messages by status': async (t) => {
		const done = await t.enqueueAndClaim()
		await t.settle([sent(done)], true)
		const died = await t.addDeadLetter()
		const inFlight = (await t.enqueueAndClaim()).id
		const [later, due] = await t.enqueue({ notBefore: (await t.now()) + HOUR }, {})
		assert.deepEqual(await t.list({ status: 'pending' }), [later, due])
		assert.deepEqual(await t.list({ status: 'processing' }), [inFlight])
		assert.deepEqual(await t.list({ status: 'dead' }), [died])
		assert.deepEqual(await t.list({ status: 'sent' }), [done.id])
		assert.deepEqual(await t.list(), [died, inFlight, later, due])
	},

	'lists a message scheduled for a retry as pending': async (t) => {
		const id = await t.enqueueOne()
		await t.fail(HOUR)
		assert.deepEqual(await t.list({ status: 'pending' }), [id])
	},

	'lists the oldest first, in enqueue order': async (t) => {
		const ids: string[] = []
		for (let n = 0; n < 5; n++) {
			ids.push(...(await t.enqueue({}, {})))
			await t.advance(MINUTE)
		}
		assert.deepEqual(await t.list(), ids)
		assert.deepEqual(idsOf(await t.store.list({}, 3)), ids.slice(0, 3))
	},

	'lists dead letters in enqueue order': async (t) => {
		const ids = await t.addDeadLetters(4)
		assert.deepEqual(await t.list({ status: 'dead' }), ids)
	},

	'pages without gaps and repetitions over messages of one time': async (t) => {
		await t.enqueueMany(23)
		await expectPages(t, 23, [1, 4, 7, 23, 24])
	},

	'pages without gaps and repetitions over queue and dead letters': async (t) => {
		for (let n = 0; n < 6; n++) {
			await t.addDeadLetter()
			await t.enqueueMany(2, { destination: 'b' })
			if (n % 2) await t.advance(MINUTE)
		}
		await expectPages(t, 18, [1, 4, 5, 18])
	},

	'pages without gaps over dead letters of one time': async (t) => {
		await t.enqueueMany(11, { key: 'k' })
		await t.deadLetterHead('dead-letter-rest')
		await expectPages(t, 11, [1, 3, 11], { status: 'dead' })
	},

	'pages without gaps over sent messages': async (t) => {
		await t.enqueueMany(7)
		await t.settle((await t.claim()).map(sent), true)
		await expectPages(t, 7, [1, 3], { status: 'sent' })
	},

	'pages with a filter, and lists later messages on later pages': async (t) => {
		const ids = await t.enqueue(...Array.from({ length: 10 }, (_, n) => ({ topic: n % 2 ? 't' : 'u' })))
		const odd = ids.filter((_, n) => n % 2)
		const first = idsOf(await t.store.list({ topic: 't' }, 2))
		const late = await t.enqueueOne({ topic: 't' })
		const rest = await listAfter(t, first.at(-1), { topic: 't' })
		assert.deepEqual([...first, ...rest], [...odd, late])
	},

	'pages after a message that was sent or died between two pages': async (t) => {
		const ids = await t.enqueueMany(6)
		const [one, two, three] = await t.claimMany(3, { limit: 3 })
		await t.settle([dead(two, { error: null, afterDeadLetter: 'block' })])
		assert.deepEqual(await listAfter(t, two.id), ids.slice(2))
		await t.settle([sent(three)], true)
		assert.deepEqual(await listAfter(t, three.id), ids.slice(3))
		await t.settle([sent(one)])
		assert.deepEqual(await listAfter(t, one.id), [two.id, ...ids.slice(3)])
	},

	'returns nothing after the last message': async (t) => {
		const ids = await t.enqueue({}, {})
		assert.deepEqual(await listAfter(t, ids[1]), [])
	},
}

/** Asserts the matching messages, in any order. */
const expectMatches = async (t: StoreHarness, filter: StoreFilter, ids: readonly string[]): Promise<void> =>
	assert.deepEqual(sorted(await t.list(filter)), sorted(ids), JSON.stringify(filter))

export const filters: CaseTable = {
	'ids match queued and dead messages, and an empty list matches nothing': async (t) => {
		const [one, two] = await t.enqueue({ destination: 'b' }, { destination: 'b' })
		const died = await t.addDeadLetter()
		await expectMatches(t, { ids: [two, died, t.id()] }, [two, died])
		await expectMatches(t, { ids: [one], status: 'dead' }, [])
		await expectMatches(t, { ids: [] }, [])
		assert.equal(await t.countDead({ ids: [] }), 0)
	},

	'omitted and undefined fields match everything': async (t) => {
		const id = await t.enqueueOne()
		const nothing = { ids: undefined, status: undefined, topic: undefined, key: undefined, since: undefined }
		await expectMatches(t, nothing, [id])
	},

	'topic, destination and key match exactly': async (t) => {
		const [x, y, z] = await t.enqueue(
			{ topic: 't', destination: 'a', key: 'k' },
			{ topic: 'T', destination: 'A', key: 'K' },
			{ topic: 't', destination: 'b' },
		)
		await expectMatches(t, { topic: 't' }, [x, z])
		await expectMatches(t, { destination: 'A' }, [y])
		await expectMatches(t, { key: 'k' }, [x])
		await expectMatches(t, { topic: 't', destination: 'b' }, [z])
		await expectMatches(t, { topic: 't', key: 'K' }, [])
	},

	'a key matches messages of all destinations, queued, dead and sent': async (t) => {
		const died = await t.addDeadLetter({ destination: 'a', key: 'k' })
		const gone = await t.enqueueOne({ destination: 'a', key: 'k' })
		await t.settle((await t.claim()).map(sent), true)
		const [b, c] = await t.enqueue({ destination: 'b', key: 'k' }, { destination: 'c', key: 'k' })
		await t.enqueue({ destination: 'd', key: 'l' }, { destination: 'c' })
		assert.deepEqual(await t.list({ key: 'k' }), [died, b, c])
		assert.deepEqual(await t.list({ key: 'k', destination: 'c' }), [c])
		assert.deepEqual(await t.list({ key: 'k', status: 'pending' }), [b, c])
		assert.deepEqual(await t.list({ key: 'k', status: 'sent' }), [gone])
		assert.deepEqual(idsOf(await t.store.list({ key: 'k' }, 2, died)), [b, c])
	},

	'destination and time match in enqueue order, page by page': async (t) => {
		await t.enqueue({ destination: 'a' }, { destination: 'b' })
		await t.advance(HOUR)
		const since = await t.now()
		const late = await t.enqueue({ destination: 'b' }, { destination: 'a' }, { destination: 'b' })
		assert.deepEqual(await t.list({ since }), late)
		assert.deepEqual(await t.list({ since, destination: 'b' }), [late[0], late[2]])
		assert.deepEqual(idsOf(await t.store.list({ since, destination: 'b' }, 9, late[0])), [late[2]])
		assert.deepEqual(idsOf(await t.store.list({ since }, 1, late[0])), [late[1]])
		assert.deepEqual(await t.list({ until: since, destination: 'a', status: 'sent' }), [])
	},

	'topic, destination and key match dead letters and history': async (t) => {
		const died = await t.addDeadLetter({ topic: 't', key: 'k' })
		await t.addDeadLetter({ topic: 'u', key: 'l' })
		const gone = await t.enqueueOne({ topic: 't', key: 'k' })
		await t.enqueueOne({ topic: 'u', key: 'l' })
		await t.settle((await t.claim()).map(sent), true)
		await expectMatches(t, { status: 'dead', topic: 't', key: 'k' }, [died])
		await expectMatches(t, { status: 'sent', topic: 't', key: 'k', destination: 'a' }, [gone])
		await expectMatches(t, { status: 'sent', topic: 't', key: 'l' }, [])
	},

	'cause matches dead letters with that cause': async (t) => {
		const expired = await t.addDeadLetter({}, { cause: 'expired' })
		await t.addDeadLetter({}, { cause: 'permanent' })
		await t.enqueueOne()
		await expectMatches(t, { cause: 'expired' }, [expired])
		await expectMatches(t, { cause: 'crashed' }, [])
		assert.equal(await t.countDead({ cause: 'expired' }), 1)
	},

	'fingerprint matches messages with that error': async (t) => {
		const note = { type: 'Error', message: 'm', fingerprint: 'f-1' }
		const died = await t.addDeadLetter({}, { error: note })
		await t.addDeadLetter({}, { error: { ...note, fingerprint: 'f-2' } })
		await t.enqueueOne()
		await expectMatches(t, { fingerprint: 'f-1', status: 'dead' }, [died])
		await expectMatches(t, { fingerprint: 'f-9' }, [])
	},

	'since is inclusive and until exclusive, by enqueue time': async (t) => {
		const first = await t.enqueueOne()
		await t.advance(HOUR)
		const second = await t.enqueueOne()
		const at = (await t.find(second)).createdAt
		await expectMatches(t, { since: at }, [second])
		await expectMatches(t, { since: at + 1 }, [])
		await expectMatches(t, { until: at }, [first])
		await expectMatches(t, { until: at + 1 }, [first, second])
		await expectMatches(t, { since: at - 2 * HOUR, until: at - HOUR / 2 }, [first])
	},

	'since and until refer to the time of death for dead letters': async (t) => {
		const early = await t.enqueueOne()
		await t.advance(5 * HOUR)
		const died = await t.addDeadLetter({ destination: 'b' })
		await t.advance(5 * HOUR)
		await t.die({ cause: 'expired', error: null, afterDeadLetter: 'block' })
		const at = (await t.find(early)).endedAt ?? 0
		await expectMatches(t, { since: at }, [early])
		await expectMatches(t, { status: 'dead', until: at }, [died])
		assert.equal(await t.countDead({ since: at + 1 }), 0)
		assert.deepEqual(await t.replay({ since: at }, MANY), [early])
	},

	'every filter applies to replay': async (t) => {
		const note = { type: 'Error', message: 'm', fingerprint: 'f-1' }
		const meant = { topic: 't', destination: 'b', key: 'k' }
		const id = await t.addDeadLetter(meant, { cause: 'expired', error: note })
		const at = (await t.find(id)).endedAt ?? 0
		const all = {
			...meant,
			ids: [id],
			cause: 'expired',
			fingerprint: 'f-1',
			since: at,
			until: at + 1,
		} as const
		const wrong: readonly StoreFilter[] = [
			...[{ ids: [t.id()] }, { topic: 'x' }, { destination: 'x' }, { key: 'x' }, { fingerprint: 'x' }],
			...[{ cause: 'predecessor-dead' } as const, { since: at + 1 }, { until: at }],
		]
		for (const part of wrong) {
			assert.deepEqual(await t.replay({ ...all, ...part }, MANY), [], JSON.stringify(part))
			assert.deepEqual(await t.discard({ ...all, ...part }, MANY, false), [], JSON.stringify(part))
		}
		assert.deepEqual(await t.replay(all, MANY), [id])
	},

	'treats SQL metacharacters as plain text': async (t) => {
		await t.enqueue({ topic: 'plain' }, { key: 'plain' })
		for (const text of ["' OR 1=1 --", '%', '_', '"', '\\', '$1', '?1', ':a', '*'])
			for (const name of ['topic', 'destination', 'key', 'fingerprint'] as const)
				await expectMatches(t, { [name]: text }, [])
	},

	'invalid ids match nothing': async (t) => {
		const id = await t.enqueueOne()
		await t.expectGone('no id at all')
		await expectMatches(t, { ids: ['no id at all', id, ''] }, [id])
	},
}
