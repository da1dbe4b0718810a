/** Listing messages page by page, and filters. */
import assert from 'node:assert/strict'
import type { StoreFilter } from '../../../store/store.ts'
import {
	type CaseTable,
	HOUR,
	idsOf,
	MANY,
	MINUTE,
	type StoreHarness,
	sorted,
} from '../../harness/harness.ts'
import { retry, sent } from '../../harness/settlements.ts'

/** All that matches, in pages of so many. */
const pages = async (t: StoreHarness, filter: StoreFilter, size: number): Promise<string[]> => {
	const ids: string[] = []
	for (let page = 0; page < 100; page++) {
		const rows = await t.store.list(filter, size, ids.at(-1))
		assert.ok(rows.length <= size)
		ids.push(...idsOf(rows))
		if (rows.length < size) return ids
	}
	throw new Error('the pages never end')
}

export const list: CaseTable = {
	'lists nothing in an empty outbox': async ({ store }) => {
		assert.deepEqual(await store.list({}, MANY), [])
		for (const status of ['pending', 'processing', 'sent', 'dead'] as const)
			assert.deepEqual(await store.list({ status }, MANY), [])
	},

	'lists a message as find returns it': async (t) => {
		const [pending, dead] = [await t.enqueueOne({ key: 'k', headers: '{"h":"1"}' }), await t.addDeadLetter()]
		for (const id of [pending, dead])
			assert.deepEqual(await t.store.list({ ids: [id] }, MANY), [await t.find(id)])
	},

	'lists messages by status': async (t) => {
		await t.enqueueOne()
		const done = await t.claimOne()
		await t.settle([sent(done)], true)
		const dead = await t.addDeadLetter()
		const inFlight = await t.enqueueOne()
		await t.claimOne()
		const later = await t.enqueueOne({ notBefore: (await t.now()) + HOUR })
		const due = await t.enqueueOne()
		const of = async (status: StoreFilter['status']) => idsOf(await t.store.list({ status }, MANY))
		assert.deepEqual(await of('pending'), [later, due])
		assert.deepEqual(await of('processing'), [inFlight])
		assert.deepEqual(await of('dead'), [dead])
		assert.deepEqual(await of('sent'), [done.id])
		assert.deepEqual(sorted(await of(undefined)), sorted([later, due, inFlight, dead]))
	},

	'lists a message scheduled for a retry as pending': async (t) => {
		const id = await t.enqueueOne()
		await t.settle([retry(await t.claimOne(), HOUR)])
		assert.deepEqual(idsOf(await t.store.list({ status: 'pending' }, MANY)), [id])
	},

	'lists the oldest first, in enqueue order': async (t) => {
		const ids: string[] = []
		for (let n = 0; n < 5; n++) {
			ids.push(...(await t.enqueue({}, {})))
			await t.advance(MINUTE)
		}
		assert.deepEqual(idsOf(await t.store.list({}, MANY)), ids)
		assert.deepEqual(idsOf(await t.store.list({}, 3)), ids.slice(0, 3))
	},

	'lists dead letters in enqueue order': async (t) => {
		const ids: string[] = []
		for (let n = 0; n < 4; n++) {
			ids.push(await t.addDeadLetter())
			await t.advance(MINUTE)
		}
		assert.deepEqual(idsOf(await t.store.list({ status: 'dead' }, MANY)), ids)
	},

	'pages without gaps and repetitions over messages of one time': async (t) => {
		await t.enqueue(...Array.from({ length: 23 }, () => ({})))
		const ids = idsOf(await t.store.list({}, MANY))
		for (const size of [1, 4, 7, 23, 24]) assert.deepEqual(await pages(t, {}, size), ids)
	},

	'pages without gaps and repetitions over queue and dead letters': async (t) => {
		for (let n = 0; n < 6; n++) {
			await t.addDeadLetter()
			await t.enqueue({ destination: 'b' }, { destination: 'b' })
			if (n % 2) await t.advance(MINUTE)
		}
		const ids = idsOf(await t.store.list({}, MANY))
		assert.equal(ids.length, 18)
		for (const size of [1, 4, 5, 18]) assert.deepEqual(await pages(t, {}, size), ids)
	},

	'pages without gaps over dead letters of one time': async (t) => {
		await t.enqueue(...Array.from({ length: 11 }, () => ({ key: 'k' })))
		const head = await t.claimOne({ isOrdered: true })
		const death = {
			type: 'dead',
			cause: 'permanent',
			error: null,
			afterDeadLetter: 'dead-letter-rest',
		} as const
		await t.settle([{ ...death, id: head.id, attempt: head.attempt }])
		const ids = idsOf(await t.store.list({ status: 'dead' }, MANY))
		assert.equal(ids.length, 11)
		for (const size of [1, 3, 11]) assert.deepEqual(await pages(t, { status: 'dead' }, size), ids)
	},

	'pages without gaps over sent messages': async (t) => {
		await t.enqueue(...Array.from({ length: 7 }, () => ({})))
		await t.settle((await t.claim()).map(sent), true)
		const ids = idsOf(await t.store.list({ status: 'sent' }, MANY))
		assert.equal(ids.length, 7)
		for (const size of [1, 3]) assert.deepEqual(await pages(t, { status: 'sent' }, size), ids)
	},

	'pages with a filter, and lists later messages on later pages': async (t) => {
		const ids = await t.enqueue(...Array.from({ length: 10 }, (_, n) => ({ topic: n % 2 ? 't' : 'u' })))
		const odd = ids.filter((_, n) => n % 2)
		const first = idsOf(await t.store.list({ topic: 't' }, 2))
		const late = await t.enqueueOne({ topic: 't' })
		const rest = idsOf(await t.store.list({ topic: 't' }, MANY, first.at(-1)))
		assert.deepEqual([...first, ...rest], [...odd, late])
	},

	'pages after a message that was sent or died between two pages': async (t) => {
		const ids = await t.enqueue({}, {}, {}, {}, {}, {})
		const [one, two, three] = await t.claimMany(3, { limit: 3 })
		const end = { cause: 'permanent', error: null, afterDeadLetter: 'block' } as const
		await t.settle([{ type: 'dead', id: two.id, attempt: 1, ...end }])
		assert.deepEqual(idsOf(await t.store.list({}, MANY, two.id)), ids.slice(2))
		await t.settle([sent(three)], true)
		assert.deepEqual(idsOf(await t.store.list({}, MANY, three.id)), ids.slice(3))
		await t.settle([sent(one)])
		assert.deepEqual(idsOf(await t.store.list({}, MANY, one.id)), [two.id, ...ids.slice(3)])
	},

	'returns nothing after the last message': async (t) => {
		const ids = await t.enqueue({}, {})
		assert.deepEqual(await t.store.list({}, MANY, ids.at(-1)), [])
	},
}

const listed = async (t: StoreHarness, filter: StoreFilter): Promise<string[]> =>
	sorted(idsOf(await t.store.list(filter, MANY)))

export const filters: CaseTable = {
	'ids match queued and dead messages, and an empty list matches nothing': async (t) => {
		const [one, two] = await t.enqueue({ destination: 'b' }, { destination: 'b' })
		const dead = await t.addDeadLetter()
		assert.deepEqual(await listed(t, { ids: [two ?? '', dead, t.id()] }), sorted([two ?? '', dead]))
		assert.deepEqual(await listed(t, { ids: [one ?? ''], status: 'dead' }), [])
		assert.deepEqual(await listed(t, { ids: [] }), [])
		assert.equal((await t.store.countDead({ ids: [] }, MANY)).count, 0)
	},

	'omitted and undefined fields match everything': async (t) => {
		const id = await t.enqueueOne()
		const nothing = { ids: undefined, status: undefined, topic: undefined, key: undefined, since: undefined }
		assert.deepEqual(await listed(t, nothing), [id])
	},

	'topic, destination and key match exactly': async (t) => {
		const [x, y, z] = await t.enqueue(
			{ topic: 't', destination: 'a', key: 'k' },
			{ topic: 'T', destination: 'A', key: 'K' },
			{ topic: 't', destination: 'b' },
		)
		assert.deepEqual(await listed(t, { topic: 't' }), sorted([x ?? '', z ?? '']))
		assert.deepEqual(await listed(t, { destination: 'A' }), [y])
		assert.deepEqual(await listed(t, { key: 'k' }), [x])
		assert.deepEqual(await listed(t, { topic: 't', destination: 'b' }), [z])
		assert.deepEqual(await listed(t, { topic: 't', key: 'K' }), [])
	},

	'topic, destination and key match dead letters and history': async (t) => {
		const dead = await t.addDeadLetter({ topic: 't', key: 'k' })
		await t.addDeadLetter({ topic: 'u', key: 'l' })
		const gone = await t.enqueueOne({ topic: 't', key: 'k' })
		await t.enqueueOne({ topic: 'u', key: 'l' })
		await t.settle((await t.claim()).map(sent), true)
		assert.deepEqual(await listed(t, { status: 'dead', topic: 't', key: 'k' }), [dead])
		assert.deepEqual(await listed(t, { status: 'sent', topic: 't', key: 'k', destination: 'a' }), [gone])
		assert.deepEqual(await listed(t, { status: 'sent', topic: 't', key: 'l' }), [])
	},

	'cause matches dead letters with that cause': async (t) => {
		const expired = await t.addDeadLetter({}, { cause: 'expired' })
		await t.addDeadLetter({}, { cause: 'permanent' })
		await t.enqueueOne()
		assert.deepEqual(await listed(t, { cause: 'expired' }), [expired])
		assert.deepEqual(await listed(t, { cause: 'crashed' }), [])
		assert.equal((await t.store.countDead({ cause: 'expired' }, MANY)).count, 1)
	},

	'fingerprint matches messages with that error': async (t) => {
		const note = { type: 'Error', message: 'm', fingerprint: 'f-1' }
		const dead = await t.addDeadLetter({}, { error: note })
		await t.addDeadLetter({}, { error: { ...note, fingerprint: 'f-2' } })
		await t.enqueueOne()
		assert.deepEqual(await listed(t, { fingerprint: 'f-1', status: 'dead' }), [dead])
		assert.deepEqual(await listed(t, { fingerprint: 'f-9' }), [])
	},

	'since is inclusive and until exclusive, by enqueue time': async (t) => {
		const first = await t.enqueueOne()
		await t.advance(HOUR)
		const second = await t.enqueueOne()
		const at = (await t.find(second)).createdAt
		assert.deepEqual(await listed(t, { since: at }), [second])
		assert.deepEqual(await listed(t, { since: at + 1 }), [])
		assert.deepEqual(await listed(t, { until: at }), [first])
		assert.deepEqual(await listed(t, { until: at + 1 }), sorted([first, second]))
		assert.deepEqual(await listed(t, { since: at - 2 * HOUR, until: at - HOUR / 2 }), [first])
	},

	'since and until refer to the time of death for dead letters': async (t) => {
		const early = await t.enqueueOne()
		await t.advance(5 * HOUR)
		const dead = await t.addDeadLetter({ destination: 'b' })
		await t.advance(5 * HOUR)
		await t.claimOne()
		await t.settle([
			{ type: 'dead', id: early, attempt: 1, cause: 'expired', error: null, afterDeadLetter: 'block' },
		])
		const at = (await t.find(early)).endedAt ?? 0
		assert.deepEqual(await listed(t, { since: at }), [early])
		assert.deepEqual(await listed(t, { status: 'dead', until: at }), [dead])
		assert.equal((await t.store.countDead({ since: at + 1 }, MANY)).count, 0)
		assert.deepEqual(await t.store.replay({ since: at }, MANY), [early])
	},

	'every filter applies to replay': async (t) => {
		const note = { type: 'Error', message: 'm', fingerprint: 'f-1' }
		const meant = { topic: 't', destination: 'b', key: 'k' }
		const id = await t.addDeadLetter(meant, { cause: 'expired', error: note })
		const at = (await t.find(id)).endedAt ?? 0
		const all: StoreFilter = {
			...meant,
			ids: [id],
			cause: 'expired',
			fingerprint: 'f-1',
			since: at,
			until: at + 1,
		}
		const wrong: readonly StoreFilter[] = [
			{ ids: [t.id()] },
			{ topic: 'x' },
			{ destination: 'x' },
			{ key: 'x' },
			{ cause: 'predecessor-dead' },
			{ fingerprint: 'x' },
			{ since: at + 1 },
			{ until: at },
		]
		for (const part of wrong) {
			assert.deepEqual(await t.store.replay({ ...all, ...part }, MANY), [], JSON.stringify(part))
			assert.deepEqual(await t.store.discard({ ...all, ...part }, MANY, false), [], JSON.stringify(part))
		}
		assert.deepEqual(await t.store.replay(all, MANY), [id])
	},

	'treats SQL metacharacters as plain text': async (t) => {
		await t.enqueue({ topic: 'plain' }, { key: 'plain' })
		for (const text of ["' OR 1=1 --", '%', '_', '"', '\\', '$1', '?1', ':a', '*'])
			for (const name of ['topic', 'destination', 'key', 'fingerprint'] as const)
				assert.deepEqual(await listed(t, { [name]: text }), [], `${name} ${text}`)
	},

	'invalid ids match nothing': async (t) => {
		const id = await t.enqueueOne()
		assert.equal(await t.store.find('no id at all'), undefined)
		assert.deepEqual(await listed(t, { ids: ['no id at all', id, ''] }), [id])
	},
}
