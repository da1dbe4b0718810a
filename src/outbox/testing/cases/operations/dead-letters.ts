/** Grouping, counting and replaying dead letters. */
import assert from 'node:assert/strict'
import type { StoredError } from '../../../message/message.ts'
import {
	assertNear,
	type CaseTable,
	HOUR,
	MANY,
	MINUTE,
	required,
	type StoreHarness,
	sorted,
} from '../../harness/harness.ts'
import { dead, retry } from '../../harness/settlements.ts'

const note = (fingerprint: string, message = `failed as ${fingerprint}`): StoredError => ({
	type: 'Error',
	message,
	fingerprint,
})

export const deadLetters: CaseTable = {
	'returns no group and count 0 without dead letters': async (t) => {
		await t.enqueueOne()
		assert.deepEqual(await t.store.deadGroups({}, MANY), [])
		assert.deepEqual(await t.store.countDead({}, MANY), { count: 0, isCapped: false })
	},

	'groups dead letters with the same error, with the oldest as example': async (t) => {
		const started = await t.now()
		const first = await t.addDeadLetter({}, { error: note('x', 'order 1 failed') })
		await t.advance(HOUR)
		await t.addDeadLetter({}, { error: note('x', 'order 2 failed') })
		await t.advance(HOUR)
		await t.addDeadLetter({}, { error: note('x', 'order 3 failed') })
		const groups = await t.store.deadGroups({}, MANY)
		assert.equal(groups.length, 1)
		const { firstAt, lastAt, errorMessage, ...group } = required(groups[0], 'the group')
		assert.deepEqual(group, {
			fingerprint: 'x',
			cause: 'permanent',
			destination: 'a',
			errorType: 'Error',
			count: 3,
			exampleId: first,
		})
		assertNear(firstAt, started, 'firstAt')
		assertNear(lastAt, started + 2 * HOUR, 'lastAt')
		assert.match(errorMessage ?? '', /^order [123] failed$/)
	},

	'separates groups by fingerprint, cause and destination, largest first': async (t) => {
		for (let n = 0; n < 4; n++) await t.addDeadLetter({}, { error: note('x') })
		for (let n = 0; n < 3; n++) await t.addDeadLetter({}, { error: note('y') })
		for (let n = 0; n < 2; n++) await t.addDeadLetter({}, { error: note('x'), cause: 'retries-exhausted' })
		await t.addDeadLetter({ destination: 'b' }, { error: note('x') })
		const groups = await t.store.deadGroups({}, MANY)
		assert.deepEqual(
			groups.map((group) => [group.count, group.fingerprint, group.cause, group.destination]),
			[
				[4, 'x', 'permanent', 'a'],
				[3, 'y', 'permanent', 'a'],
				[2, 'x', 'retries-exhausted', 'a'],
				[1, 'x', 'permanent', 'b'],
			],
		)
		assert.equal((await t.store.deadGroups({}, 2)).length, 2)
		assert.deepEqual(
			(await t.store.deadGroups({}, 2)).map((group) => group.count),
			[4, 3],
		)
	},

	'groups dead letters without an error': async (t) => {
		await t.addDeadLetter({}, { cause: 'expired', error: null })
		await t.addDeadLetter({}, { cause: 'expired', error: null })
		const groups = await t.store.deadGroups({}, MANY)
		assert.deepEqual(
			groups.map((group) => [group.count, group.cause, group.errorType, group.errorMessage]),
			[[2, 'expired', null, null]],
		)
		assert.equal(typeof groups[0]?.fingerprint, 'string')
	},

	"a group's fields find its messages, with an error or without": async (t) => {
		await t.addDeadLetter({}, { error: note('x') })
		await t.addDeadLetter({}, { error: note('x') })
		await t.addDeadLetter({}, { cause: 'expired', error: null })
		await t.addDeadLetter({ destination: 'b' }, { error: note('x') })
		const groups = await t.store.deadGroups({}, MANY)
		assert.equal(groups.length, 3)
		for (const { fingerprint, cause, destination, count } of groups)
			assert.equal((await t.store.countDead({ fingerprint, cause, destination }, MANY)).count, count)
	},

	'filters groups': async (t) => {
		await t.addDeadLetter({ topic: 't' }, { error: note('x') })
		await t.addDeadLetter({ topic: 'u' }, { error: note('x') })
		await t.addDeadLetter({ topic: 'u' }, { error: note('y') })
		const groups = await t.store.deadGroups({ topic: 'u', fingerprint: 'x' }, MANY)
		assert.deepEqual(
			groups.map((group) => [group.fingerprint, group.count]),
			[['x', 1]],
		)
	},

	'counting stops at the limit and says so': async (t) => {
		for (let n = 0; n < 5; n++) await t.addDeadLetter()
		assert.deepEqual(await t.store.countDead({}, 3), { count: 3, isCapped: true })
		assert.deepEqual(await t.store.countDead({}, 6), { count: 5, isCapped: false })
	},

	'counts only matching dead letters': async (t) => {
		await t.addDeadLetter({ topic: 't' })
		await t.addDeadLetter({ topic: 'u' })
		await t.enqueueOne({ topic: 't' })
		assert.equal((await t.store.countDead({ topic: 't' }, MANY)).count, 1)
		assert.equal((await t.store.countDead({ topic: 'x' }, MANY)).count, 0)
	},

	'does not count replayed or discarded messages': async (t) => {
		const [one, two] = [await t.addDeadLetter(), await t.addDeadLetter()]
		await t.addDeadLetter()
		await t.store.replay({ ids: [one] }, MANY)
		await t.store.discard({ ids: [two] }, MANY, true)
		assert.equal((await t.store.countDead({}, MANY)).count, 1)
		assert.equal((await t.store.deadGroups({}, MANY))[0]?.count, 1)
	},
}

const addDeadLetters = async (t: StoreHarness, count: number): Promise<string[]> => {
	const ids: string[] = []
	for (let n = 0; n < count; n++) {
		ids.push(await t.addDeadLetter())
		await t.advance(MINUTE)
	}
	return ids
}

export const replay: CaseTable = {
	'makes a message pending and due now, with no attempts and crashes': async (t) => {
		const id = await t.enqueueOne()
		await t.claimOne({ leaseMs: MINUTE })
		await t.advance(HOUR)
		await t.settle([dead(await t.claimOne())])
		await t.advance(HOUR)
		assert.deepEqual(await t.store.replay({}, MANY), [id])
		const found = await t.find(id)
		assert.deepEqual(
			[found.status, found.attempts, found.crashes, found.endedAt, found.cause, found.lockedBy],
			['pending', 0, 0, null, null, null],
		)
		assertNear(found.dueAt, await t.now(), 'dueAt')
		assert.equal((await t.store.countDead({}, MANY)).count, 0)
	},

	'keeps the id and all enqueued fields': async (t) => {
		const now = await t.now()
		const part = {
			topic: 't',
			key: 'k',
			payload: '{"a": [1,2]}',
			headers: '{"h":"1"}',
			dedupeKey: 'd',
			maxRetries: 3,
			expiresAt: now + 99 * HOUR,
		}
		const id = await t.enqueueOne(part)
		const { createdAt } = await t.find(id)
		await t.settle([dead(await t.claimOne())])
		await t.advance(HOUR)
		await t.store.replay({}, MANY)
		const found = await t.find(id)
		for (const [name, value] of Object.entries({ ...part, createdAt }))
			assert.deepEqual(found[name as keyof typeof found], value, name)
	},

	'the next claim is the first attempt, without a previous delay': async (t) => {
		const id = await t.enqueueOne()
		await t.settle([retry(await t.claimOne(), 0, 5_000)])
		await t.settle([dead(await t.claimOne())])
		await t.store.replay({}, MANY)
		await t.expectClaimed({ id, attempt: 1, crashes: 0, delayMs: null })
	},

	'makes a message due that was scheduled when it was dead-lettered after its predecessor': async (t) => {
		await t.enqueue({ key: 'k' }, { key: 'k', notBefore: (await t.now()) + 50 * HOUR })
		await t.deadLetterHead('dead-letter-rest')
		await t.store.replay({}, MANY)
		assert.equal((await t.claim()).length, 2)
	},

	'replays the oldest first, at most limit': async (t) => {
		const ids = await addDeadLetters(t, 5)
		assert.deepEqual(sorted(await t.store.replay({}, 2)), sorted(ids.slice(0, 2)))
		assert.deepEqual(sorted(await t.store.replay({}, 1)), sorted(ids.slice(2, 3)))
		assert.deepEqual(sorted(await t.store.replay({}, MANY)), sorted(ids.slice(3)))
		assert.deepEqual(await t.store.replay({}, MANY), [])
	},

	'replays only matching dead letters': async (t) => {
		const id = await t.addDeadLetter({ topic: 't' })
		await t.addDeadLetter({ topic: 'u' })
		assert.deepEqual(await t.store.replay({ topic: 't' }, MANY), [id])
		assert.equal((await t.store.countDead({}, MANY)).count, 1)
	},

	'matches nothing with an empty list of ids': async (t) => {
		await addDeadLetters(t, 2)
		assert.deepEqual(await t.store.replay({ ids: [] }, MANY), [])
		assert.equal((await t.store.countDead({}, MANY)).count, 2)
	},

	'ignores messages that are not dead': async (t) => {
		const scheduled = await t.enqueueOne({ notBefore: (await t.now()) + HOUR })
		const inFlight = await t.enqueueOne()
		await t.claimOne()
		const before = [await t.find(scheduled), await t.find(inFlight)]
		assert.deepEqual(await t.store.replay({ ids: [scheduled, inFlight, t.id()] }, MANY), [])
		assert.deepEqual(await t.store.replay({}, MANY), [])
		assert.deepEqual([await t.find(scheduled), await t.find(inFlight)], before)
	},

	'replays a message that died again': async (t) => {
		const id = await t.enqueueOne()
		for (let n = 0; n < 3; n++) {
			const row = await t.claimOne()
			assert.equal(row.attempt, 1)
			await t.settle([dead(row)])
			assert.deepEqual(await t.store.replay({}, MANY), [id])
		}
	},

	'concurrent replay and discard get each dead letter once': async (t) => {
		const other = await t.other()
		const ids = await addDeadLetters(t, 12)
		const results = await Promise.all([
			t.store.replay({}, 8),
			other.replay({}, 8),
			t.store.discard({}, 8, true),
			other.replay({}, 8),
		])
		const all = results.flat()
		assert.equal(new Set(all).size, all.length)
		const rest = await t.store.countDead({}, MANY)
		assert.equal(all.length + rest.count, ids.length)
	},

	'keeps fields that are not edited': async (t) => {
		const id = await t.addDeadLetter({ payload: '[1]', headers: '{"h":"1"}', maxRetries: 2 })
		await t.store.replay({}, MANY, {})
		await t.expectMessage(id, { payload: '[1]', headers: '{"h":"1"}', maxRetries: 2 })
	},

	'edits every editable field': async (t) => {
		const id = await t.addDeadLetter({ payload: '[1]', headers: '{"h":"1"}', maxRetries: 2 })
		const expiresAt = (await t.now()) + 7 * HOUR
		const edit = { payload: '[2]', headers: '{"h":"2"}', destination: 'b', expiresAt, maxRetries: 9 }
		assert.deepEqual(await t.store.replay({ ids: [id] }, 1, edit), [id])
		const found = await t.find(id)
		for (const [name, value] of Object.entries(edit))
			assert.deepEqual(found[name as keyof typeof found], value, name)
		assert.deepEqual(await t.claimIds({ destination: 'a' }), [])
		await t.expectClaimed(
			{ payload: '[2]', headers: '{"h":"2"}', expiresAt, maxRetries: 9 },
			{ destination: 'b' },
		)
	},

	'null removes a value, and omitted fields stay': async (t) => {
		const expiresAt = (await t.now()) + 7 * HOUR
		const part = { headers: '{"h":"1"}', maxRetries: 2, expiresAt }
		const id = await t.addDeadLetter(part)
		await t.store.replay({}, MANY, { headers: null })
		await t.expectMessage(id, { headers: null, maxRetries: 2, expiresAt })
		await t.settle([dead(await t.claimOne())])
		await t.store.replay({}, MANY, { maxRetries: null, expiresAt: null })
		await t.expectMessage(id, { maxRetries: null, expiresAt: null })
	},

	'edits maxRetries to 0': async (t) => {
		const id = await t.addDeadLetter({ maxRetries: 5 })
		await t.store.replay({}, MANY, { maxRetries: 0 })
		assert.equal((await t.find(id)).maxRetries, 0)
	},

	'lists a replayed message as queued': async (t) => {
		const id = await t.addDeadLetter()
		await t.store.replay({}, MANY)
		const listed = await t.store.list({}, MANY)
		assert.deepEqual(
			listed.map((message) => [message.id, message.status]),
			[[id, 'pending']],
		)
		assert.deepEqual((await t.store.dueDestinations(MANY)).names, ['a'])
	},
}
