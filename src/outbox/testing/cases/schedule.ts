/** Due times: the next message, destinations with due messages, retries due now, ended messages. */
import assert from 'node:assert/strict'
import type { NewRow } from '../../store/rows.ts'
import { assertFields, assertNear, HOUR, required, sorted } from '../harness/assertions.ts'
import { type CaseTable, MANY, OPERATOR, type StoreHarness } from '../harness/harness.ts'
import { retry, sent } from '../harness/settlements.ts'

/** Asserts the time to the next due message. */
const expectNext = async (t: StoreHarness, ms: number | undefined, destinations = ['a']): Promise<void> => {
	const found = await t.store.nextDueInMs(destinations)
	if (ms === undefined) assert.equal(found, undefined)
	else assertNear(found, ms, 'nextDueInMs')
}

const expectNames = async (t: StoreHarness, expected: readonly string[], after?: string): Promise<void> =>
	assert.deepEqual(sorted((await t.store.dueDestinations(MANY, after)).names), sorted(expected))

const toEach = (names: readonly string[]) => names.map((destination) => ({ destination }))

export const schedule: CaseTable = {
	'nextDueInMs is undefined for an empty queue': async (t) => {
		await expectNext(t, undefined, ['a', 'b'])
		await expectNext(t, undefined, [])
	},

	'nextDueInMs is the time to the next scheduled message, and decreases': async (t) => {
		const now = await t.now()
		await t.enqueue(...[5, 3, 9].map((hours) => ({ notBefore: now + hours * HOUR })))
		await expectNext(t, 3 * HOUR)
		await t.advance(HOUR)
		await expectNext(t, 2 * HOUR)
		await t.advance(3 * HOUR)
		await expectNext(t, HOUR)
	},

	'nextDueInMs ignores due messages': async (t) => {
		await t.enqueueOne()
		await expectNext(t, undefined)
		await t.enqueueOne({ notBefore: (await t.now()) + HOUR })
		await expectNext(t, HOUR)
	},

	'nextDueInMs ignores messages in flight and includes retries': async (t) => {
		const row = await t.enqueueAndClaim()
		await expectNext(t, undefined)
		await t.settle([retry(row, 2 * HOUR)])
		await expectNext(t, 2 * HOUR)
	},

	'nextDueInMs includes only requested destinations': async (t) => {
		const now = await t.now()
		await t.enqueue(
			{ destination: 'a', notBefore: now + HOUR },
			{ destination: 'b', notBefore: now + 2 * HOUR },
			{ destination: 'c', notBefore: now + 3 * HOUR },
		)
		await expectNext(t, 2 * HOUR, ['c', 'b'])
		await expectNext(t, undefined, ['x'])
		await expectNext(t, undefined, [])
	},

	'nextDueInMs ignores dead letters': async (t) => {
		await t.addDeadLetter()
		await expectNext(t, undefined)
	},

	'hasClaimable is true only with a message that is due and not in flight, of this destination': async (
		t,
	) => {
		for (const isOrdered of [false, true]) {
			const destination = `d ${isOrdered}`
			const has = () => t.store.hasClaimable(destination, isOrdered, 2)
			assert.equal(await has(), false)
			await t.enqueue({ destination: 'other' }, { destination, notBefore: (await t.now()) + HOUR })
			assert.equal(await has(), false)
			await t.advance(2 * HOUR)
			assert.equal(await has(), true)
			const row = await t.claimOne({ destination, isOrdered })
			assert.equal(await has(), false)
			await t.settle([retry(row, HOUR)])
			assert.equal(await has(), false)
			await t.advance(2 * HOUR)
			assert.equal(await has(), true)
			await t.send(row.id, { destination, isOrdered })
			assert.equal(await has(), false)
		}
	},

	'hasClaimable looks past messages of blocked keys if the destination is ordered': async (t) => {
		const has = (isOrdered: boolean) => t.store.hasClaimable('a', isOrdered, 2)
		await t.enqueueMany(3, { key: 'k' })
		await t.deadLetterHead('block')
		assert.equal(await has(true), false)
		assert.equal(await has(false), true)
		const later = await t.enqueueOne({ key: 'other' })
		assert.equal(await has(true), true)
		await t.send(later, { isOrdered: true })
		assert.equal(await has(true), false)
		await t.enqueueOne()
		assert.equal(await has(true), true)
	},

	'hasClaimable ignores messages that wait for an earlier one of their key': async (t) => {
		const has = (isOrdered: boolean) => t.store.hasClaimable('a', isOrdered, 2)
		await t.enqueueMany(2, { key: 'k' })
		const first = await t.claimOne({ isOrdered: true })
		assert.equal(await has(true), false)
		await t.settle([retry(first, HOUR)])
		assert.equal(await has(true), false)
		assert.equal(await has(false), true)
		await t.advance(2 * HOUR)
		assert.equal(await has(true), true)
	},

	'hasClaimable ignores poison candidates, and claims nothing': async (t) => {
		const id = await t.enqueueOne()
		assert.equal(await t.store.hasClaimable('a', false, 2), true)
		await t.expectMessage(id, { status: 'pending', attempts: 0 })
		await t.crash()
		assert.equal(await t.store.hasClaimable('a', false, 1), false)
		assert.equal(await t.store.hasClaimable('a', false, 2), true)
		assert.equal(await t.store.hasClaimable('a', false, Infinity), true)
	},

	'lists every destination with due messages once': async (t) => {
		await t.enqueue(...toEach(['b', 'a', 'c', 'a', 'b', 'ä', 'Z']))
		await t.enqueueOne({ destination: 'a', notBefore: (await t.now()) + HOUR })
		await expectNames(t, ['a', 'b', 'c', 'ä', 'Z'])
		assert.equal((await t.store.dueDestinations(MANY)).nextDueInMs, undefined)
	},

	'omits a destination without due messages, but returns when its first is due': async (t) => {
		const now = await t.now()
		await t.enqueue(
			{ destination: 'a' },
			{ destination: 'later', notBefore: now + 5 * HOUR },
			{ destination: 'later', notBefore: now + 3 * HOUR },
			{ destination: 'sooner', notBefore: now + 2 * HOUR },
		)
		await expectNames(t, ['a'])
		assertNear((await t.store.dueDestinations(MANY)).nextDueInMs, 2 * HOUR, 'nextDueInMs')
		await t.advance(2 * HOUR)
		await expectNames(t, ['a', 'sooner'])
		assertNear((await t.store.dueDestinations(MANY)).nextDueInMs, HOUR, 'nextDueInMs')
	},

	'lists a destination whose messages are in flight, and omits an empty one': async (t) => {
		const row = await t.enqueueAndClaim()
		await expectNames(t, ['a'])
		await t.settle([sent(row)], true)
		assert.deepEqual(await t.store.dueDestinations(MANY), { names: [], nextDueInMs: undefined })
	},

	'lists at most limit destinations': async (t) => {
		await t.enqueue(...toEach(['a', 'b', 'c', 'd']))
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
		await t.enqueue(...toEach(all))
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
		await t.enqueue(...toEach(['a', 'c']))
		await expectNames(t, ['c'], 'b')
		await expectNames(t, [], 'c')
	},

	'lists a hundred destinations': async (t) => {
		const names = Array.from({ length: 100 }, (_, n) => `d${n}`)
		for (let n = 0; n < 3; n++) await t.enqueue(...toEach(names))
		await expectNames(t, names)
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
		const id = await t.enqueueOne({ notBefore: (await t.now()) + 50 * HOUR, topic: 't' })
		assert.deepEqual(await t.store.retryNow({}, MANY), [])
		assert.deepEqual(await t.store.retryNow({ topic: 't' }, MANY), [])
		assert.deepEqual(await t.store.retryNow({ ids: [id] }, MANY), [id])
		assertNear((await t.find(id)).dueAt, await t.now(), 'dueAt')
		await t.expectClaim([id])
	},

	'makes a message that waits for a retry due now, with its attempts': async (t) => {
		const ids = await failedOnce(t, {})
		assert.deepEqual(await t.store.retryNow({ ids }, MANY), ids)
		await t.expectClaimed({ attempt: 2 })
	},

	'ignores messages in flight': async (t) => {
		const { id } = await t.enqueueAndClaim()
		const before = await t.find(id)
		assert.deepEqual(await t.store.retryNow({ ids: [id] }, MANY), [])
		assert.deepEqual(await t.find(id), before)
	},

	'ignores dead letters': async (t) => {
		const ids = [await t.addDeadLetter()]
		assert.deepEqual(await t.store.retryNow({ ids }, MANY), [])
		await t.expectStatus('dead', ids)
	},

	'makes at most limit messages due': async (t) => {
		await failedOnce(t, {}, {}, {}, {}, {})
		assert.equal((await t.store.retryNow({}, 2)).length, 2)
		await t.claimMany(2)
	},

	'makes only messages with at most maxAttempts attempts due': async (t) => {
		const [twice] = await failedOnce(t, {})
		await t.store.retryNow({}, MANY)
		await t.settle((await t.claim()).map((row) => retry(row, 50 * HOUR)))
		const [once] = await failedOnce(t, {})
		assert.deepEqual(await t.store.retryNow({}, MANY, 1), [once])
		assert.deepEqual(await t.store.retryNow({}, MANY, 2), [twice])
	},

	'makes only matching messages due': async (t) => {
		const [one] = await failedOnce(t, { topic: 't' }, { topic: 'u' })
		assert.deepEqual(await t.store.retryNow({ topic: 't' }, MANY), [one])
		await t.expectClaim([one])
	},

	'matches nothing with an empty list of ids': async (t) => {
		await failedOnce(t, {})
		assert.deepEqual(await t.store.retryNow({ ids: [] }, MANY), [])
		await t.expectClaim([])
	},
}

export const expire: CaseTable = {
	'makes queued messages expire and due, scheduled ones too': async (t) => {
		const ids = await t.enqueue(
			{},
			{ notBefore: (await t.now()) + 50 * HOUR },
			{ expiresAt: (await t.now()) + HOUR },
		)
		await t.advance(1)
		assert.deepEqual(await t.store.expire({}, MANY, OPERATOR), ids)
		const now = await t.now()
		for (const row of await t.claim()) assert.ok(row.dueAt <= now && (row.expiresAt ?? Infinity) <= now)
	},

	'expires a message that waits for a retry, with its attempts': async (t) => {
		const [id = ''] = await failedOnce(t, {})
		assert.deepEqual(await t.store.expire({ ids: [id] }, MANY, OPERATOR), [id])
		await t.expectClaimed({ attempt: 2 })
	},

	'ignores messages in flight, dead letters, and messages that have expired': async (t) => {
		const dead = await t.addDeadLetter()
		const { id } = await t.enqueueAndClaim()
		const before = await t.find(id)
		assert.deepEqual(await t.store.expire({}, MANY, OPERATOR), [])
		assert.deepEqual(await t.find(id), before)
		await t.expectStatus('dead', [dead])
		const queued = await t.enqueueOne()
		assert.deepEqual(await t.store.expire({}, MANY, OPERATOR), [queued])
		await t.advance(1)
		assert.deepEqual(await t.store.expire({}, MANY, OPERATOR), [])
	},

	'expires at most limit matching messages, oldest first': async (t) => {
		const ids = await t.enqueue({ topic: 't' }, { topic: 'u' }, { topic: 't' }, { topic: 't' })
		assert.deepEqual(await t.store.expire({ topic: 't' }, 2, OPERATOR), [ids[0], ids[2]])
		assert.deepEqual(await t.store.expire({ ids: [] }, MANY, OPERATOR), [])
	},

	'is recorded in the audit with the original message': async (t) => {
		const id = await t.enqueueOne({ topic: 't', key: 'k', payload: '[1]', headers: '{"h":"1"}' })
		await t.store.expire({}, MANY, OPERATOR)
		const [row] = await t.store.audit({}, MANY)
		assertFields(required(row, 'the record'), {
			...OPERATOR,
			action: 'expire',
			messageId: id,
			cause: null,
			changes: null,
		})
		assertFields(required(row, 'the record'), { topic: 't', key: 'k', payload: '[1]', headers: '{"h":"1"}' })
	},
}
