/** Grouping, counting and replaying dead letters. */
import assert from 'node:assert/strict'
import type { StoredError } from '../../message/message.ts'
import type { DeadGroupRow, StoreFilter } from '../../store/store.ts'
import { assertFields, assertNear, HOUR, sorted } from '../harness/assertions.ts'
import { type CaseTable, MANY, OPERATOR, type StoreHarness } from '../harness/harness.ts'
import { retry, sent } from '../harness/settlements.ts'

const note = (fingerprint: string, message = `failed as ${fingerprint}`): StoredError => ({
	type: 'Error',
	message,
	fingerprint,
})

/** Asserts some fields of each group, in this order. */
const expectGroups = async (
	t: StoreHarness,
	expected: readonly Partial<DeadGroupRow>[],
	filter: StoreFilter = {},
	limit = MANY,
): Promise<void> => {
	const groups = await t.store.deadGroups(filter, limit)
	assert.equal(groups.length, expected.length)
	for (const [n, group] of groups.entries()) assertFields(group, expected[n] ?? {})
}

export const deadLetters: CaseTable = {
	'returns no group and count 0 without dead letters': async (t) => {
		await t.enqueueOne()
		await expectGroups(t, [])
		assert.deepEqual(await t.store.countDead({}, MANY), { count: 0, isCapped: false })
	},

	'groups dead letters with the same error, with the oldest as example': async (t) => {
		const started = await t.now()
		const ids: string[] = []
		for (const n of [1, 2, 3]) {
			ids.push(await t.addDeadLetter({}, { error: note('x', `order ${n} failed`) }))
			await t.advance(HOUR)
		}
		const expected = { fingerprint: 'x', cause: 'permanent', destination: 'a', errorType: 'Error' } as const
		await expectGroups(t, [{ ...expected, count: 3, exampleId: ids[0] ?? '' }])
		const [group] = await t.store.deadGroups({}, MANY)
		assertNear(group?.firstAt, started, 'firstAt')
		assertNear(group?.lastAt, started + 2 * HOUR, 'lastAt')
		assert.match(group?.errorMessage ?? '', /^order [123] failed$/)
	},

	'separates groups by fingerprint, cause and destination, largest first': async (t) => {
		for (let n = 0; n < 4; n++) await t.addDeadLetter({}, { error: note('x') })
		for (let n = 0; n < 3; n++) await t.addDeadLetter({}, { error: note('y') })
		for (let n = 0; n < 2; n++) await t.addDeadLetter({}, { error: note('x'), cause: 'retries-exhausted' })
		await t.addDeadLetter({ destination: 'b' }, { error: note('x') })
		const expected = [
			{ count: 4, fingerprint: 'x', cause: 'permanent', destination: 'a' },
			{ count: 3, fingerprint: 'y', cause: 'permanent', destination: 'a' },
			{ count: 2, fingerprint: 'x', cause: 'retries-exhausted', destination: 'a' },
			{ count: 1, fingerprint: 'x', cause: 'permanent', destination: 'b' },
		] as const
		await expectGroups(t, expected)
		await expectGroups(t, expected.slice(0, 2), {}, 2)
	},

	'groups dead letters without an error': async (t) => {
		await t.addDeadLetter({}, { cause: 'expired', error: null })
		await t.addDeadLetter({}, { cause: 'expired', error: null })
		await expectGroups(t, [{ count: 2, cause: 'expired', errorType: null, errorMessage: null }])
		assert.equal(typeof (await t.store.deadGroups({}, MANY))[0]?.fingerprint, 'string')
	},

	"a group's fields find its messages, with an error or without": async (t) => {
		await t.addDeadLetter({}, { error: note('x') })
		await t.addDeadLetter({}, { error: note('x') })
		await t.addDeadLetter({}, { cause: 'expired', error: null })
		await t.addDeadLetter({ destination: 'b' }, { error: note('x') })
		const groups = await t.store.deadGroups({}, MANY)
		assert.equal(groups.length, 3)
		for (const { fingerprint, cause, destination, count } of groups)
			assert.equal(await t.countDead({ fingerprint, cause, destination }), count)
	},

	'filters groups': async (t) => {
		await t.addDeadLetter({ topic: 't' }, { error: note('x') })
		await t.addDeadLetter({ topic: 'u' }, { error: note('x') })
		await t.addDeadLetter({ topic: 'u' }, { error: note('y') })
		await expectGroups(t, [{ fingerprint: 'x', count: 1 }], { topic: 'u', fingerprint: 'x' })
	},

	'counting stops at the limit and says so': async (t) => {
		await t.addDeadLetters(5)
		assert.deepEqual(await t.store.countDead({}, 3), { count: 3, isCapped: true })
		assert.deepEqual(await t.store.countDead({}, 6), { count: 5, isCapped: false })
	},

	'counts only matching dead letters': async (t) => {
		await t.addDeadLetter({ topic: 't' })
		await t.addDeadLetter({ topic: 'u' })
		await t.enqueueOne({ topic: 't' })
		assert.equal(await t.countDead({ topic: 't' }), 1)
		assert.equal(await t.countDead({ topic: 'x' }), 0)
	},

	'does not count replayed or discarded messages': async (t) => {
		const [one = '', two = ''] = await t.addDeadLetters(3)
		await t.replay({ ids: [one] }, MANY)
		await t.discard({ ids: [two] }, MANY, true)
		assert.equal(await t.countDead(), 1)
		await expectGroups(t, [{ count: 1 }])
	},
}

/** Cases of an operation that moves dead letters. */
const deadLetterMoves = (
	verb: 'replays' | 'discards',
	move: (t: StoreHarness, filter: StoreFilter, limit: number) => Promise<readonly string[]>,
): CaseTable => ({
	[`${verb} the oldest first, at most limit`]: async (t) => {
		const ids = await t.addDeadLetters(5)
		assert.deepEqual(sorted(await move(t, {}, 2)), ids.slice(0, 2))
		assert.deepEqual(sorted(await move(t, {}, 1)), ids.slice(2, 3))
		assert.deepEqual(sorted(await move(t, {}, MANY)), ids.slice(3))
		assert.deepEqual(await move(t, {}, MANY), [])
	},

	[`${verb} only matching dead letters`]: async (t) => {
		const id = await t.addDeadLetter({ topic: 't' })
		const other = await t.addDeadLetter({ topic: 'u' })
		assert.deepEqual(await move(t, { topic: 't' }, MANY), [id])
		assert.deepEqual(await t.list({ status: 'dead' }), [other])
	},

	'matches nothing with an empty list of ids': async (t) => {
		await t.addDeadLetters(2)
		assert.deepEqual(await move(t, { ids: [] }, MANY), [])
		assert.equal(await t.countDead(), 2)
	},

	'ignores messages that are not dead': async (t) => {
		const scheduled = await t.enqueueOne({ notBefore: (await t.now()) + HOUR })
		const inFlight = (await t.enqueueAndClaim()).id
		const before = [await t.find(scheduled), await t.find(inFlight)]
		assert.deepEqual(await move(t, { ids: [scheduled, inFlight, t.id()] }, MANY), [])
		assert.deepEqual(await move(t, {}, MANY), [])
		assert.deepEqual([await t.find(scheduled), await t.find(inFlight)], before)
	},
})

export const replay: CaseTable = {
	...deadLetterMoves('replays', (t, filter, limit) => t.replay(filter, limit)),

	'makes a message pending and due now, with no attempts and crashes': async (t) => {
		const id = await t.enqueueOne()
		await t.crash()
		await t.die()
		await t.advance(HOUR)
		assert.deepEqual(await t.replay({}, MANY), [id])
		const found = await t.find(id)
		assertFields(found, { status: 'pending', attempts: 0, crashes: 0, endedAt: null })
		assertFields(found, { cause: null, lockedBy: null })
		assertNear(found.dueAt, await t.now(), 'dueAt')
		assert.equal(await t.countDead(), 0)
	},

	'keeps the id and all enqueued fields': async (t) => {
		const part = {
			topic: 't',
			key: 'k',
			payload: '{"a": [1,2]}',
			headers: '{"h":"1"}',
			dedupeKey: 'd',
			maxRetries: 3,
			expiresAt: (await t.now()) + 99 * HOUR,
		}
		const id = await t.enqueueOne(part)
		const { createdAt } = await t.find(id)
		await t.die()
		await t.advance(HOUR)
		await t.replay({}, MANY)
		await t.expectMessage(id, { ...part, createdAt })
	},

	'the next claim is the first attempt, without a previous delay': async (t) => {
		const row = await t.enqueueAndClaim()
		await t.settle([retry(row, 0, 5_000)])
		await t.die()
		await t.replay({}, MANY)
		await t.expectClaimed({ id: row.id, attempt: 1, crashes: 0, delayMs: null })
	},

	'makes a message due that was scheduled when it was dead-lettered after its predecessor': async (t) => {
		await t.enqueue({ key: 'k' }, { key: 'k', notBefore: (await t.now()) + 50 * HOUR })
		await t.deadLetterHead('dead-letter-rest')
		await t.replay({}, MANY)
		await t.claimMany(2)
	},

	'replays a message that died again': async (t) => {
		const id = await t.enqueueOne()
		for (let n = 0; n < 3; n++) {
			await t.die()
			await t.expectMessage(id, { attempts: 1 })
			assert.deepEqual(await t.replay({}, MANY), [id])
		}
	},

	'concurrent replay and discard get each dead letter once': async (t) => {
		const other = await t.other()
		await t.addDeadLetters(12)
		const calls = [
			t.replay({}, 8),
			other.replay({}, 8, OPERATOR),
			t.discard({}, 8, true),
			other.replay({}, 8, OPERATOR),
		]
		const all = (await Promise.all(calls)).flat()
		assert.equal(new Set(all).size, all.length)
		assert.equal(all.length + (await t.countDead()), 12)
	},

	'keeps fields that are not edited': async (t) => {
		const part = { payload: '[1]', headers: '{"h":"1"}', maxRetries: 2 }
		const id = await t.addDeadLetter(part)
		await t.replay({}, MANY, {})
		await t.expectMessage(id, part)
	},

	'edits every editable field': async (t) => {
		const id = await t.addDeadLetter({ payload: '[1]', headers: '{"h":"1"}', maxRetries: 2 })
		const expiresAt = (await t.now()) + 7 * HOUR
		const edit = { payload: '[2]', headers: '{"h":"2"}', destination: 'b', expiresAt, maxRetries: 9 }
		assert.deepEqual(await t.replay({ ids: [id] }, 1, edit), [id])
		await t.expectMessage(id, edit)
		await t.expectClaim([], { destination: 'a' })
		await t.expectClaimed(edit, { destination: 'b' })
	},

	'null removes a value, and omitted fields stay': async (t) => {
		const kept = { maxRetries: 2, expiresAt: (await t.now()) + 7 * HOUR }
		const id = await t.addDeadLetter({ headers: '{"h":"1"}', ...kept })
		await t.replay({}, MANY, { headers: null })
		await t.expectMessage(id, { headers: null, ...kept })
		await t.die()
		await t.replay({}, MANY, { maxRetries: null, expiresAt: null })
		await t.expectMessage(id, { maxRetries: null, expiresAt: null })
	},

	'edits maxRetries to 0': async (t) => {
		const id = await t.addDeadLetter({ maxRetries: 5 })
		await t.replay({}, MANY, { maxRetries: 0 })
		await t.expectMessage(id, { maxRetries: 0 })
	},

	'lists a replayed message as queued': async (t) => {
		const id = await t.addDeadLetter()
		await t.replay({}, MANY)
		assert.deepEqual(await t.list(), [id])
		await t.expectStatus('pending', [id])
		assert.deepEqual((await t.store.dueDestinations(MANY)).names, ['a'])
	},
}

const send = async (t: StoreHarness, count: number): Promise<string[]> => {
	const ids = await t.enqueueMany(count)
	await t.settle((await t.claim({ limit: MANY })).map(sent), true)
	return ids
}

export const history: CaseTable = {
	'keeps a sent message with all its fields': async (t) => {
		const part = { topic: 't', key: 'k', payload: '[3]', headers: '{"h":"1"}', dedupeKey: 'd', maxRetries: 5 }
		const id = await t.enqueueOne(part)
		const { createdAt, destination } = await t.find(id)
		await t.fail(0)
		await t.settle([sent(await t.claimOne())], true)
		const found = await t.find(id)
		assertFields(found, { ...part, createdAt, destination })
		assertFields(found, { status: 'sent', attempts: 2, cause: null, lockedBy: null, leaseUntil: null })
		assertNear(found.endedAt, await t.now(), 'endedAt')
	},

	'keeps messages only if requested': async (t) => {
		await t.enqueue({}, {})
		const [one, two] = await t.claimMany(2)
		await t.settle([sent(one)], true)
		await t.settle([sent(two)], false)
		assert.deepEqual(await t.list({ status: 'sent' }), [one.id])
		await t.expectGone(two.id)
	},

	'is not part of the queue': async (t) => {
		await send(t, 3)
		await t.advance(9 * HOUR)
		await t.expectClaim([])
		assert.deepEqual(await t.list(), [])
		assert.deepEqual((await t.store.dueDestinations(MANY)).names, [])
		assert.deepEqual(await t.replay({}, MANY), [])
		assert.equal(await t.countDead(), 0)
	},

	'drops rows older than the limit and keeps the rest': async (t) => {
		const old = await send(t, 2)
		await t.advance(2 * HOUR)
		const young = await send(t, 3)
		assert.equal(await t.store.dropHistory(5 * HOUR, MANY), 0)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 2)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 0)
		await t.expectGone(...old)
		assert.deepEqual(sorted(await t.list({ status: 'sent' })), young)
	},

	'counts the age from sending, not from enqueuing': async (t) => {
		const id = await t.enqueueOne()
		await t.advance(9 * HOUR)
		await t.settle([sent(await t.claimOne())], true)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 0)
		await t.expectStatus('sent', [id])
	},

	'drops the oldest first, at most limit': async (t) => {
		const ids: string[] = []
		for (let n = 0; n < 5; n++) {
			ids.push(...(await send(t, 1)))
			await t.advance(HOUR)
		}
		assert.equal(await t.store.dropHistory(HOUR / 2, 2), 2)
		assert.deepEqual(await t.list({ status: 'sent' }), ids.slice(2))
	},

	'drops discarded messages too': async (t) => {
		const id = await t.addDeadLetter()
		await t.discard({}, MANY, true)
		await t.advance(2 * HOUR)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 1)
		await t.expectGone(id)
	},

	'drops neither queued nor dead messages': async (t) => {
		const [scheduled, dead] = [await t.enqueueOne({ destination: 'b' }), await t.addDeadLetter()]
		await t.advance(99 * HOUR)
		assert.equal(await t.store.dropHistory(HOUR, MANY), 0)
		await t.expectStatus('pending', [scheduled])
		await t.expectStatus('dead', [dead])
	},
}

export const discard: CaseTable = {
	// Some with history and some without.
	...deadLetterMoves('discards', (t, filter, limit) => t.discard(filter, limit, limit === MANY)),

	'removes the dead letter': async (t) => {
		const id = await t.addDeadLetter()
		assert.deepEqual(await t.discard({}, MANY, false), [id])
		await t.expectGone(id)
		assert.deepEqual(await t.list(), [])
		assert.deepEqual(await t.replay({}, MANY), [])
	},

	'keeps the message in the history if requested, no longer listed as dead': async (t) => {
		const id = await t.addDeadLetter({ payload: '["kept"]' }, { cause: 'expired' })
		assert.deepEqual(await t.discard({}, MANY, true), [id])
		await t.expectMessage(id, { payload: '["kept"]', attempts: 1, cause: 'expired' })
		assert.equal(await t.countDead(), 0)
		assert.deepEqual(await t.list(), [])
		assert.deepEqual(await t.replay({ ids: [id] }, MANY), [])
		assert.deepEqual(await t.discard({ ids: [id] }, MANY, false), [])
	},

	'never lists a discarded message as sent': async (t) => {
		const id = await t.addDeadLetter()
		await t.discard({}, MANY, true)
		assert.notEqual((await t.find(id)).status, 'sent')
		await t.expectCounts({ pending: 0, processing: 0, sent: 0, dead: 0 })
	},

	'matches nothing with another status than dead': async (t) => {
		await t.addDeadLetter()
		for (const status of ['pending', 'processing', 'sent'] as const) {
			assert.deepEqual(await t.discard({ status }, MANY, false), [])
			assert.deepEqual(await t.replay({ status }, MANY), [])
			assert.equal(await t.countDead({ status }), 0)
			assert.deepEqual(await t.store.deadGroups({ status }, MANY), [])
		}
		assert.equal(await t.countDead({ status: 'dead' }), 1)
		assert.equal((await t.discard({ status: 'dead' }, MANY, false)).length, 1)
	},
}
