import { describe, expect, it, vi } from 'vitest'
import type { Runtime } from '../../../src/core/runtime/runtime.ts'
import { systemRuntime } from '../../../src/core/runtime/system.ts'
import { DeadLetters } from '../../../src/outbox/dead-letters/dead-letters.ts'
import type { MessageRecord } from '../../../src/outbox/message/message.ts'
import type { StoredMessage } from '../../../src/outbox/store/rows.ts'
import { virtualRuntime } from '../../../src/testing/virtual-runtime.ts'
import { FakeStore, idOf, letter, message, NOW } from '../diagnostics/fake-store.ts'

const setUp = (rows: readonly StoredMessage[], keepsHistory = false, runtime: Runtime = systemRuntime) => {
	const store = new FakeStore(rows)
	const wake = vi.fn()
	const dead = new DeadLetters({ store, runtime, keepsHistory, maxPayloadBytes: 100, wake })
	return { store, wake, dead }
}

const letters = (count: number, given: Partial<StoredMessage> = {}): StoredMessage[] =>
	Array.from({ length: count }, (_, index) => letter(index + 1, given))

const inQueue = (store: FakeStore): number =>
	[...store.rows.values()].filter(({ status }) => status === 'pending').length

describe('looking at dead letters', () => {
	it('lists them oldest first, a page at a time', async () => {
		const { dead } = setUp([...letters(150), message({ id: idOf(900) })])
		const page = await dead.list()
		expect(page).toHaveLength(100)
		expect(page[0]).toMatchObject({ id: idOf(1), payload: { total: 1 } })
		const next = await dead.list({}, { after: page.at(-1)?.id, limit: 2 })
		expect(next.map(({ id }) => id)).toEqual([idOf(101), idOf(102)])
	})

	it('goes through all of them without a gap or a repeat', async () => {
		for (const count of [0, 99, 100, 101, 250]) {
			const { dead } = setUp(letters(count))
			const seen: MessageRecord[] = []
			for await (const record of dead.each()) seen.push(record)
			expect(new Set(seen.map(({ id }) => id)).size).toBe(count)
			expect(seen).toHaveLength(count)
		}
	})

	it('groups them by what they died of, with dates', async () => {
		const other = { type: 'TypeError', message: 'x', fingerprint: 'bbbbbbbbbbbb' }
		const { dead } = setUp([letter(1, { error: other }), letter(2), letter(3), letter(4, { error: null })])
		const [first, , last] = await dead.groups()
		expect(first).toEqual({
			fingerprint: 'aaaaaaaaaaaa',
			cause: 'retries-exhausted',
			destination: 'billing',
			errorType: 'HttpError',
			errorMessage: 'HTTP 503',
			count: 2,
			firstAt: new Date(NOW - 599_998),
			lastAt: new Date(NOW - 599_997),
			exampleId: idOf(2),
		})
		expect(last?.errorType).toBeUndefined()
		expect(await dead.groups({}, { limit: 1 })).toHaveLength(1)
	})

	it('counts them, up to a limit', async () => {
		const { dead } = setUp([...letters(5), letter(6, { topic: 'other' })])
		expect(await dead.count()).toEqual({ count: 6, isCapped: false })
		expect(await dead.count({ topic: 'other' })).toEqual({ count: 1, isCapped: false })
		expect(await dead.count({}, { limit: 2 })).toEqual({ count: 2, isCapped: true })
	})

	it('finds nothing by an empty list of ids', async () => {
		const { dead } = setUp(letters(3))
		expect(await dead.list({ ids: [] })).toEqual([])
		expect(await dead.groups({ ids: [] })).toEqual([])
		expect(await dead.count({ ids: [] })).toEqual({ count: 0, isCapped: false })
	})

	it('refuses what can not be meant', async () => {
		const { dead } = setUp([])
		await expect(dead.list({ status: 'sent' })).rejects.toThrow("'dead' or nothing here")
		await expect(dead.list({}, { limit: 0 })).rejects.toThrow(
			'Invalid option "limit": expected a whole number, 1 or more, got 0',
		)
		await expect(dead.list({}, { after: 'x' })).rejects.toThrow('after')
		await expect(dead.count({}, { limit: 1.5 })).rejects.toThrow('limit')
		await expect(dead.groups({}, { limits: 5 } as object)).rejects.toThrow('limits')
	})
})

describe.each(['replay', 'discard'] as const)('%s', (doing) => {
	it.each([{}, { status: 'dead' as const }, { key: undefined }])(
		'never takes %o for every dead letter',
		async (filter) => {
			const { dead, store, wake } = setUp(letters(3))
			await expect(dead[doing](filter)).rejects.toThrow(`to ${doing} every dead letter say { all: true }`)
			expect(await store.countDead({}, 10)).toEqual({ count: 3, isCapped: false })
			expect(wake).not.toHaveBeenCalled()
		},
	)

	it('takes every dead letter when that is said', async () => {
		const { dead, store } = setUp(letters(3))
		await dead[doing]({}, { all: true })
		expect((await store.countDead({}, 10)).count).toBe(0)
	})

	it('takes nothing by an empty list of ids', async () => {
		const { dead, store, wake } = setUp(letters(3))
		expect(Object.values(await dead[doing]({ ids: [] }))[0]).toBe(0)
		expect((await store.countDead({}, 10)).count).toBe(3)
		expect(wake).not.toHaveBeenCalled()
	})

	it('takes one, a group, or those since a time', async () => {
		const other = { type: 'TypeError', message: 'x', fingerprint: 'bbbbbbbbbbbb' }
		const { dead, store } = setUp([
			...letters(5),
			letter(6, { error: other }),
			letter(7, { endedAt: NOW - 5 }),
		])
		const left = async (): Promise<number> => (await store.countDead({}, 10)).count
		await dead[doing]({ ids: [idOf(2)] })
		expect(await left()).toBe(6)
		await dead[doing]({ fingerprint: 'bbbbbbbbbbbb' })
		expect(await left()).toBe(5)
		await dead[doing]({ since: new Date(NOW - 10) })
		expect(await left()).toBe(4)
	})

	it('tells how far it is after every batch of 1,000, and wakes relays', async () => {
		const { dead, wake } = setUp(letters(2_500))
		const told: number[] = []
		const onProgress = ({ done }: { done: number }) => told.push(done)
		const report = await dead[doing]({ topic: 'order.created' }, { onProgress })
		expect(told).toEqual([1_000, 2_000, 2_500])
		expect(Object.values(report)[0]).toBe(2_500)
		expect(report.stopped).toBe(false)
		expect(wake).toHaveBeenCalledTimes(3)
	})

	it('asks for a long list of ids in parts', async () => {
		const { dead } = setUp(letters(1_500))
		const ids = letters(1_500).map(({ id }) => id)
		expect(Object.values(await dead[doing]({ ids }))[0]).toBe(1_500)
	})

	it('ends between two batches when it is aborted, and tells how many were done', async () => {
		const { dead } = setUp(letters(2_500))
		const stop = new AbortController()
		const report = await dead[doing]({}, { all: true, signal: stop.signal, onProgress: () => stop.abort() })
		expect(Object.values(report)[0]).toBe(1_000)
		expect(report.stopped).toBe(true)
	})

	it('hears a signal that comes from outside; 200,000 letters used to hold the event loop, and the signal, to their end', async () => {
		const clock = virtualRuntime()
		const { dead } = setUp(letters(3_500), false, clock)
		const stop = new AbortController()
		const done: number[] = []
		const onProgress = (progress: { done: number }) => {
			done.push(progress.done)
			if (done.length === 2) clock.setTimer(0, () => stop.abort())
		}
		const report = dead[doing]({}, { all: true, signal: stop.signal, onProgress })
		await clock.runUntilIdle()
		expect(done).toEqual([1_000, 2_000])
		expect(await report).toMatchObject({ stopped: true })
		expect(clock.pendingTimers).toBe(0)
	})

	it('does nothing when it was aborted before', async () => {
		const { dead, store } = setUp(letters(3))
		const report = await dead[doing]({}, { all: true, signal: AbortSignal.abort() })
		expect(report.stopped).toBe(true)
		expect((await store.countDead({}, 10)).count).toBe(3)
	})

	it('is not disturbed by a progress callback that throws', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const { dead } = setUp(letters(3))
		const onProgress = () => {
			throw new Error('mine')
		}
		expect((await dead[doing]({}, { all: true, onProgress })).stopped).toBe(false)
		expect(warn).toHaveBeenCalledOnce()
	})

	it('leaves those alone that die while it is at work', async () => {
		const { dead, store } = setUp([...letters(3), letter(4, { endedAt: NOW + 1 })])
		await dead[doing]({}, { all: true })
		expect((await store.countDead({}, 10)).count).toBe(1)
	})

	it('refuses options that do not exist', async () => {
		const { dead } = setUp([])
		await expect(dead[doing]({}, { everything: true } as object)).rejects.toThrow('everything')
		await expect(dead[doing]({}, { all: 'yes' } as unknown as object)).rejects.toThrow('all')
		await expect(dead[doing]({}, { signal: 1 } as unknown as object)).rejects.toThrow(
			'Invalid option "signal": expected an AbortSignal, got 1',
		)
		await expect(dead[doing]({}, null as unknown as object)).rejects.toThrow(
			/Invalid option "options": expected .*, got null/,
		)
		await expect(dead[doing](null as unknown as object)).rejects.toThrow(
			/Invalid option "filter": expected .*, got null/,
		)
	})
})

describe('a replay', () => {
	it('does not go round for ever when messages die again at once', async () => {
		const { dead, store } = setUp(letters(1_500))
		store.onReplay = (ids) => {
			for (const id of ids) store.change(id, { status: 'dead', cause: 'permanent', endedAt: NOW + 1 })
		}
		expect(await dead.replay({}, { all: true })).toMatchObject({ replayed: 1_500, stopped: false })
	})

	it('puts them back due now', async () => {
		const { dead, store } = setUp(letters(3))
		expect(await dead.replay({ ids: [idOf(2)] })).toEqual({
			replayed: 1,
			stopped: false,
			stoppedBy: undefined,
			reason: undefined,
			sameFailure: [],
		})
		expect(inQueue(store)).toBe(1)
	})
})

it('discarded letters go into the history where one is kept', async () => {
	for (const keepsHistory of [true, false]) {
		const { dead, store } = setUp(letters(1), keepsHistory)
		await dead.discard({ ids: [idOf(1)] })
		expect(store.discarded).toEqual([{ ids: [idOf(1)], keepHistory: keepsHistory }])
	}
})
