import { describe, expect, it, vi } from 'vitest'
import { DeadLetters } from '../../../src/outbox/dead-letters/dead-letters.ts'
import type { StoredMessage } from '../../../src/outbox/store/rows.ts'
import { virtualRuntime } from '../../../src/testing/virtual-runtime.ts'
import { FakeStore, idOf, letter, NOW } from '../diagnostics/fake-store.ts'

const setUp = (rows: readonly StoredMessage[]) => {
	const store = new FakeStore(rows)
	const onChanged = vi.fn()
	const dead = new DeadLetters({
		store,
		onChanged,
		runtime: virtualRuntime(),
		keepsHistory: false,
		maxPayloadBytes: 100,
	})
	return { store, onChanged, dead }
}

const letters = (count: number): StoredMessage[] =>
	Array.from({ length: count }, (_, index) => letter(index + 1))

const inQueue = (store: FakeStore): number =>
	[...store.rows.values()].filter(({ status }) => status === 'pending').length

describe('edit', () => {
	it('changes the given fields and replays the message', async () => {
		const { dead, store, onChanged } = setUp(letters(2))
		const expiresAt = new Date(NOW + 1_000)
		await dead.edit(idOf(1).toUpperCase(), { payload: { a: '\0' }, expiresAt })
		expect(store.edits).toEqual([{ payload: '{"a":"\\u0000"}', expiresAt: expiresAt.getTime() }])
		expect(inQueue(store)).toBe(1)
		expect(onChanged).toHaveBeenCalledOnce()
	})

	it('changes destination, headers and maxRetries, or removes them by null', async () => {
		const { dead, store } = setUp(letters(2))
		await dead.edit(idOf(1), { destination: 'd', headers: { a: 'b' }, maxRetries: 0 })
		await dead.edit(idOf(2), { headers: null, expiresAt: null, maxRetries: null })
		expect(store.edits).toEqual([
			{ destination: 'd', headers: '{"a":"b"}', maxRetries: 0 },
			{ headers: null, expiresAt: null, maxRetries: null },
		])
	})

	it.each<[object, string]>([
		[{ payload: undefined }, 'payload'],
		[{ payload: { n: 1n } }, 'payload'],
		[{ payload: 'x'.repeat(101) }, 'payload'],
		[{ headers: { a: 7 } }, 'headers'],
		[{ headers: ['a'] }, 'headers'],
		[{ destination: '' }, 'destination'],
		[{ destination: 'x'.repeat(256) }, 'destination'],
		[{ destination: 'a\0' }, 'destination'],
		[{ expiresAt: 5 }, 'expiresAt'],
		[{ expiresAt: new Date(Number.NaN) }, 'expiresAt'],
		[{ maxRetries: -1 }, 'maxRetries'],
		[{ maxRetries: 1.5 }, 'maxRetries'],
		[{ topic: 't' }, 'topic'],
	])('rejects what enqueue would reject: %o', async (changes, field) => {
		const { dead, store } = setUp(letters(1))
		await expect(dead.edit(idOf(1), changes)).rejects.toThrow(field)
		expect(store.edits).toEqual([])
	})

	it('names the invalid argument', async () => {
		const { dead } = setUp(letters(1))
		const edit = (changes: unknown) => dead.edit(idOf(1), changes as object)
		await expect(edit(null)).rejects.toMatchObject({ argument: 'changes' })
		await expect(edit([])).rejects.toMatchObject({ argument: 'changes' })
		await expect(edit({ topic: 't' })).rejects.toMatchObject({ argument: 'changes.topic' })
		await expect(dead.replay({}, { canary: 'yes' } as unknown as object)).rejects.toMatchObject({
			optionPath: 'canary',
		})
	})

	it('stores an expiry before 1970 as 0', async () => {
		const { dead, store } = setUp(letters(1))
		await dead.edit(idOf(1), { expiresAt: new Date('0001-01-01') })
		expect(store.edits).toEqual([{ expiresAt: 0 }])
	})

	it('rejects an invalid id', async () => {
		await expect(setUp([]).dead.edit('x', {})).rejects.toMatchObject({ argument: 'id' })
	})
})
