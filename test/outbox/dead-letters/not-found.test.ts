import { describe, expect, it, vi } from 'vitest'
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
			message: `Message ${idOf(2)} is pending, not a dead letter (and 3 more messages are none). Nothing was ${done}.`,
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

	it('still skips dead letters that other conditions exclude', async () => {
		const { dead } = setUp(ROWS)
		const report = await dead[action]({ ids: [idOf(1)], destination: 'elsewhere' })
		expect(Object.values(report)).toContain(0)
	})
})

it('throws before the canary', async () => {
	const { dead, onChanged } = setUp(ROWS)
	const replay = dead.replay({ ids: [idOf(1), idOf(2)] }, { canary: true })
	await expect(replay).rejects.toMatchObject({ messages: [{ id: idOf(2), status: 'pending' }] })
	expect(onChanged).not.toHaveBeenCalled()
})
