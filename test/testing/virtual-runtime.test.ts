import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { pipeline, retry } from 'yaoki'
import { faults, seededRandom, virtualRuntime } from 'yaoki/testing'
import { EventHeap } from '../../src/testing/event-heap.ts'
import { steady } from '../support/scenario.ts'

describe('virtual time', () => {
	it('passes only when advanced, and timers fire in order', async () => {
		const clock = virtualRuntime()
		const fired: string[] = []
		clock.setTimer(20, () => fired.push(`b at ${clock.now()}`))
		clock.setTimer(10, () => fired.push(`a at ${clock.now()}`))
		await clock.advance(15)
		expect([fired, clock.now(), clock.pendingTimers]).toEqual([['a at 10'], 15, 1])
		expect(await clock.runUntilIdle()).toBe(5)
		expect(fired).toEqual(['a at 10', 'b at 20'])
	})

	it('runs all promise jobs between two timers, however deep', async () => {
		const clock = virtualRuntime()
		const seen: string[] = []
		const deepJobs = async () => {
			for (let depth = 0; depth < 50; depth++) await Promise.resolve()
			seen.push('jobs of the first timer')
		}
		clock.setTimer(10, () => void deepJobs())
		clock.setTimer(10, () => seen.push('second timer'))
		await clock.advance(10)
		expect(seen).toEqual(['jobs of the first timer', 'second timer'])
	})

	it('fires timers that timers set, within the advanced time', async () => {
		const clock = virtualRuntime()
		const at: number[] = []
		const again = () => {
			at.push(clock.now())
			if (at.length < 5) clock.setTimer(10, again)
		}
		clock.setTimer(10, again)
		await clock.advance(30)
		expect(at).toEqual([10, 20, 30])
		expect(clock.runTimers()).toBe(2)
	})

	it('does not fire cancelled timers', async () => {
		const clock = virtualRuntime()
		clock.setTimer(10, () => expect.unreachable())()
		expect(clock.pendingTimers).toBe(0)
		expect(await clock.runUntilIdle()).toBe(0)
	})

	it('has a wall clock that starts at startAt and jumps with jumpWallClock', () => {
		const clock = virtualRuntime({ startAt: 1000 })
		clock.jumpWallClock(-400)
		expect([clock.wallNow(), clock.now()]).toEqual([600, 0])
		expect(new Date(virtualRuntime().wallNow()).toISOString()).toBe('2026-01-01T00:00:00.000Z')
	})

	it('rejects invalid times', async () => {
		const clock = virtualRuntime()
		expect(() => clock.setTimer(Number.NaN, () => {})).toThrow(/Invalid argument "ms": expected .*, got NaN/)
		await expect(clock.advance(-1)).rejects.toThrow(/Invalid argument "ms": expected .*, got -1/)
		expect(() => virtualRuntime({ startAt: -1 })).toThrow(/Invalid option "startAt": expected .*, got -1/)
	})
})

describe('EventHeap', () => {
	it('returns events by time, equal times in insertion order, and skips cancelled ones', () => {
		fc.assert(
			fc.property(fc.array(fc.tuple(fc.nat(20), fc.boolean()), { maxLength: 200 }), (events) => {
				const heap = new EventHeap()
				const expected = events
					.map(([at, cancelled], i) => {
						const event = heap.add(at, () => {})
						if (cancelled) event.fire = undefined
						return { at, i, cancelled }
					})
					.filter(({ cancelled }) => !cancelled)
					.sort((a, b) => a.at - b.at || a.i - b.i)
				expect(heap.size).toBe(expected.length)
				for (const { at, i } of expected) expect(heap.take()).toMatchObject({ at, sequence: i })
				expect(heap.take()).toBeUndefined()
			}),
		)
	})
})

describe('seededRandom', () => {
	it('returns the same numbers for the same seed, and others for another', () => {
		const take = (seed: number | string) => Array.from({ length: 5 }, seededRandom(seed))
		expect(take(7)).toEqual(take(7))
		expect(take('a')).not.toEqual(take('b'))
		expect(take(1)).not.toEqual(take(2))
	})

	it('is uniform in [0, 1)', () => {
		const random = seededRandom(42)
		const tenths = new Array<number>(10).fill(0)
		for (let i = 0; i < 100_000; i++) {
			const draw = random()
			expect(draw >= 0 && draw < 1).toBe(true)
			tenths[Math.floor(draw * 10)] = (tenths[Math.floor(draw * 10)] ?? 0) + 1
		}
		const chiSquare = tenths.reduce((sum, count) => sum + (count - 10_000) ** 2 / 10_000, 0)
		expect(chiSquare).toBeLessThan(27.9)
	})

	it('returns unrelated numbers for adjacent seeds', () => {
		const firsts = Array.from({ length: 2000 }, (_, seed) => seededRandom(seed)())
		const mean = firsts.reduce((a, b) => a + b) / firsts.length
		expect(Math.abs(mean - 0.5)).toBeLessThan(4 / Math.sqrt(12 * firsts.length))
	})
})

describe('run, without promises', () => {
	it('runs the same policies: attempts, delays, contexts and the result', () => {
		const clock = virtualRuntime()
		const policy = retry({ ...steady, runtime: clock })
		const starts: number[] = []
		const done = vi.fn()
		clock.run(
			policy,
			({ attempt }, answer) => {
				starts.push(clock.now())
				if (attempt < 2) answer(new Error('x'))
				else clock.setTimer(5, () => answer(null, 'ok'))
			},
			done,
		)
		expect(clock.runTimers()).toBe(3)
		expect(starts).toEqual([0, 100, 300])
		expect(done).toHaveBeenCalledExactlyOnceWith(null, 'ok')
	})

	it('passes the last error when retries are exhausted, for synchronous throws too', () => {
		const clock = virtualRuntime()
		const done = vi.fn()
		const error = new Error('thrown')
		clock.run(
			retry({ ...steady, runtime: clock }),
			() => {
				throw error
			},
			done,
		)
		clock.runTimers()
		expect(done).toHaveBeenCalledExactlyOnceWith(error)
	})

	it('does not grow the stack over thousands of attempts without a delay', () => {
		const clock = virtualRuntime()
		const done = vi.fn()
		clock.run(
			retry({ baseDelayMs: 0, maxRetries: 50_000, runtime: clock }),
			(_, answer) => answer(new Error('x')),
			done,
		)
		expect(done).toHaveBeenCalledOnce()
	})

	it('accepts a result once', () => {
		const clock = virtualRuntime()
		const done = vi.fn()
		clock.run(
			retry({ runtime: clock }),
			(_, answer) => {
				answer(null, 1)
				answer(null, 2)
				answer(new Error('x'))
				throw new Error('y')
			},
			done,
		)
		clock.runTimers()
		expect(done).toHaveBeenCalledExactlyOnceWith(null, 1)
	})

	it("ends a delay at the caller's abort", () => {
		const clock = virtualRuntime()
		const caller = new AbortController()
		const done = vi.fn()
		clock.run(retry({ ...steady, runtime: clock }), (_, answer) => answer(new Error('x')), done, {
			signal: caller.signal,
		})
		clock.runTimers(50)
		caller.abort('left')
		expect(done).toHaveBeenCalledExactlyOnceWith('left')
		expect(clock.pendingTimers).toBe(0)
	})

	it('decides exactly like the promise runner, for random failures', async () => {
		const scripts = fc.array(fc.constantFrom('transient', 'permanent', 'ok'), { minLength: 1, maxLength: 6 })
		await fc.assert(
			fc.asyncProperty(scripts, fc.nat(5), fc.integer(), async (script, maxRetries, seed) => {
				const setUp = () => {
					const clock = virtualRuntime({ seed })
					const starts: number[] = []
					const policy = pipeline(
						{ runtime: clock },
						retry({ maxRetries }),
						faults({ errorRate: 0.2, latencyMs: [1, 9] }),
					)
					const errorAt = (index: number) => {
						const kind = script[index % script.length]
						return kind === 'ok' ? undefined : kind === 'permanent' ? new TypeError('bug') : new Error('x')
					}
					return { clock, starts, policy, errorAt }
				}
				const a = setUp()
				const settling = a.policy.settle(async () => {
					a.starts.push(a.clock.now())
					const error = a.errorAt(a.starts.length - 1)
					if (error) throw error
					return 'ok'
				})
				await a.clock.runUntilIdle()
				const b = setUp()
				let ended: unknown[] = []
				b.clock.run(
					b.policy,
					(_, done) => {
						b.starts.push(b.clock.now())
						done(b.errorAt(b.starts.length - 1), 'ok')
					},
					(...facts) => {
						ended = facts
					},
				)
				b.clock.runTimers()
				const { ok } = await settling
				expect(b.starts).toEqual(a.starts)
				expect(b.clock.now()).toBe(a.clock.now())
				expect(ended[0] === null).toBe(ok)
			}),
			{ numRuns: 200 },
		)
	})
})
