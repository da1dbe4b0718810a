/** Messages as people and tools see them, page by page. */
import assert from 'node:assert/strict'
import type { StoreFilter } from '../../store/store.ts'
import { type CaseTable, HOUR, idsOf, MANY, MINUTE, type StoreHarness, sorted } from '../harness/harness.ts'
import { retry, sent } from '../harness/settlements.ts'

/** All that matches, in pages of so many. */
const pages = async (trial: StoreHarness, filter: StoreFilter, size: number): Promise<string[]> => {
	const ids: string[] = []
	for (let page = 0; page < 100; page++) {
		const rows = await trial.store.list(filter, size, ids.at(-1))
		assert.ok(rows.length <= size)
		ids.push(...idsOf(rows))
		if (rows.length < size) return ids
	}
	throw new Error('the pages never end')
}

export const listing: CaseTable = {
	'an empty outbox lists nothing': async ({ store }) => {
		assert.deepEqual(await store.list({}, MANY), [])
		for (const status of ['pending', 'processing', 'sent', 'dead'] as const)
			assert.deepEqual(await store.list({ status }, MANY), [])
	},

	'a message is listed as it is found': async (trial) => {
		const [pending, dead] = [await trial.enqueueOne({ key: 'k', headers: '{"h":"1"}' }), await trial.bury()]
		for (const id of [pending, dead])
			assert.deepEqual(await trial.store.list({ ids: [id] }, MANY), [await trial.find(id)])
	},

	'every status lists its own': async (trial) => {
		await trial.enqueueOne()
		const done = await trial.claimOne()
		await trial.settle([sent(done)], true)
		const dead = await trial.bury()
		const flying = await trial.enqueueOne()
		await trial.claimOne()
		const later = await trial.enqueueOne({ notBefore: (await trial.now()) + HOUR })
		const due = await trial.enqueueOne()
		const of = async (status: StoreFilter['status']) => idsOf(await trial.store.list({ status }, MANY))
		assert.deepEqual(await of('pending'), [later, due])
		assert.deepEqual(await of('processing'), [flying])
		assert.deepEqual(await of('dead'), [dead])
		assert.deepEqual(await of('sent'), [done.id])
		assert.deepEqual(sorted(await of(undefined)), sorted([later, due, flying, dead]))
	},

	'a message that waits for a retry is pending': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.settle([retry(await trial.claimOne(), HOUR)])
		assert.deepEqual(idsOf(await trial.store.list({ status: 'pending' }, MANY)), [id])
	},

	'the oldest come first, in the order of enqueuing': async (trial) => {
		const ids: string[] = []
		for (let n = 0; n < 5; n++) {
			ids.push(...(await trial.enqueue({}, {})))
			await trial.advance(MINUTE)
		}
		assert.deepEqual(idsOf(await trial.store.list({}, MANY)), ids)
		assert.deepEqual(idsOf(await trial.store.list({}, 3)), ids.slice(0, 3))
	},

	'of the dead the first that died come first': async (trial) => {
		const ids: string[] = []
		for (let n = 0; n < 4; n++) {
			ids.push(await trial.bury())
			await trial.advance(MINUTE)
		}
		assert.deepEqual(idsOf(await trial.store.list({ status: 'dead' }, MANY)), ids)
	},

	'pages have no gaps and nothing twice, though all came at the same time': async (trial) => {
		await trial.enqueue(...Array.from({ length: 23 }, () => ({})))
		const ids = idsOf(await trial.store.list({}, MANY))
		for (const size of [1, 4, 7, 23, 24]) assert.deepEqual(await pages(trial, {}, size), ids)
	},

	'pages have no gaps and nothing twice across the queue and the dead': async (trial) => {
		for (let n = 0; n < 6; n++) {
			await trial.bury()
			await trial.enqueue({ destination: 'b' }, { destination: 'b' })
			if (n % 2) await trial.advance(MINUTE)
		}
		const ids = idsOf(await trial.store.list({}, MANY))
		assert.equal(ids.length, 18)
		for (const size of [1, 4, 5, 18]) assert.deepEqual(await pages(trial, {}, size), ids)
	},

	'pages of dead letters that died together have no gaps': async (trial) => {
		await trial.enqueue(...Array.from({ length: 11 }, () => ({ key: 'k' })))
		const head = await trial.claimOne({ isOrdered: true })
		const death = {
			type: 'dead',
			cause: 'permanent',
			error: null,
			afterDeadLetter: 'dead-letter-rest',
		} as const
		await trial.settle([{ ...death, id: head.id, attempt: head.attempt }])
		const ids = idsOf(await trial.store.list({ status: 'dead' }, MANY))
		assert.equal(ids.length, 11)
		for (const size of [1, 3, 11]) assert.deepEqual(await pages(trial, { status: 'dead' }, size), ids)
	},

	'pages of what was sent have no gaps': async (trial) => {
		await trial.enqueue(...Array.from({ length: 7 }, () => ({})))
		await trial.settle((await trial.claim()).map(sent), true)
		const ids = idsOf(await trial.store.list({ status: 'sent' }, MANY))
		assert.equal(ids.length, 7)
		for (const size of [1, 3]) assert.deepEqual(await pages(trial, { status: 'sent' }, size), ids)
	},

	'pages hold with a filter, and what comes meanwhile is behind': async (trial) => {
		const ids = await trial.enqueue(...Array.from({ length: 10 }, (_, n) => ({ topic: n % 2 ? 't' : 'u' })))
		const odd = ids.filter((_, n) => n % 2)
		const first = idsOf(await trial.store.list({ topic: 't' }, 2))
		const late = await trial.enqueueOne({ topic: 't' })
		const rest = idsOf(await trial.store.list({ topic: 't' }, MANY, first.at(-1)))
		assert.deepEqual([...first, ...rest], [...odd, late])
	},

	'pages go on behind a message that was sent or died between two of them': async (trial) => {
		const ids = await trial.enqueue({}, {}, {}, {}, {}, {})
		const [one, two, three] = await trial.claim({ limit: 3 })
		assert.ok(one && two && three)
		const end = { cause: 'permanent', error: null, afterDeadLetter: 'block' } as const
		await trial.settle([{ type: 'dead', id: two.id, attempt: 1, ...end }])
		assert.deepEqual(idsOf(await trial.store.list({}, MANY, two.id)), ids.slice(2))
		await trial.settle([sent(three)], true)
		assert.deepEqual(idsOf(await trial.store.list({}, MANY, three.id)), ids.slice(3))
		await trial.settle([sent(one)])
		assert.deepEqual(idsOf(await trial.store.list({}, MANY, one.id)), [two.id, ...ids.slice(3)])
	},

	'after the last there is nothing': async (trial) => {
		const ids = await trial.enqueue({}, {})
		assert.deepEqual(await trial.store.list({}, MANY, ids.at(-1)), [])
	},
}
