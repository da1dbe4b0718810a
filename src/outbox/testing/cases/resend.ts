/** Sent messages that return from the history into the queue. */
import assert from 'node:assert/strict'
import type { NewRow } from '../../store/rows.ts'
import { assertFields, assertNear, HOUR, MINUTE, required, sorted } from '../harness/assertions.ts'
import { type CaseTable, MANY, OPERATOR, ORDERED, type StoreHarness } from '../harness/harness.ts'
import { retry, sent } from '../harness/settlements.ts'

/** Enqueues a message, sends it and keeps it. */
const keep = async (t: StoreHarness, part: Partial<NewRow> = {}): Promise<string> => {
	const id = await t.enqueueOne(part)
	await t.settle([sent(await t.claimId(id, { destination: part.destination ?? 'a' }))], true)
	return id
}

const resend = (t: StoreHarness, id: string): Promise<readonly string[]> =>
	t.store.resend({ ids: [id] }, 1, OPERATOR)

export const resending: CaseTable = {
	'returns a sent message to the queue, due now, without attempts and error': async (t) => {
		const part = { topic: 't', key: 'k', payload: '[3]', headers: '{"h":"1"}', dedupeKey: 'd', maxRetries: 5 }
		const id = await t.enqueueOne(part)
		const { createdAt } = await t.find(id)
		await t.settle([retry(await t.claimOne(), 0)])
		const [row] = await t.claimMany(1)
		await t.settle([sent(row)], true)
		await t.advance(HOUR)
		assert.deepEqual(await resend(t, id), [id])
		const found = await t.find(id)
		assertFields(found, { ...part, createdAt, destination: 'a', status: 'pending' })
		assertFields(found, { attempts: 0, crashes: 0, error: null, lastAttemptAt: null, endedAt: null })
		assertNear(found.dueAt ?? 0, await t.now(), 'dueAt')
		await t.expectClaimed({ id, attempt: 1, sequence: row.sequence, delayMs: null })
	},

	'a message that was resent can be sent, kept and resent again': async (t) => {
		const id = await keep(t)
		for (let n = 0; n < 2; n++) {
			assert.deepEqual(await resend(t, id), [id])
			await t.settle([sent(await t.claimId(id))], true)
			await t.expectStatus('sent', [id])
		}
	},

	'does nothing while the message is queued, in flight or dead': async (t) => {
		const id = await keep(t)
		await resend(t, id)
		assert.deepEqual(await resend(t, id), [])
		await t.claimId(id)
		assert.deepEqual(await resend(t, id), [])
		const died = await t.addDeadLetter()
		assert.deepEqual(await resend(t, died), [])
		assert.deepEqual(await resend(t, t.id()), [])
		await t.expectStatus('processing', [id])
		await t.expectStatus('dead', [died])
	},

	'is not for discarded dead letters': async (t) => {
		const id = await t.addDeadLetter()
		await t.discard({}, MANY, true)
		assert.deepEqual(await resend(t, id), [])
		assert.deepEqual(await t.store.resend({}, MANY, OPERATOR), [])
	},

	'resends the oldest first, at most limit, and only what matches': async (t) => {
		const ids = [await keep(t), await keep(t), await keep(t)]
		await t.advance(MINUTE)
		const since = await t.now()
		const last = await keep(t, { topic: 'u' })
		assert.deepEqual(await t.store.resend({ destination: 'b' }, MANY, OPERATOR), [])
		assert.deepEqual(await t.store.resend({ status: 'dead' }, MANY, OPERATOR), [])
		assert.deepEqual(await t.store.resend({ destination: 'a', since, status: 'sent' }, MANY, OPERATOR), [
			last,
		])
		assert.deepEqual(await t.store.resend({}, 2, OPERATOR), ids.slice(0, 2))
		await t.expectStatus('sent', ids.slice(2))
	},

	'removes an expiry that has passed, and keeps a later one': async (t) => {
		const now = await t.now()
		const passed = await keep(t, { expiresAt: now + HOUR })
		const later = await keep(t, { expiresAt: now + 9 * HOUR })
		await t.advance(2 * HOUR)
		for (const id of [passed, later]) await resend(t, id)
		await t.expectMessage(passed, { expiresAt: null })
		await t.expectMessage(later, { expiresAt: now + 9 * HOUR })
	},

	'is at its former position in the order of its key': async (t) => {
		const part = { key: 'k' }
		const [one, two, three] = await t.enqueue(part, part, part)
		await t.settle([sent(await t.claimId(one, ORDERED))], true)
		await t.settle([sent(await t.claimId(two, ORDERED))], true)
		await resend(t, two)
		await resend(t, one)
		assert.equal((await t.store.findPredecessor(three))?.id, one)
		await t.sendInOrder([one, two, three])
	},

	'appears before messages of its key that a relay knows as first': async (t) => {
		const part = { key: 'k' }
		const [one, two] = await t.enqueue(part, part)
		await t.settle([sent(await t.claimId(one, ORDERED))], true)
		const held = await t.claimId(two, ORDERED)
		await resend(t, one)
		await t.expectClaim([], ORDERED)
		await t.settle([retry(held, 0)])
		await t.sendInOrder([one, two])
	},

	'takes its dedupe key again, until it is sent': async (t) => {
		const dedupeForMs = HOUR
		const row = t.row({ dedupeKey: 'd' })
		await t.store.insert([row], undefined, { dedupeForMs })
		await t.settle([sent(await t.claimId(row.id))], true)
		await t.advance(2 * HOUR)
		assert.equal(await t.store.dropDedupeKeys(MANY), 1)
		await resend(t, row.id)
		const again = t.row({ dedupeKey: 'd' })
		const { duplicates } = await t.store.insert([again], undefined, { dedupeForMs })
		assert.equal(duplicates.get(again.id), row.id)
		await t.settle([sent(await t.claimId(row.id))], true)
		await t.advance(MINUTE)
		const last = t.row({ dedupeKey: 'd' })
		assert.equal((await t.store.insert([last], undefined, { dedupeForMs })).duplicates.size, 0)
	},

	'leaves its dedupe key to a later message that has it': async (t) => {
		const dedupeForMs = HOUR
		const [old, young, next] = [1, 2, 3].map(() => t.row({ dedupeKey: 'd' }))
		const [first, second, third] = [required(old, 'old'), required(young, 'young'), required(next, 'next')]
		await t.store.insert([first], undefined, { dedupeForMs })
		await t.settle([sent(await t.claimId(first.id))], true)
		await t.advance(2 * HOUR)
		await t.store.insert([second], undefined, { dedupeForMs })
		assert.deepEqual(await resend(t, first.id), [first.id])
		const { duplicates } = await t.store.insert([third], undefined, { dedupeForMs })
		assert.equal(duplicates.get(third.id), second.id)
	},

	'records who resent which message': async (t) => {
		const id = await keep(t, { topic: 't', key: 'k', payload: '[7]' })
		await resend(t, id)
		await resend(t, id)
		const [row, ...others] = await t.store.audit({ action: 'resend' }, MANY)
		assert.deepEqual(others, [])
		const record = required(row, 'the record')
		assertFields(record, { ...OPERATOR, action: 'resend', destination: 'a', messageId: id, topic: 't' })
		assertFields(record, { key: 'k', cause: null, payload: '[7]', changes: null })
	},

	'concurrent resends of a message move it once': async (t) => {
		const id = await keep(t)
		const moved = await t.concurrently(4, (store) => store.resend({ ids: [id] }, 1, OPERATOR))
		assert.deepEqual(moved.flat(), [id])
		assert.equal((await t.store.audit({}, MANY)).length, 1)
		await t.expectClaim([id])
	},

	'concurrent resend and expiry of the history: each message is queued or deleted': async (t) => {
		const ids: string[] = []
		for (let n = 0; n < 20; n++) ids.push(await keep(t))
		await t.advance(2 * HOUR)
		const [resent] = await Promise.all([
			t.store.resend({}, MANY, OPERATOR),
			(await t.other()).dropHistory(HOUR, MANY),
		])
		assert.deepEqual(sorted(await t.list()), sorted(resent))
		assert.deepEqual(await t.list({ status: 'sent' }), [])
		await t.expectGone(...ids.filter((id) => !resent.includes(id)))
	},

	'a repeated settlement as sent does not end the claim of a resent message': async (t) => {
		const row = await t.enqueueAndClaim()
		await t.settle([sent(row)], true)
		await t.advance(MINUTE)
		await resend(t, row.id)
		const again = await t.claimId(row.id)
		assert.equal(again.attempt, row.attempt)
		await t.expectLost([sent(row)], 'r1', true)
		await t.expectStatus('processing', [row.id])
		await t.settle([sent(again)], true)
	},
}
