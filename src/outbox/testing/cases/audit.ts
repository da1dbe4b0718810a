/** Records of what operators did, written in the transaction of the change. */
import assert from 'node:assert/strict'
import type { AuditRow } from '../../store/rows.ts'
import type { StoreAuditFilter } from '../../store/store.ts'
import { assertFields, assertNear, HOUR, required, sorted } from '../harness/assertions.ts'
import { type CaseTable, MANY, OPERATOR, type StoreHarness } from '../harness/harness.ts'

const only = async (t: StoreHarness): Promise<AuditRow> => {
	const rows = await t.store.audit({}, MANY)
	assert.equal(rows.length, 1)
	return required(rows[0], 'the record')
}

const PAUSE = { ...OPERATOR, destination: 'a', action: 'pause', forMs: HOUR } as const

export const audit: CaseTable = {
	'is empty without changes by operators': async (t) => {
		const id = await t.addDeadLetter()
		await t.replay({ ids: [t.id()] }, MANY)
		await t.discard({ topic: 'x' }, MANY, false)
		await t.store.changeByOperator({ ...PAUSE, action: 'resume' })
		assert.deepEqual(await t.store.audit({}, MANY), [])
		await t.expectMessage(id, { status: 'dead' })
	},

	'records a replay with who, when, why and the original message': async (t) => {
		const part = { topic: 't', key: 'k', payload: '{"n": 12345678901234567890}', headers: '{"h":"1"}' }
		const id = await t.addDeadLetter(part, { cause: 'retries-exhausted' })
		await t.advance(HOUR)
		await t.replay({}, MANY)
		const row = await only(t)
		assertFields(row, { ...OPERATOR, action: 'replay', destination: 'a', messageId: id, ...part })
		assertFields(row, { cause: 'retries-exhausted', changes: null })
		assertNear(row.at, await t.now(), 'at')
	},

	'records an edit with the original values and the changes': async (t) => {
		const id = await t.addDeadLetter({ payload: '[1]', headers: '{"h":"1"}' })
		const edit = { payload: '[2]', headers: null, destination: 'b', maxRetries: 0 }
		await t.replay({ ids: [id] }, 1, edit)
		const row = await only(t)
		assertFields(row, { action: 'edit', messageId: id, destination: 'a' })
		assertFields(row, { payload: '[1]', headers: '{"h":"1"}' })
		assert.deepEqual(JSON.parse(required(row.changes, 'the changes')), { ...edit, payload: [2] })
	},

	'an edit without changes is a replay': async (t) => {
		await t.addDeadLetter()
		await t.replay({}, MANY, {})
		assertFields(await only(t), { action: 'replay', changes: null })
	},

	'records a discard with the original message, with history or without': async (t) => {
		const ids = await t.addDeadLetters(2)
		for (const [n, id] of ids.entries()) await t.discard({ ids: [id] }, 1, n === 0)
		const rows = await t.store.audit({}, MANY)
		assert.deepEqual(
			rows.map(({ action, messageId, payload }) => [action, messageId, payload]),
			ids.toReversed().map((id) => ['discard', id, '{"n":1}']),
		)
	},

	'records a retry by an operator without the payload, and none of the store itself': async (t) => {
		const [first, second] = await t.enqueue(
			{ topic: 't', key: 'k', notBefore: (await t.now()) + HOUR },
			{ notBefore: (await t.now()) + HOUR },
		)
		await t.store.retryNow({ ids: [required(second, 'the id')] }, 1)
		assert.deepEqual(await t.store.audit({}, MANY), [])
		await t.store.retryNow({ ids: [required(first, 'the id')] }, 1, undefined, OPERATOR)
		const row = await only(t)
		assertFields(row, {
			...OPERATOR,
			action: 'retry',
			destination: 'a',
			messageId: first,
			topic: 't',
			key: 'k',
		})
		assertFields(row, { cause: null, payload: null, headers: null, changes: null })
	},

	'records one row per message of a batch': async (t) => {
		const ids = await t.addDeadLetters(5)
		await t.replay({}, 3)
		await t.discard({}, 3, false)
		const rows = await t.store.audit({}, MANY)
		assert.deepEqual(sorted(rows.map(({ messageId }) => messageId ?? '')), sorted(ids))
		assert.equal(rows.filter(({ action }) => action === 'replay').length, 3)
	},

	'records pauses, their ends and closed circuits': async (t) => {
		await t.store.changeByOperator({ ...PAUSE, forMs: Infinity, reason: null })
		await t.store.changeByOperator(PAUSE)
		await t.store.changeByOperator({ ...PAUSE, action: 'resume' })
		await t.store.pause('a', HOUR, 'retry-after')
		await t.store.changeByOperator({ ...PAUSE, action: 'close-circuit', by: 'bob@ops' })
		const rows = await t.store.audit({}, MANY)
		assert.deepEqual(
			rows.map(({ action, by, changes }) => [action, by, JSON.parse(changes ?? 'null')]),
			[
				['close-circuit', 'bob@ops', null],
				['resume', 'ada@ops', null],
				['pause', 'ada@ops', { forMs: HOUR }],
				['pause', 'ada@ops', { forMs: null }],
			],
		)
		for (const row of rows) assertFields(row, { destination: 'a', messageId: null, payload: null })
		assertFields(required(rows.at(-1), 'the first'), { reason: null })
	},

	'filters by action, destination, operator, message and time': async (t) => {
		const id = await t.addDeadLetter()
		await t.discard({}, MANY, false)
		await t.advance(HOUR)
		const since = await t.now()
		await t.store.changeByOperator({ ...PAUSE, destination: 'b', by: 'bob@ops' })
		const actions = async (filter: StoreAuditFilter) =>
			(await t.store.audit(filter, MANY)).map(({ action }) => action)
		for (const filter of [
			{ action: 'discard' },
			{ destination: 'a' },
			{ by: OPERATOR.by },
			{ messageId: id },
			{ until: since },
		] as const)
			assert.deepEqual(await actions(filter), ['discard'], JSON.stringify(filter))
		for (const filter of [{ action: 'pause' }, { destination: 'b' }, { by: 'bob@ops' }, { since }] as const)
			assert.deepEqual(await actions(filter), ['pause'], JSON.stringify(filter))
		assert.deepEqual(await actions({ action: 'pause', destination: 'a' }), [])
	},

	'pages from the newest to the oldest without gaps and repetitions': async (t) => {
		await t.addDeadLetters(5)
		await t.replay({}, MANY)
		const all = (await t.store.audit({}, MANY)).map(({ seq }) => seq)
		assert.deepEqual(
			all,
			all.toSorted((a, b) => b - a),
		)
		const paged: number[] = []
		for (let page = await t.store.audit({}, 2); page.length > 0; ) {
			paged.push(...page.map(({ seq }) => seq))
			page = await t.store.audit({}, 2, page.at(-1)?.seq)
		}
		assert.deepEqual(paged, all)
	},

	'drops the oldest records first, at most limit, and keeps younger ones': async (t) => {
		await t.store.changeByOperator(PAUSE)
		await t.store.changeByOperator({ ...PAUSE, action: 'resume' })
		await t.advance(2 * HOUR)
		await t.store.changeByOperator(PAUSE)
		assert.equal(await t.store.dropAudit(5 * HOUR, MANY), 0)
		assert.equal(await t.store.dropAudit(HOUR, 1), 1)
		assert.equal((await t.store.audit({}, MANY)).length, 2)
		assert.equal(await t.store.dropAudit(HOUR, MANY), 1)
		assert.equal(await t.store.dropAudit(HOUR, MANY), 0)
		assertFields(await only(t), { action: 'pause' })
	},

	'concurrent replay and discard are recorded once per message': async (t) => {
		const other = await t.other()
		await t.addDeadLetters(8)
		const calls = [t.replay({}, 5), other.discard({}, 5, OPERATOR, false), other.replay({}, 5, OPERATOR)]
		const moved = (await Promise.all(calls)).flat()
		const recorded = (await t.store.audit({}, MANY)).map(({ messageId }) => messageId ?? '')
		assert.deepEqual(sorted(recorded), sorted(moved))
	},
}
