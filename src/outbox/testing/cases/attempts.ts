/** The attempt log: written with the settlement, listed per message, deleted after its time. */
import assert from 'node:assert/strict'
import type { AttemptRow, ClaimedRow, NewAttempt, Settlement } from '../../store/rows.ts'
import { HOUR, MINUTE } from '../harness/assertions.ts'
import { type CaseTable, MANY, type StoreHarness } from '../harness/harness.ts'
import { dead, release, retry, sent } from '../harness/settlements.ts'

const attempt = (row: ClaimedRow, part: Partial<NewAttempt> = {}): NewAttempt => ({
	messageId: row.id,
	destination: row.destination,
	attempt: row.attempt,
	relay: 'r1',
	startedAt: row.claimedAt,
	durationMs: 12,
	outcome: 'sent',
	statusCode: null,
	errorType: null,
	errorMessage: null,
	response: null,
	keepForMs: 9 * HOUR,
	...part,
})

const logged = (settlement: Settlement, log: NewAttempt): Settlement => ({ ...settlement, log })

const stored = ({ keepForMs: _, ...row }: NewAttempt): AttemptRow => row

const expectAttempts = async (t: StoreHarness, id: string, expected: readonly NewAttempt[]): Promise<void> =>
	assert.deepEqual(await t.store.attempts(id, MANY), expected.map(stored))

/** Lone surrogates and NUL, which databases reject. */
const HOSTILE = 'a\0b\ud800c\udc00d'
const HARMLESS = 'a\ufffdb\ufffdc\ufffdd'

export const attemptLog: CaseTable = {
	'is empty for messages without attempts, and for unknown ids': async (t) => {
		const id = await t.enqueueOne()
		await expectAttempts(t, id, [])
		await expectAttempts(t, t.id(), [])
		assert.deepEqual(await t.store.attempts('no uuid', MANY), [])
		await t.store.logAttempts([])
	},

	'stores the attempt of every kind of settlement, with all fields': async (t) => {
		await t.enqueueMany(4)
		const [one, two, three, four] = await t.claimMany(4)
		const logs = [
			attempt(one, { outcome: 'sent', statusCode: 204, response: '{"ok":"ü😀"}\n' }),
			attempt(two, { outcome: 'retry', statusCode: 500, errorType: 'HttpError', errorMessage: 'HTTP 500' }),
			attempt(three, { outcome: 'in-progress', statusCode: 409, response: '' }),
			attempt(four, { outcome: 'dead', errorType: 'TypeError', errorMessage: 'x', durationMs: 0 }),
		] as const
		await t.settle([
			logged(sent(one), logs[0]),
			logged(retry(two, HOUR), logs[1]),
			logged(release(three), logs[2]),
			logged(dead(four), logs[3]),
		])
		await t.expectGone(one.id)
		await t.expectStatus('pending', [two.id, three.id])
		await t.expectStatus('dead', [four.id])
		for (const log of logs) await expectAttempts(t, log.messageId, [log])
	},

	'settlements without a log store nothing': async (t) => {
		const row = await t.enqueueAndClaim()
		await t.settle([sent(row)], true)
		await expectAttempts(t, row.id, [])
	},

	'lists the attempts of a message oldest first, in pages': async (t) => {
		const id = await t.enqueueOne()
		const logs: NewAttempt[] = []
		for (let n = 0; n < 5; n++) {
			const row = await t.claimId(id)
			const log = attempt(row, { outcome: 'retry' })
			logs.push(log)
			await t.settle([logged(retry(row, 0), log)])
			await t.advance(MINUTE)
		}
		await expectAttempts(t, id, logs)
		const first = await t.store.attempts(id, 2)
		assert.deepEqual(first, logs.slice(0, 2).map(stored))
		assert.deepEqual(await t.store.attempts(id, 2, first[1]), logs.slice(2, 4).map(stored))
		assert.deepEqual(await t.store.attempts(id, MANY, logs[4]), [])
	},

	'pages through attempts that started in the same millisecond': async (t) => {
		const row = await t.enqueueAndClaim()
		const logs = ['r1', 'r2', 'r3'].map((relay) => attempt(row, { relay }))
		await t.store.logAttempts([...logs, { ...attempt(row), attempt: 2, relay: 'r0' }])
		const relays: string[] = []
		let page = await t.store.attempts(row.id, 1)
		while (page.length > 0) {
			relays.push(...page.map(({ relay }) => relay))
			page = await t.store.attempts(row.id, 1, page.at(-1))
		}
		assert.deepEqual(relays, ['r1', 'r2', 'r3', 'r0'])
	},

	'a lost claim is logged as lease-lost': async (t) => {
		await t.enqueueMany(2)
		const [one, two] = await t.claimMany(2, { leaseMs: MINUTE })
		await t.advance(HOUR)
		await t.claimMany(2, { owner: 'r2' })
		const logs = [attempt(one), attempt(two, { outcome: 'retry', errorType: 'Error' })] as const
		await t.expectLost([logged(sent(one), logs[0]), logged(retry(two, 0), logs[1])])
		for (const log of logs) await expectAttempts(t, log.messageId, [{ ...log, outcome: 'lease-lost' }])
		await t.expectStatus('processing', [one.id, two.id])
	},

	'a settlement that is written twice is logged once, with its first outcome': async (t) => {
		const row = await t.enqueueAndClaim()
		const settlement = logged(sent(row), attempt(row))
		await t.settle([settlement])
		await t.expectLost([settlement])
		await expectAttempts(t, row.id, [attempt(row)])
	},

	'logs attempts without a settlement, once': async (t) => {
		const row = await t.enqueueAndClaim()
		const log = attempt(row, { outcome: 'lease-lost' })
		await t.store.logAttempts([log, log])
		await t.store.logAttempts([log])
		await expectAttempts(t, row.id, [log])
		await t.expectStatus('processing', [row.id])
	},

	'replaces characters that databases reject': async (t) => {
		const row = await t.enqueueAndClaim()
		const texts = { errorType: HOSTILE, errorMessage: HOSTILE, response: HOSTILE }
		const log = attempt(row, texts)
		await t.settle([logged(dead(row), log)])
		const harmless = { errorType: HARMLESS, errorMessage: HARMLESS, response: HARMLESS }
		await expectAttempts(t, row.id, [{ ...log, ...harmless }])
	},

	'a log that cannot be written never prevents the settlement': async (t) => {
		await t.enqueueMany(3)
		const [one, two, three] = await t.claimMany(3)
		// No table holds this status code.
		const broken = attempt(two, { statusCode: 2 ** 80, response: 'x' })
		await t.settle([
			logged(sent(one), attempt(one)),
			logged(sent(two), broken),
			logged(retry(three, HOUR), attempt(three, { outcome: 'retry' })),
		])
		await t.expectGone(one.id, two.id)
		await t.expectMessage(three.id, { status: 'pending', attempts: 1 })
	},

	'deletes attempts after their time, oldest first and at most limit, whatever became of the message': async (
		t,
	) => {
		await t.enqueueMany(4)
		const rows = await t.claimMany(4)
		const hours = [1, 2, 5, Infinity]
		const logs = rows.map((row, n) => attempt(row, { keepForMs: (hours[n] ?? 0) * HOUR }))
		await t.settle(rows.map((row, n) => logged(sent(row), logs[n] ?? attempt(row))))
		assert.equal(await t.store.dropAttempts(MANY), 0)
		await t.advance(3 * HOUR)
		assert.equal(await t.store.dropAttempts(1), 1)
		await expectAttempts(t, rows[0].id, [])
		await expectAttempts(t, rows[1].id, logs.slice(1, 2))
		assert.equal(await t.store.dropAttempts(MANY), 1)
		await t.advance(99 * HOUR)
		assert.equal(await t.store.dropAttempts(MANY), 1)
		assert.equal(await t.store.dropAttempts(MANY), 0)
		await expectAttempts(t, rows[3].id, logs.slice(3))
	},

	'survives a replay and a resend of the message': async (t) => {
		const first = await t.enqueueAndClaim()
		const died = attempt(first, { outcome: 'dead' })
		await t.settle([logged(dead(first), died)])
		await t.advance(MINUTE)
		await t.replay({}, MANY)
		const second = await t.claimOne()
		const delivered = attempt(second)
		await t.settle([logged(sent(second), delivered)], true)
		await t.store.resend({}, MANY, { by: 'ada', reason: null })
		await expectAttempts(t, first.id, [died, delivered])
	},
}
