import { describe, expect, it, vi } from 'vitest'
import { DeadLetters } from '../../../src/outbox/dead-letters/dead-letters.ts'
import type { ReplayOptions } from '../../../src/outbox/dead-letters/options.ts'
import type { StoredMessage } from '../../../src/outbox/store/rows.ts'
import { virtualRuntime } from '../../../src/testing/virtual-runtime.ts'
import { FakeStore, idOf, letter, NOW } from '../diagnostics/fake-store.ts'

const SAME = { type: 'HttpError', message: 'HTTP 503', fingerprint: 'aaaaaaaaaaaa' }
const OTHER = { type: 'TypeError', message: 'x', fingerprint: 'bbbbbbbbbbbb' }

const setUp = (count: number, given: Partial<StoredMessage> = {}) => {
	const store = new FakeStore(Array.from({ length: count }, (_, index) => letter(index + 1, given)))
	const clock = virtualRuntime()
	const onChanged = vi.fn()
	const dead = new DeadLetters({
		store,
		runtime: clock,
		keepsHistory: false,
		maxPayloadBytes: 100,
		onChanged,
	})
	/** Simulates a relay that processes replayed messages after `afterMs`. */
	const relay = (work: (id: string) => void, afterMs = 100) => {
		store.onReplay = (ids) => {
			clock.setTimer(afterMs, () => ids.forEach(work))
		}
	}
	const replay = async (options: ReplayOptions = {}) => {
		const report = dead.replay({}, { all: true, canary: true, ...options })
		const ms = await clock.runUntilIdle()
		return { ...(await report), ms }
	}
	return { store, clock, onChanged, relay, replay, dead }
}

describe('a canary replay', () => {
	it('replays 1, then 10, then the rest, each after the previous ones were sent', async () => {
		const { store, relay, replay, onChanged } = setUp(50)
		relay((id) => store.rows.delete(id))
		expect(await replay()).toMatchObject({ replayed: 50, stopped: false, sameFailure: [] })
		expect(store.batches).toEqual([1, 10, 39])
		expect(onChanged).toHaveBeenCalledTimes(3)
	})

	it('recognizes a sent message in the history', async () => {
		const { store, relay, replay } = setUp(50)
		relay((id) => store.change(id, { status: 'sent' }))
		expect(await replay()).toMatchObject({ replayed: 50, stopped: false })
	})

	it.each([0, 1, 2, 11, 12])('completes with only %d messages', async (count) => {
		const { store, relay, replay } = setUp(count)
		relay((id) => store.rows.delete(id))
		expect(await replay()).toMatchObject({ replayed: count, stopped: false })
	})

	it('stops when the first message fails with the same error, before its retry', async () => {
		const { store, relay, replay } = setUp(50)
		relay((id) => store.change(id, { attempts: 1, error: SAME, dueAt: NOW + 3_600_000 }))
		const report = await replay()
		expect(report).toMatchObject({
			replayed: 1,
			stopped: true,
			stoppedBy: 'same-failure',
			sameFailure: [idOf(1)],
		})
		expect(report.reason).toContain(
			`The first message failed with the same error as before, for example ${idOf(1)}.`,
		)
		expect(store.batches).toEqual([1])
	})

	it('stops when one of the ten becomes a dead letter again', async () => {
		const { store, relay, replay } = setUp(50)
		relay((id) => {
			if (id === idOf(5)) store.change(id, { status: 'dead', cause: 'permanent', attempts: 1, error: SAME })
			else store.rows.delete(id)
		})
		const report = await replay()
		expect(report).toMatchObject({ replayed: 11, stopped: true, sameFailure: [idOf(5)] })
		expect(report.reason).toContain('1 of 10 messages failed with the same error')
	})

	it('ignores the old error of a message in flight', async () => {
		const { store, clock, relay, replay } = setUp(3)
		relay((id) => {
			store.change(id, { status: 'processing', attempts: 1, lockedBy: 'relay-1' })
			clock.setTimer(5_000, () => store.rows.delete(id))
		})
		expect(await replay()).toMatchObject({ replayed: 3, stopped: false })
	})

	it('ignores the old error of a message whose relay crashed', async () => {
		const { store, clock, relay, replay } = setUp(3)
		relay((id) => {
			store.change(id, { attempts: 1, crashes: 1 })
			clock.setTimer(5_000, () => store.rows.delete(id))
		})
		expect(await replay()).toMatchObject({ replayed: 3, stopped: false })
	})

	it('notices a failure while the second attempt is in flight', async () => {
		const { store, relay, replay } = setUp(3)
		relay((id) => store.change(id, { status: 'processing', attempts: 2, lockedBy: 'relay-1', error: SAME }))
		expect(await replay()).toMatchObject({ replayed: 1, stoppedBy: 'same-failure' })
	})

	it('continues when a message fails with another error and is retried', async () => {
		const { store, relay, replay } = setUp(50)
		relay((id) => store.change(id, { attempts: 1, error: OTHER }))
		expect(await replay()).toMatchObject({ replayed: 50, stopped: false, sameFailure: [] })
	})

	it('stops when a message becomes a dead letter with another error', async () => {
		const { store, relay, replay } = setUp(50)
		relay((id) => store.change(id, { status: 'dead', cause: 'permanent', attempts: 1, error: OTHER }))
		const report = await replay()
		expect(report).toMatchObject({ replayed: 1, stopped: true, stoppedBy: 'dead-again', sameFailure: [] })
		expect(report.reason).toContain('with another error than before')
	})

	it('compares messages without an error by their cause', async () => {
		const { store, relay, replay } = setUp(50, { cause: 'expired', error: null })
		relay((id) => store.change(id, { status: 'dead', cause: 'expired' }))
		expect(await replay()).toMatchObject({ replayed: 1, stoppedBy: 'same-failure', sameFailure: [idOf(1)] })
	})

	it('does not compare the old error after an expiry', async () => {
		const { store, relay, replay } = setUp(50)
		relay((id) => store.change(id, { status: 'dead', cause: 'expired' }))
		expect(await replay()).toMatchObject({ stoppedBy: 'dead-again', sameFailure: [] })
	})

	it('stops after timeoutMs without a result', async () => {
		const { replay, store } = setUp(50)
		const report = await replay()
		expect(report).toMatchObject({ replayed: 1, stopped: true, stoppedBy: 'timeout', ms: 60_000 })
		expect(report.reason).toContain("Check that a relay is running that serves 'billing'.")
		expect(store.batches).toEqual([1])
	})

	it('waits for timeoutMs', async () => {
		const { replay } = setUp(50)
		expect((await replay({ timeoutMs: 500 })).ms).toBe(500)
		await expect(setUp(1).dead.replay({}, { all: true, timeoutMs: -1 })).rejects.toMatchObject({
			optionPath: 'timeoutMs',
		})
	})

	it('reports the number of messages without a result', async () => {
		const { store, relay, replay } = setUp(50)
		relay((id) => {
			if (id < idOf(9)) store.rows.delete(id)
		})
		expect((await replay()).reason).toContain('No result for 3 of 10 messages')
	})

	it('ends its wait immediately on abort and leaves no timer', async () => {
		const { dead, clock } = setUp(50)
		const stop = new AbortController()
		const report = dead.replay({}, { all: true, canary: true, signal: stop.signal })
		await clock.advance(3_000)
		stop.abort()
		await clock.advance(0)
		expect(clock.pendingTimers).toBe(0)
		expect(await report).toMatchObject({ replayed: 1, stopped: true, stoppedBy: 'abort' })
	})

	it('does nothing with an aborted signal', async () => {
		const { replay, store } = setUp(50)
		expect(await replay({ signal: AbortSignal.abort() })).toMatchObject({ replayed: 0, stoppedBy: 'abort' })
		expect(store.batches).toEqual([])
	})

	it('does not wait for a message that another process took in between', async () => {
		const { store, relay, replay } = setUp(12)
		relay((id) => store.rows.delete(id))
		const list = store.list.bind(store)
		vi.spyOn(store, 'list').mockImplementation(async (...args) => {
			const letters = await list(...args)
			store.rows.delete(letters[0]?.id ?? '')
			return letters
		})
		expect(await replay()).toMatchObject({ replayed: 10, stopped: false })
	})

	it('reports progress from the first message on', async () => {
		const { store, relay, replay } = setUp(2_000)
		relay((id) => store.rows.delete(id))
		const counts: number[] = []
		await replay({ onProgress: ({ done }) => counts.push(done) })
		expect(counts).toEqual([1, 11, 1_011, 2_000])
	})
})
