import { execFileSync } from 'node:child_process'
import { mock } from 'node:test'
import { ModernFakeTimers } from '@jest/fake-timers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Deadline, retry, retryWithBackoff } from 'yaoki'
import { systemRuntime } from '../../../src/core/runtime/system.ts'

afterEach(() => {
	vi.useRealTimers()
	mock.timers.reset()
})

/** The part of jest's own configuration that its timers read. */
const jestConfig = { fakeTimers: { enableGlobally: false }, rootDir: '', testMatch: [] }
const jest = new ModernFakeTimers({ global: globalThis, config: jestConfig as never })

/** The turns of promises, which node:test does not wait for. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

interface FakeTimers {
	readonly library: string
	readonly start: () => unknown
	/** Lets time pass, and what waited for it happen. */
	readonly tick: (ms: number) => Promise<unknown>
	readonly end: () => unknown
}

const FAKE_TIMERS: readonly FakeTimers[] = [
	{
		library: 'vitest',
		start: () => vi.useFakeTimers(),
		tick: (ms) => vi.advanceTimersByTimeAsync(ms),
		end: () => vi.useRealTimers(),
	},
	{
		library: 'node:test',
		start: () => mock.timers.enable({ apis: ['setTimeout', 'Date'] }),
		tick: async (ms) => {
			await turn()
			mock.timers.tick(ms)
			await turn()
		},
		end: () => mock.timers.reset(),
	},
	{
		library: 'jest',
		start: () => jest.useFakeTimers(),
		tick: (ms) => jest.advanceTimersByTimeAsync(ms),
		end: () => jest.useRealTimers(),
	},
]

const flaky = () => {
	let calls = 0
	return { work: async () => (++calls < 3 ? Promise.reject(new Error('x')) : 'ok'), calls: () => calls }
}

describe('the system runtime looks its globals up when it is called', () => {
	it.each(FAKE_TIMERS)("so the fake timers of $library work on users' code", async ({ start, tick, end }) => {
		start()
		try {
			const { work, calls } = flaky()
			const answer = retryWithBackoff(work, {
				baseDelayMs: 60_000,
				maxDelayMs: 120_000,
				jitterStrategy: 'none',
			})
			await tick(60_000)
			expect(calls()).toBe(2)
			await tick(120_000)
			await expect(answer).resolves.toBe('ok')
			expect(calls()).toBe(3)
		} finally {
			end()
		}
	})

	it('so does a setTimeout that somebody put in its place', async () => {
		vi.stubGlobal('setTimeout', (fn: () => void) => queueMicrotask(fn))
		const { work } = flaky()
		await expect(retryWithBackoff(work, { baseDelayMs: 60_000, maxDelayMs: 60_000 })).resolves.toBe('ok')
	})

	it('and a wait armed under fake timers does not break later real ones', async () => {
		vi.useFakeTimers()
		const policy = retry({ baseDelayMs: 1, maxDelayMs: 2 })
		const stuck = policy.settle(flaky().work)
		vi.useRealTimers()
		expect((await policy.settle(flaky().work)).ok).toBe(true)
		void stuck
	})
})

describe('a long wait', () => {
	it('of more than 2^31 - 1 ms is chained, fires once and in time', () => {
		vi.useFakeTimers()
		const fired = vi.fn()
		const days = 60 * 24 * 3600 * 1000
		systemRuntime.setTimer(days, fired)
		vi.advanceTimersByTime(days - 1)
		expect(fired).not.toHaveBeenCalled()
		vi.advanceTimersByTime(1)
		expect(fired).toHaveBeenCalledOnce()
		expect(vi.getTimerCount()).toBe(0)
	})

	it('can be cancelled in any of its links', () => {
		vi.useFakeTimers()
		const cancel = systemRuntime.setTimer(2 ** 33, () => expect.unreachable())
		vi.advanceTimersByTime(2 ** 32)
		cancel()
		expect(vi.getTimerCount()).toBe(0)
	})

	it('of exactly the limit needs no chain', () => {
		vi.useFakeTimers()
		const fired = vi.fn()
		systemRuntime.setTimer(2 ** 31 - 1, fired)
		vi.advanceTimersByTime(2 ** 31 - 1)
		expect(fired).toHaveBeenCalledOnce()
	})
})

describe('the process', () => {
	const index = new URL('../../../src/core/index.ts', import.meta.url).href
	const runScript = (code: string) =>
		execFileSync(
			process.execPath,
			['--input-type=module', '-e', `import * as y from ${JSON.stringify(index)}; ${code}`],
			{ encoding: 'utf8', timeout: 30_000 },
		)

	it('stays alive for a wait that a user awaits', () => {
		expect(
			runScript(
				"let n = 0; y.retryWithBackoff(() => { if (n++ < 1) throw new Error('x'); return 'ok' }, { baseDelayMs: 30 }).then(console.log)",
			),
		).toBe('ok\n')
	})

	it("ends although a deadline's signal still waits: that is housekeeping", () => {
		expect(runScript("y.Deadline.after(3_600_000).signal; console.log('done')")).toBe('done\n')
	})
})

describe('time', () => {
	it('goes forward on one clock and is told by the other', () => {
		const [before, wall] = [systemRuntime.now(), systemRuntime.wallNow()]
		expect(systemRuntime.now()).toBeGreaterThanOrEqual(before)
		expect(Math.abs(wall - Date.now())).toBeLessThan(60_000)
		const draw = systemRuntime.random()
		expect(draw >= 0 && draw < 1).toBe(true)
		expect(Deadline.after(1000).remainingMs).toBeLessThanOrEqual(1000)
	})
})
