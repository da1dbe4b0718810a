/** Dead letters go back into the queue, as if they had never been tried. */
import assert from 'node:assert/strict'
import { type CaseTable, HOUR, MANY, MINUTE, near, type StoreHarness, sorted } from '../harness/harness.ts'
import { dead, retry } from '../harness/settlements.ts'

const buried = async (trial: StoreHarness, count: number): Promise<string[]> => {
	const ids: string[] = []
	for (let n = 0; n < count; n++) {
		ids.push(await trial.bury())
		await trial.advance(MINUTE)
	}
	return ids
}

export const replaying: CaseTable = {
	'a replayed message is pending and due now, with no attempts and no crashes': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.claimOne({ leaseMs: MINUTE })
		await trial.advance(HOUR)
		await trial.settle([dead(await trial.claimOne())])
		await trial.advance(HOUR)
		assert.deepEqual(await trial.store.replay({}, MANY), [id])
		const found = await trial.find(id)
		assert.deepEqual(
			[found.status, found.attempts, found.crashes, found.endedAt, found.cause, found.lockedBy],
			['pending', 0, 0, null, null, null],
		)
		near(found.dueAt, await trial.now(), 'dueAt')
		assert.equal((await trial.store.countDead({}, MANY)).count, 0)
	},

	'it keeps its id and everything that it was enqueued with': async (trial) => {
		const now = await trial.now()
		const part = {
			topic: 't',
			key: 'k',
			payload: '{"a": [1,2]}',
			headers: '{"h":"1"}',
			dedupeKey: 'd',
			maxRetries: 3,
			expiresAt: now + 99 * HOUR,
		}
		const id = await trial.enqueueOne(part)
		const { createdAt } = await trial.find(id)
		await trial.settle([dead(await trial.claimOne())])
		await trial.advance(HOUR)
		await trial.store.replay({}, MANY)
		const found = await trial.find(id)
		for (const [name, value] of Object.entries({ ...part, createdAt }))
			assert.deepEqual(found[name as keyof typeof found], value, name)
	},

	'the next claim is the first attempt again, without an old delay': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.settle([retry(await trial.claimOne(), 0, 5_000)])
		await trial.settle([dead(await trial.claimOne())])
		await trial.store.replay({}, MANY)
		const row = await trial.claimOne()
		assert.deepEqual([row.id, row.attempt, row.crashes, row.delayMs], [id, 1, 0, null])
	},

	'a message that waited for later when it was parked is due now': async (trial) => {
		await trial.enqueue({ key: 'k' }, { key: 'k', notBefore: (await trial.now()) + 50 * HOUR })
		await trial.settle([
			dead(await trial.claimOne({ isOrdered: true }), { afterDeadLetter: 'dead-letter-rest' }),
		])
		await trial.store.replay({}, MANY)
		assert.equal((await trial.claim()).length, 2)
	},

	'the oldest go first, and not more than asked for': async (trial) => {
		const ids = await buried(trial, 5)
		assert.deepEqual(sorted(await trial.store.replay({}, 2)), sorted(ids.slice(0, 2)))
		assert.deepEqual(sorted(await trial.store.replay({}, 1)), sorted(ids.slice(2, 3)))
		assert.deepEqual(sorted(await trial.store.replay({}, MANY)), sorted(ids.slice(3)))
		assert.deepEqual(await trial.store.replay({}, MANY), [])
	},

	'only what matches is replayed': async (trial) => {
		const id = await trial.bury({ topic: 't' })
		await trial.bury({ topic: 'u' })
		assert.deepEqual(await trial.store.replay({ topic: 't' }, MANY), [id])
		assert.equal((await trial.store.countDead({}, MANY)).count, 1)
	},

	'an empty list of ids means none, and not all': async (trial) => {
		await buried(trial, 2)
		assert.deepEqual(await trial.store.replay({ ids: [] }, MANY), [])
		assert.equal((await trial.store.countDead({}, MANY)).count, 2)
	},

	'what is no dead letter is left alone': async (trial) => {
		const waiting = await trial.enqueueOne({ notBefore: (await trial.now()) + HOUR })
		const flying = await trial.enqueueOne()
		await trial.claimOne()
		const before = [await trial.find(waiting), await trial.find(flying)]
		assert.deepEqual(await trial.store.replay({ ids: [waiting, flying, trial.id()] }, MANY), [])
		assert.deepEqual(await trial.store.replay({}, MANY), [])
		assert.deepEqual([await trial.find(waiting), await trial.find(flying)], before)
	},

	'a message may die and be replayed again and again': async (trial) => {
		const id = await trial.enqueueOne()
		for (let n = 0; n < 3; n++) {
			const row = await trial.claimOne()
			assert.equal(row.attempt, 1)
			await trial.settle([dead(row)])
			assert.deepEqual(await trial.store.replay({}, MANY), [id])
		}
	},

	'a replay and a discard at the same time get each letter once': async (trial) => {
		const other = await trial.other()
		const ids = await buried(trial, 12)
		const answers = await Promise.all([
			trial.store.replay({}, 8),
			other.replay({}, 8),
			trial.store.discard({}, 8, true),
			other.replay({}, 8),
		])
		const all = answers.flat()
		assert.equal(new Set(all).size, all.length)
		const rest = await trial.store.countDead({}, MANY)
		assert.equal(all.length + rest.count, ids.length)
	},

	'what nobody edits stays as it was': async (trial) => {
		const id = await trial.bury({ payload: '[1]', headers: '{"h":"1"}', maxRetries: 2 })
		await trial.store.replay({}, MANY, {})
		const found = await trial.find(id)
		assert.deepEqual([found.payload, found.headers, found.maxRetries], ['[1]', '{"h":"1"}', 2])
	},

	'everything that may be edited is': async (trial) => {
		const id = await trial.bury({ payload: '[1]', headers: '{"h":"1"}', maxRetries: 2 })
		const expiresAt = (await trial.now()) + 7 * HOUR
		const edit = { payload: '[2]', headers: '{"h":"2"}', destination: 'b', expiresAt, maxRetries: 9 }
		assert.deepEqual(await trial.store.replay({ ids: [id] }, 1, edit), [id])
		const found = await trial.find(id)
		for (const [name, value] of Object.entries(edit))
			assert.deepEqual(found[name as keyof typeof found], value, name)
		assert.deepEqual(await trial.claimIds({ destination: 'a' }), [])
		const row = await trial.claimOne({ destination: 'b' })
		assert.deepEqual(
			[row.payload, row.headers, row.expiresAt, row.maxRetries],
			['[2]', '{"h":"2"}', expiresAt, 9],
		)
	},

	'null takes away, and what is left out stays': async (trial) => {
		const expiresAt = (await trial.now()) + 7 * HOUR
		const part = { headers: '{"h":"1"}', maxRetries: 2, expiresAt }
		const id = await trial.bury(part)
		await trial.store.replay({}, MANY, { headers: null })
		const once = await trial.find(id)
		assert.deepEqual([once.headers, once.maxRetries, once.expiresAt], [null, 2, expiresAt])
		await trial.settle([dead(await trial.claimOne())])
		await trial.store.replay({}, MANY, { maxRetries: null, expiresAt: null })
		const twice = await trial.find(id)
		assert.deepEqual([twice.maxRetries, twice.expiresAt], [null, null])
	},

	'no retries is an edit too': async (trial) => {
		const id = await trial.bury({ maxRetries: 5 })
		await trial.store.replay({}, MANY, { maxRetries: 0 })
		assert.equal((await trial.find(id)).maxRetries, 0)
	},

	'a replayed message is of the queue again in every list': async (trial) => {
		const id = await trial.bury()
		await trial.store.replay({}, MANY)
		const listed = await trial.store.list({}, MANY)
		assert.deepEqual(
			listed.map((message) => [message.id, message.status]),
			[[id, 'pending']],
		)
		assert.deepEqual((await trial.store.dueDestinations(MANY)).names, ['a'])
	},
}
