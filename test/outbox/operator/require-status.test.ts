import { describe, expect, it, vi } from 'vitest'
import { Outbox, sqliteOutboxStore } from 'yaoki/outbox'
import { DeadLetters } from '../../../src/outbox/dead-letters/dead-letters.ts'
import type { StoredMessage } from '../../../src/outbox/store/rows.ts'
import { virtualRuntime } from '../../../src/testing/virtual-runtime.ts'
import { FakeStore, idOf, letter, message } from '../diagnostics/fake-store.ts'

const setUp = (rows: readonly StoredMessage[]) => {
	const store = new FakeStore(rows)
	const onChanged = vi.fn()
	const parts = { store, onChanged, runtime: virtualRuntime(), keepsHistory: false, maxPayloadBytes: 100 }
	return { store, onChanged, dead: new DeadLetters(parts) }
}

const ROWS = [
	letter(1),
	message({ id: idOf(2), status: 'pending' }),
	message({ id: idOf(3), status: 'processing' }),
	message({ id: idOf(4), status: 'sent' }),
]

describe.each([
	['replay', 'replayed'],
	['discard', 'discarded'],
] as const)('%s of ids that are no dead letters', (action, done) => {
	it('throws before anything is changed, with the status of each message', async () => {
		const { dead, store, onChanged } = setUp(ROWS)
		const ids = [1, 2, 3, 4, 5].map(idOf)
		await expect(dead[action]({ ids })).rejects.toMatchObject({
			name: 'DeadLetterNotFoundError',
			code: 'YAOKI_DEAD_LETTER_NOT_FOUND',
			messages: [
				{ id: idOf(2), status: 'pending' },
				{ id: idOf(3), status: 'processing' },
				{ id: idOf(4), status: 'sent' },
				{ id: idOf(5), status: 'unknown' },
			],
			message: `Message ${idOf(2)} is pending, not a dead letter (the first of 4 such messages). Nothing was ${done}.`,
		})
		expect([...store.rows.values()]).toEqual(ROWS)
		expect(onChanged).not.toHaveBeenCalled()
	})

	it('says what may have happened to an unknown message', async () => {
		const { dead } = setUp(ROWS)
		await expect(dead[action]({ ids: [idOf(5)] })).rejects.toThrow(
			`Message ${idOf(5)} is unknown: it was sent or discarded, or never existed. Nothing was ${done}.`,
		)
	})

	it('looks up all ids before the first batch', async () => {
		const count = 2_500
		const { dead, store } = setUp(Array.from({ length: count }, (_, index) => letter(index + 1)))
		const ids = Array.from({ length: count + 1 }, (_, index) => idOf(index + 1))
		const messages = [{ id: idOf(count + 1), status: 'unknown' }]
		await expect(dead[action]({ ids })).rejects.toMatchObject({ messages })
		expect((await store.countDead({}, count)).count).toBe(count)
	})

	it('accepts an id twice, and ids in upper case', async () => {
		const { dead } = setUp(ROWS)
		const report = await dead[action]({ ids: [idOf(1), idOf(1).toUpperCase()] })
		expect(Object.values(report)).toContain(1)
	})

	it('rejects other conditions, which could exclude a dead letter silently', async () => {
		const { dead, onChanged } = setUp(ROWS)
		const filter = { status: 'dead', ids: [idOf(1)], destination: 'elsewhere', cause: 'expired' } as const
		await expect(dead[action](filter)).rejects.toMatchObject({
			argument: 'filter.destination',
			expected: 'no value beside ids (ids select messages by themselves: remove destination, cause)',
		})
		expect(onChanged).not.toHaveBeenCalled()
	})
})

it('edit throws for a message that is no dead letter', async () => {
	const { dead, store, onChanged } = setUp(ROWS)
	await expect(dead.edit(idOf(2).toUpperCase(), { payload: 1 })).rejects.toMatchObject({
		name: 'DeadLetterNotFoundError',
		messages: [{ id: idOf(2), status: 'pending' }],
		message: `Message ${idOf(2)} is pending, not a dead letter. Nothing was edited.`,
	})
	expect(store.edits).toEqual([])
	expect(onChanged).not.toHaveBeenCalled()
})

it('edit throws for a dead letter that another operator replayed since the check', async () => {
	const { dead, store } = setUp(ROWS)
	vi.spyOn(store, 'replay').mockImplementation(async () => {
		store.change(idOf(1), { status: 'processing' })
		return []
	})
	const messages = [{ id: idOf(1), status: 'processing' }]
	await expect(dead.edit(idOf(1), { payload: 1 })).rejects.toMatchObject({ messages })
})

/** Opens an outbox with a message of each status. */
async function openQueue() {
	const store = sqliteOutboxStore({ file: ':memory:' })
	const outbox = new Outbox({ store, outsideTransaction: 'allow', historyForMs: Infinity })
	await outbox.migrate()
	const claim = async () => {
		const { id } = await outbox.enqueue({ topic: 'mail', payload: 1 })
		const target = { destination: 'mail', limit: 100, since: 0, isOrdered: false, isProbe: false }
		const { rows } = await store.claim({
			owner: 'r',
			leaseMs: 60_000,
			targets: [target],
			poisonCandidates: false,
			poisonAfter: 2,
		})
		return { id, attempt: rows[0]?.attempt ?? 0 }
	}
	const [sent, dead, discarded, processing] = [await claim(), await claim(), await claim(), await claim()]
	const end = { type: 'dead', cause: 'permanent', error: null, afterDeadLetter: 'skip' } as const
	const settlements = [{ ...sent, type: 'sent' } as const, { ...dead, ...end }, { ...discarded, ...end }]
	await store.settle('r', settlements, true)
	await outbox.dead.discard({ ids: [discarded.id] })
	const { id: pending } = await outbox.enqueue({
		topic: 'mail',
		payload: 1,
		notBefore: new Date('2098-01-01'),
	})
	const ids = [pending, processing.id, sent.id, dead.id, discarded.id]
	return { outbox, ids, pending, [Symbol.asyncDispose]: () => outbox.close() }
}

describe.each([
	['retry', 'retried'],
	['expire', 'expired'],
] as const)('%s of ids that do not wait in the queue', (action, done) => {
	it('throws before anything is changed, with the status of each message', async () => {
		await using opened = await openQueue()
		const { outbox, ids, pending } = opened
		const before = await outbox.find(pending)
		const [, processing, sent, dead, discarded] = ids
		await expect(outbox[action]({ ids })).rejects.toMatchObject({
			name: 'MessageNotQueuedError',
			code: 'YAOKI_MESSAGE_NOT_QUEUED',
			messages: [
				{ id: processing, status: 'processing' },
				{ id: sent, status: 'sent' },
				{ id: dead, status: 'dead' },
				{ id: discarded, status: 'unknown' },
			],
			message: `Message ${processing} is processing, not pending (the first of 4 such messages). Nothing was ${done}.`,
		})
		expect(await outbox.find(pending)).toEqual(before)
	})

	it('returns 0 for a message that is due or has expired already', async () => {
		await using opened = await openQueue()
		const { outbox, pending } = opened
		expect(await outbox[action]({ ids: [pending.toUpperCase(), pending] })).toBe(1)
		expect(await outbox[action]({ ids: [pending] })).toBe(0)
	})

	it('rejects other conditions, which could exclude a message silently', async () => {
		await using opened = await openQueue()
		const { outbox, pending } = opened
		await expect(outbox[action]({ ids: [pending], topic: 'mail' })).rejects.toMatchObject({
			argument: 'filter.topic',
			message: expect.stringContaining('ids select messages by themselves: remove topic'),
		})
	})

	it.each([{}, { status: 'pending' as const }, { destination: undefined }])(
		'rejects %o without { all: true }',
		async (filter) => {
			await using opened = await openQueue()
			const { outbox, pending } = opened
			const before = await outbox.find(pending)
			await expect(outbox[action](filter)).rejects.toMatchObject({
				argument: 'filter',
				message: expect.stringContaining(`to ${action} every queued message, pass { all: true }`),
			})
			await expect(outbox[action](filter, { all: 1 } as object)).rejects.toMatchObject({ optionPath: 'all' })
			expect(await outbox.find(pending)).toEqual(before)
		},
	)

	it('rejects another status than pending', async () => {
		await using opened = await openQueue()
		const argument = 'filter.status'
		await expect(opened.outbox[action]({ status: 'dead' })).rejects.toMatchObject({ argument })
		expect(await opened.outbox[action]({ status: 'pending', destination: 'sms' })).toBe(0)
	})
})

it('throws before the canary', async () => {
	const { dead, onChanged } = setUp(ROWS)
	const replay = dead.replay({ ids: [idOf(1), idOf(2)] }, { canary: true })
	await expect(replay).rejects.toMatchObject({ messages: [{ id: idOf(2), status: 'pending' }] })
	expect(onChanged).not.toHaveBeenCalled()
})
