import { execFileSync } from 'node:child_process'
import { mock } from 'node:test'
import { ModernFakeTimers } from '@jest/fake-timers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { CircuitOpenError, circuitBreaker, Deadline, pipeline, retry, retryWithBackoff, timeout } from 'yaoki'
import { systemRuntime } from '../../../src/core/runtime/system.ts'

afterEach(() => {
	vi.useRealTimers()
	mock.reset()
	vi.unstubAllGlobals()
})

/** The part of jest's own configuration that its timers read. */
const jestConfig = { fakeTimers: { enableGlobally: false }, rootDir: '', testMatch: [] }
const jest = new ModernFakeTimers({ global: globalThis, config: jestConfig as never })

/** Runs promise jobs, which node:test does not wait for. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

interface FakeTimers {
	readonly library: string
	readonly start: () => unknown
	/** Advances the clock and runs what was waiting. */
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
		// They do not replace performance.now. The guide shows this line.
		start: () => {
			mock.timers.enable({ apis: ['setTimeout', 'Date'] })
			mock.method(performance, 'now', () => Date.now())
		},
		tick: async (ms) => {
			await turn()
			mock.timers.tick(ms)
			await turn()
		},
		end: () => mock.reset(),
	},
	{
		library: 'jest',
		start: () => jest.useFakeTimers(),
		tick: (ms) => jest.advanceTimersByTimeAsync(ms),
		end: () => jest.useRealTimers(),
	},
]

const flaky = () => {
	let attempts = 0
	const operation = async () => (++attempts < 3 ? Promise.reject(new Error('x')) : 'ok')
	return { operation, attempts: () => attempts }
}

describe('the system runtime looks up globals when it is called', () => {
	it.each(FAKE_TIMERS)('works with the fake timers of $library', async ({ start, tick, end }) => {
		start()
		try {
			const { operation, attempts } = flaky()
			const result = retryWithBackoff(operation, {
				baseDelayMs: 60_000,
				maxDelayMs: 120_000,
				jitterStrategy: 'none',
			})
			await tick(60_000)
			expect(attempts()).toBe(2)
			await tick(120_000)
			await expect(result).resolves.toBe('ok')
			expect(attempts()).toBe(3)
		} finally {
			end()
		}
	})

	it.each(FAKE_TIMERS)('open times and timeouts end with the fake timers of $library', async (fake) => {
		fake.start()
		try {
			const breaker = circuitBreaker({ failureThreshold: 1, resetTimeoutMs: 30_000 })
			const hung = pipeline(breaker, timeout(10_000)).settle(() => new Promise(() => {}))
			await fake.tick(10_000)
			expect((await hung).ok).toBe(false)
			await expect(breaker.execute(() => 'ok')).rejects.toThrow(CircuitOpenError)
			await fake.tick(30_000)
			await expect(breaker.execute(() => 'ok')).resolves.toBe('ok')
		} finally {
			fake.end()
		}
	})

	it.each(FAKE_TIMERS)(
		'reads the clock of the fake timers of $library, and then the real one',
		async (fake) => {
			const expectCurrentClock = () => {
				const before = performance.now()
				const now = systemRuntime.now()
				expect(now).toBeGreaterThanOrEqual(before)
				expect(now).toBeLessThanOrEqual(performance.now())
			}
			expectCurrentClock()
			fake.start()
			try {
				expectCurrentClock()
				await fake.tick(10_000_000)
				expectCurrentClock()
			} finally {
				fake.end()
			}
			expectCurrentClock()
		},
	)

	it('works with a replaced setTimeout', async () => {
		vi.stubGlobal('setTimeout', (fn: () => void) => queueMicrotask(fn))
		const { operation } = flaky()
		await expect(retryWithBackoff(operation, { baseDelayMs: 60_000, maxDelayMs: 60_000 })).resolves.toBe('ok')
	})

	it('a wait started under fake timers does not break later real ones', async () => {
		vi.useFakeTimers()
		const policy = retry({ baseDelayMs: 1, maxDelayMs: 2 })
		const stuck = policy.settle(flaky().operation)
		vi.useRealTimers()
		expect((await policy.settle(flaky().operation)).ok).toBe(true)
		void stuck
	})
})

describe('a long timer', () => {
	it('a long timer of more than 2^31 - 1 ms fires once, at its time', () => {
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

	it('can be cancelled in any link of its chain', () => {
		vi.useFakeTimers()
		const cancel = systemRuntime.setTimer(2 ** 33, () => expect.unreachable())
		vi.advanceTimersByTime(2 ** 32)
		cancel()
		expect(vi.getTimerCount()).toBe(0)
	})

	it('a long timer of exactly 2^31 - 1 ms needs no chain', () => {
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

	it('stays alive for a backoff delay', () => {
		expect(
			runScript(
				"let n = 0; y.retryWithBackoff(() => { if (n++ < 1) throw new Error('x'); return 'ok' }, { baseDelayMs: 30 }).then(console.log)",
			),
		).toBe('ok\n')
	})

	it("exits while the timer of a deadline's signal is set", () => {
		expect(runScript("y.Deadline.after(3_600_000).signal; console.log('done')")).toBe('done\n')
	})
})

describe('time', () => {
	it('now is monotonic, wallNow is the wall time, random is in [0, 1)', () => {
		const [before, wall] = [systemRuntime.now(), systemRuntime.wallNow()]
		expect(systemRuntime.now()).toBeGreaterThanOrEqual(before)
		expect(Math.abs(wall - Date.now())).toBeLessThan(60_000)
		const draw = systemRuntime.random()
		expect(draw >= 0 && draw < 1).toBe(true)
		expect(Deadline.after(1000).remainingMs).toBeLessThanOrEqual(1000)
	})
})

describe('on Cloudflare Workers, where a timer ends with the request that set it', () => {
	const load = () => {
		vi.stubGlobal('WebSocketPair', class {})
		vi.resetModules()
		return Promise.all([import('../../../src/core/index.ts'), import('../../../src/core/runtime/system.ts')])
	}

	it('sets a timer for each call, because a shared one may belong to a request that has ended', async () => {
		const [{ bulkhead, hedge, timeout }] = await load()
		const never = () => new Promise(() => {})
		// A delay that nothing else has: tests that ran before in this process may still set timers, such as a gRPC channel that reconnects.
		const delayMs = 73_219
		const setOther = globalThis.setTimeout
		const policies = [
			timeout(delayMs),
			hedge({ delayMs }),
			bulkhead({ maxConcurrent: 1, queueTimeoutMs: delayMs }),
		]
		for (const policy of policies) {
			let timers = 0
			vi.stubGlobal('setTimeout', (run: () => void, ms: number) => {
				if (Math.round(ms) !== delayMs) return setOther(run, ms)
				timers += 1
				return undefined
			})
			for (const _ of [1, 2, 3]) void policy.settle(never)
			await turn()
			// The first call of the bulkhead has the slot and waits for no timer.
			expect(timers).toBe(policy.name === 'bulkhead' ? 2 : 3)
			vi.unstubAllGlobals()
		}
	})

	it('cancels a timer that its call no longer needs', async () => {
		const [, { systemRuntime: runtime }] = await load()
		const cancel = runtime.setTimer(60_000, () => {}, 'limit')
		cancel()
		expect(cancel.keepAlive).toBeUndefined()
	})
})
