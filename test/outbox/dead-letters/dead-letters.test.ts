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
	const onChanged = vi.fn()
	const dead = new DeadLetters({ store, runtime, keepsHistory, maxPayloadBytes: 100, onChanged })
	return { store, onChanged, dead }
}

const letters = (count: number, given: Partial<StoredMessage> = {}): StoredMessage[] =>
	Array.from({ length: count }, (_, index) => letter(index + 1, given))

const inQueue = (store: FakeStore): number =>
	[...store.rows.values()].filter(({ status }) => status === 'pending').length

describe('reading dead letters', () => {
	it('lists them oldest first, a page at a time', async () => {
		const { dead } = setUp([...letters(150), message({ id: idOf(900) })])
		const page = await dead.list()
		expect(page).toHaveLength(100)
		expect(page[0]).toMatchObject({ id: idOf(1), payload: { total: 1 } })
		const next = await dead.list({}, { after: page.at(-1)?.id, limit: 2 })
		expect(next.map(({ id }) => id)).toEqual([idOf(101), idOf(102)])
	})

	it('iterates over all of them without gaps or duplicates', async () => {
		for (const count of [0, 99, 100, 101, 250]) {
			const { dead } = setUp(letters(count))
			const seen: MessageRecord[] = []
			for await (const record of dead.each()) seen.push(record)
			expect(new Set(seen.map(({ id }) => id)).size).toBe(count)
			expect(seen).toHaveLength(count)
		}
	})

	it('groups them by failure, with dates', async () => {
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
			isCapped: false,
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

	it('returns nothing for an empty list of ids', async () => {
		const { dead } = setUp(letters(3))
		expect(await dead.list({ ids: [] })).toEqual([])
		expect(await dead.groups({ ids: [] })).toEqual([])
		expect(await dead.count({ ids: [] })).toEqual({ count: 0, isCapped: false })
	})

	it('rejects invalid arguments', async () => {
		const { dead } = setUp([])
		await expect(dead.list({ status: 'sent' })).rejects.toMatchObject({ argument: 'filter.status' })
		await expect(dead.list({}, { limit: 0 })).rejects.toMatchObject({ optionPath: 'limit' })
		await expect(dead.list({}, { after: 'x' })).rejects.toMatchObject({ optionPath: 'after' })
		await expect(dead.count({}, { limit: 1.5 })).rejects.toMatchObject({ optionPath: 'limit' })
		await expect(dead.groups({}, { limits: 5 } as object)).rejects.toMatchObject({
			optionPath: 'limits',
			isUnknown: true,
		})
	})
})

describe.each(['replay', 'discard'] as const)('%s', (action) => {
	it.each([{}, { status: 'dead' as const }, { key: undefined }])(
		'rejects %o without { all: true }',
		async (filter) => {
			const { dead, store, onChanged } = setUp(letters(3))
			await expect(dead[action](filter)).rejects.toMatchObject({
				argument: 'filter',
				message: expect.stringContaining(`to ${action} every dead letter, pass { all: true }`),
			})
			expect(await store.countDead({}, 10)).toEqual({ count: 3, isCapped: false })
			expect(onChanged).not.toHaveBeenCalled()
		},
	)

	it('processes every dead letter with { all: true }', async () => {
		const { dead, store } = setUp(letters(3))
		await dead[action]({}, { all: true })
		expect((await store.countDead({}, 10)).count).toBe(0)
	})

	it('processes nothing for an empty list of ids', async () => {
		const { dead, store, onChanged } = setUp(letters(3))
		expect(Object.values(await dead[action]({ ids: [] }))[0]).toBe(0)
		expect((await store.countDead({}, 10)).count).toBe(3)
		expect(onChanged).not.toHaveBeenCalled()
	})

	it('selects by id, fingerprint and time', async () => {
		const other = { type: 'TypeError', message: 'x', fingerprint: 'bbbbbbbbbbbb' }
		const { dead, store } = setUp([
			...letters(5),
			letter(6, { error: other }),
			letter(7, { endedAt: NOW - 5 }),
		])
		const left = async (): Promise<number> => (await store.countDead({}, 10)).count
		await dead[action]({ ids: [idOf(2)] })
		expect(await left()).toBe(6)
		await dead[action]({ fingerprint: 'bbbbbbbbbbbb' })
		expect(await left()).toBe(5)
		await dead[action]({ since: new Date(NOW - 10) })
		expect(await left()).toBe(4)
	})

	it('reports progress after every batch of 1,000', async () => {
		const { dead, onChanged } = setUp(letters(2_500))
		const counts: number[] = []
		const onProgress = ({ done }: { done: number }) => counts.push(done)
		const report = await dead[action]({ topic: 'order.created' }, { onProgress })
		expect(counts).toEqual([1_000, 2_000, 2_500])
		expect(Object.values(report)[0]).toBe(2_500)
		expect(report.stopped).toBe(false)
		expect(onChanged).toHaveBeenCalledTimes(3)
	})

	it('splits a long list of ids', async () => {
		const { dead } = setUp(letters(1_500))
		const ids = letters(1_500).map(({ id }) => id)
		expect(Object.values(await dead[action]({ ids }))[0]).toBe(1_500)
	})

	it('stops between two batches on abort and reports the number done', async () => {
		const { dead } = setUp(letters(2_500))
		const stop = new AbortController()
		const report = await dead[action]({}, { all: true, signal: stop.signal, onProgress: () => stop.abort() })
		expect(Object.values(report)[0]).toBe(1_000)
		expect(report.stopped).toBe(true)
	})

	it('observes an abort from a timer (regression: 200,000 messages blocked the event loop)', async () => {
		const clock = virtualRuntime()
		const { dead } = setUp(letters(3_500), false, clock)
		const stop = new AbortController()
		const done: number[] = []
		const onProgress = (progress: { done: number }) => {
			done.push(progress.done)
			if (done.length === 2) clock.setTimer(0, () => stop.abort())
		}
		const report = dead[action]({}, { all: true, signal: stop.signal, onProgress })
		await clock.runUntilIdle()
		expect(done).toEqual([1_000, 2_000])
		expect(await report).toMatchObject({ stopped: true })
		expect(clock.pendingTimers).toBe(0)
	})

	it('does nothing with an aborted signal', async () => {
		const { dead, store } = setUp(letters(3))
		const report = await dead[action]({}, { all: true, signal: AbortSignal.abort() })
		expect(report.stopped).toBe(true)
		expect((await store.countDead({}, 10)).count).toBe(3)
	})

	it('ignores an exception of onProgress', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const { dead } = setUp(letters(3))
		const onProgress = () => {
			throw new Error('mine')
		}
		expect((await dead[action]({}, { all: true, onProgress })).stopped).toBe(false)
		expect(warn).toHaveBeenCalledOnce()
	})

	it('does not process messages that die while it runs', async () => {
		const { dead, store } = setUp([...letters(3), letter(4, { endedAt: NOW + 1 })])
		await dead[action]({}, { all: true })
		expect((await store.countDead({}, 10)).count).toBe(1)
	})

	it('rejects invalid options', async () => {
		const { dead } = setUp([])
		await expect(dead[action]({}, { everything: true } as object)).rejects.toMatchObject({
			optionPath: 'everything',
		})
		await expect(dead[action]({}, { all: 'yes' } as unknown as object)).rejects.toMatchObject({
			optionPath: 'all',
		})
		await expect(dead[action]({}, { signal: 1 } as unknown as object)).rejects.toMatchObject({
			optionPath: 'signal',
		})
		await expect(dead[action]({}, null as unknown as object)).rejects.toMatchObject({ optionPath: 'options' })
		await expect(dead[action](null as unknown as object)).rejects.toMatchObject({ argument: 'filter' })
	})
})

describe('a replay', () => {
	it('ends even if messages die again immediately', async () => {
		const { dead, store } = setUp(letters(1_500))
		store.onReplay = (ids) => {
			for (const id of ids) store.change(id, { status: 'dead', cause: 'permanent', endedAt: NOW + 1 })
		}
		expect(await dead.replay({}, { all: true })).toMatchObject({ replayed: 1_500, stopped: false })
	})

	it('makes them due now', async () => {
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

it('discarded messages are kept in the history', async () => {
	for (const keepsHistory of [true, false]) {
		const { dead, store } = setUp(letters(1), keepsHistory)
		await dead.discard({ ids: [idOf(1)] })
		expect(store.discarded).toEqual([{ ids: [idOf(1)], keepHistory: keepsHistory }])
	}
})
